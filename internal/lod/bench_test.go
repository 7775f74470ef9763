package lod

import (
	"flag"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/made"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

var (
	benchFile   = flag.String("recording", "", "recording to run benchmarks on, in place of a made one")
	benchEvents = flag.Int("events", 1_000_000, "events of the made one")
	benchLeak   = flag.Bool("leak", false, "a block of every step of the made one stays")
)

// BenchmarkNew makes all structures. Budgets, on two cores of an AMD EPYC at about 3 GHz
// that have nothing else to do, the same from 10^6 to 5·10^7 events:
//
//	120 ns an event
//	16 B an event kept
func BenchmarkNew(b *testing.B) {
	tl := benchTimeline(b)
	var d *Device
	before := heapBytes()
	for b.Loop() {
		d = New(tl)
	}
	perEvent(b, d.Events, before)
	runtime.KeepAlive(d)
}

// BenchmarkGroup makes a grouping by stack. Budgets:
//
//	40 ns an event
//	5 B an event kept
func BenchmarkGroup(b *testing.B) {
	d := New(benchTimeline(b))
	var g *Grouping
	before := heapBytes()
	for b.Loop() {
		g = d.Group(byStack(d))
	}
	perEvent(b, d.Events, before)
	runtime.KeepAlive(g)
}

// BenchmarkTiles asks for random tiles of every level, and for what goes with them.
// Budgets, of the level at which the 99th of 100 takes the longest, the same from 10^6
// to 5·10^7 events:
//
//	10 ms for a tile
//	1 ms for live, 10 ns an event of the range for born
//
// With -leak one block in 230 events stays, 86,000 of 20 million. They are sums in a map of more
// bytes a bucket than a block has: 4.3 ms.
func BenchmarkTiles(b *testing.B) {
	d := New(benchTimeline(b))
	g := d.Group(byStack(d))
	top := largest(d, g, 16)
	rng := rand.New(rand.NewPCG(1, 1))
	events, units := int64(d.Events), int64(d.Lanes.Size)
	random := func(level int, length int64) Range { return Tile(level, rng.Int64N((length-1)>>(level+9)+1)) }
	at := func() int { return rng.IntN(d.Events) }
	between := func() (int, int) {
		x, y := at(), at()
		return min(x, y), max(x, y)
	}
	b.Run("counters", func(b *testing.B) {
		everyLevel(b, events, func(l int) { d.CountersTile(random(l, events), false) })
	})
	b.Run("counters by time", func(b *testing.B) {
		everyLevel(b, d.Times.EndUS, func(l int) { d.CountersTile(random(l, d.Times.EndUS+1), true) })
	})
	b.Run("bands", func(b *testing.B) {
		everyLevel(b, events, func(l int) { g.BandsTile(random(l, events), false, top) })
	})
	b.Run("bands by time", func(b *testing.B) {
		everyLevel(b, d.Times.EndUS, func(l int) { g.BandsTile(random(l, d.Times.EndUS+1), true, top) })
	})
	b.Run("segments", func(b *testing.B) {
		everyLevel(b, events, func(l int) { d.SegmentsTile(MapView{X: random(l, events), Y: random(levels(units), units)}) })
	})
	for y := 0; y <= levels(units); y += 3 {
		b.Run(fmt.Sprintf("blocks,y=%d", y), func(b *testing.B) {
			everyLevel(b, events, func(l int) { d.BlocksTile(MapView{X: random(l, events), Y: random(y, units)}, g) })
		})
	}
	b.Run("packed", func(b *testing.B) {
		everyLevel(b, 1<<13, func(l int) { i := at(); d.PackedTile(i, i+TileBuckets<<l, PackedLimits{}, g) })
	})
	b.Run("live", func(b *testing.B) {
		everyLevel(b, 1, func(int) { d.FoldLive(at(), byStack(d)) })
	})
	b.Run("born", func(b *testing.B) {
		everyLevel(b, 1, func(int) { from, to := between(); d.FoldBorn(from, to, byStack(d)) })
	})
}

// levels returns the level at which a tile covers an axis.
func levels(length int64) int { return bits.Len64(uint64(max(length-1, 0) / TileBuckets)) }

// everyLevel reports the 99th of 100 times that f takes at the level where that is
// longest.
func everyLevel(b *testing.B, length int64, f func(level int)) {
	var p99 time.Duration
	for b.Loop() {
		for level := range levels(length) + 1 {
			all := make([]time.Duration, 100)
			for i := range all {
				begin := time.Now()
				f(level)
				all[i] = time.Since(begin)
			}
			slices.Sort(all)
			p99 = max(p99, all[len(all)*99/100-1])
		}
	}
	b.ReportMetric(float64(p99.Microseconds())/1000, "p99-ms")
}

func byStack(d *Device) func(int) uint32 {
	return func(b int) uint32 { return uint32(d.TL.Stack(b)) }
}

func perEvent(b *testing.B, events int, before int64) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
	b.ReportMetric(float64(heapBytes()-before)/float64(events), "kept-B/event")
}

// heapBytes is what is in use on the heap after a collection.
func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// benchTimeline replays the device with the most events of the recording to measure.
func benchTimeline(b *testing.B) *timeline.Timeline {
	rec, err := snapshot.Read(benchRecording(b), snapshot.Options{})
	if err != nil {
		b.Fatal(err)
	}
	dev := slices.MaxFunc(rec.Devices, func(x, y *snapshot.Device) int { return x.Events.Len() - y.Events.Len() })
	return timeline.Build(rec, dev)
}

func benchRecording(b *testing.B) io.Reader {
	if *benchFile != "" {
		f, err := os.Open(*benchFile)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { f.Close() })
		return f
	}
	r, w := io.Pipe()
	go func() {
		_, err := (made.Run{Events: *benchEvents, Leak: *benchLeak}).WritePickle(w)
		w.CloseWithError(err)
	}()
	return r
}
