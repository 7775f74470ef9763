package allocator

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkReplay follows recorded traces. Budget: 100 ns an event, in which the
// growth of the tables from nothing has its part: a trace of 5.2 million events
// took 49.
func BenchmarkReplay(b *testing.B) {
	for _, name := range []string{"bert_varlen-exp", "bert_varlen-lim16", "fsdp2"} {
		b.Run(name, func(b *testing.B) {
			tr := readTrace(b, name)
			d := tr.devices[0]
			for b.Loop() {
				a := New(tr.cfg)
				var r replayed
				replay(a, d.events, &r)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(d.events)), "ns/event")
		})
	}
}

// BenchmarkSimulate makes the requests of a trace under other settings. Budget: 150
// ns an event under each; a trace of 5.2 million events took 37 (expandable) to 50
// (max_split_size_mb:20).
func BenchmarkSimulate(b *testing.B) {
	for _, bc := range []struct {
		name string
		cfg  Config
	}{
		{"default", Config{}},
		{"expandable", Config{Expandable: true}},
		{"max_split", Config{MaxSplitBytes: 128 * mib}},
		{"roundup", Config{RoundupDivisions: [16]int{8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}}},
		{"gc", Config{LimitBytes: 12 << 30, GCThreshold: 0.6}},
		{"limit", Config{LimitBytes: 10 << 30}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			events := handles(readTrace(b, "multiscale").devices[0].events)
			blocks := make([]BlockID, len(events))
			for b.Loop() {
				s := NewSimulator(bc.cfg, NewDevice(measuredBytes, measuredBytes, LikeDriver, 0))
				for i := range events {
					run(b, s, &events[i], blocks)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
		})
	}
}

// handled is an event with the place of its block instead of an address.
type handled struct {
	traceEvent
	block int
}

func handles(events []traceEvent) []handled {
	out := make([]handled, len(events))
	at := map[uint64]int{}
	for i, e := range events {
		if e.action == 'a' {
			at[e.addr] = i
		}
		out[i] = handled{e, at[e.addr]}
	}
	return out
}

func run(b *testing.B, s *Simulator, e *handled, blocks []BlockID) {
	var err error
	switch e.action {
	case 'a':
		blocks[e.block], err = s.Malloc(e.size, e.stream, e.pool)
	case 'r':
		err = s.FreeRequested(blocks[e.block])
	case 'c':
		err = s.FreeCompleted(blocks[e.block])
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkReplayDiffering follows a trace whose every choice differs, so that
// every block is put where the recording says. Budget: 300 ns an event.
func BenchmarkReplayDiffering(b *testing.B) {
	tr := readTrace(b, "resnet50")
	d := tr.devices[0]
	d.mirror()
	for b.Loop() {
		a := New(tr.cfg)
		a.buildIndex()
		var r replayed
		replay(a, d.events, &r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(d.events)), "ns/event")
}

// BenchmarkManyFreeBlocks requests and frees beside 10^3 to 10^6 free blocks of
// as many sizes, none of which can join another. The cost may grow with the
// logarithm and with cache misses, not with the number. Budget: 150 ns a request
// with its free at 10^3, 1 µs at 10^6.
func BenchmarkManyFreeBlocks(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(byCount(n), func(b *testing.B) {
			a := fragmented(b, n)
			r := rand.New(rand.NewPCG(1, 2))
			sizes := make([]int64, 4096)
			for i := range sizes {
				sizes[i] = 2*mib + 512*r.Int64N(int64(n))
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				id, ok := a.Alloc(sizes[i%len(sizes)], 0, PoolID{})
				if !ok {
					b.Fatal("no free block")
				}
				_ = a.FreeRequested(id)
				_ = a.FreeCompleted(id)
				i++
			}
		})
	}
}

func byCount(n int) string {
	return map[int]string{1_000: "1e3", 10_000: "1e4", 100_000: "1e5", 1_000_000: "1e6"}[n]
}

// fragmented returns an allocator with n free segments of different sizes.
func fragmented(tb testing.TB, n int) *Allocator {
	a := New(Config{})
	addr := uint64(1 << 40)
	sizes := rand.New(rand.NewPCG(3, 4)).Perm(n)
	for _, k := range sizes {
		size := 3*mib + 512*int64(k)
		if err := a.SegmentAlloc(addr, size, 0, PoolID{}); err != nil {
			tb.Fatal(err)
		}
		addr += uint64(size)
	}
	return a
}
