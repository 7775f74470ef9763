package allocator

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// driver hands out addresses as a recording would show them, and keeps what is
// live, for random programs.
type driver struct {
	next uint64
	live []uint64
}

// TestRandomPrograms runs random requests, frees and driver calls, and recomputes
// the whole state after each.
func TestRandomPrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := New(drawConfig(t))
		d := &driver{next: 1 << 40}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			d.step(t, a)
			if err := verify(a); err != nil {
				t.Fatal(err)
			}
		}
		b := New(a.Config())
		if err := b.Load(a.Segments()); err != nil {
			t.Fatal(err)
		}
		sameFuture(t, a, b)
	})
}

func drawConfig(t *rapid.T) Config {
	c := Config{Expandable: rapid.Bool().Draw(t, "expandable")}
	if rapid.Bool().Draw(t, "max split") {
		c.MaxSplitBytes = rapid.Int64Range(20, 64).Draw(t, "max split MiB") * mib
	}
	if rapid.Bool().Draw(t, "roundup") {
		for i := range c.RoundupDivisions {
			c.RoundupDivisions[i] = 1 << rapid.IntRange(0, 4).Draw(t, "divisions")
		}
	}
	return c
}

// drawRequest favours the sizes about which the rules change.
func drawRequest(t *rapid.T) int64 {
	edge := rapid.SampledFrom([]int64{512, mib, 2 * mib, 10 * mib, 20 * mib, 60 * mib}).Draw(t, "edge")
	return max(1, edge+rapid.SampledFrom([]int64{-513, -512, -1, 0, 1, 512, 100_000}).Draw(t, "offset"))
}

func (d *driver) step(t *rapid.T, a *Allocator) {
	stream := uint32(rapid.IntRange(0, 1).Draw(t, "stream"))
	pool := PoolID{uint64(rapid.IntRange(0, 1).Draw(t, "pool"))}
	switch rapid.IntRange(0, 9).Draw(t, "op") {
	case 0, 1, 2, 3:
		d.request(t, a, stream, pool)
	case 4, 5, 6:
		if len(d.live) > 0 {
			k := rapid.IntRange(0, len(d.live)-1).Draw(t, "block")
			d.free(t, a, k, rapid.Bool().Draw(t, "completes"))
		}
	case 7:
		d.release(t, a)
	case 8:
		d.placeAnywhere(t, a, stream, pool)
	case 9:
		a.Failed()
	}
}

// request allocates, and grows first where nothing fits.
func (d *driver) request(t *rapid.T, a *Allocator, stream uint32, pool PoolID) {
	n := drawRequest(t)
	b, ok := a.Alloc(n, stream, pool)
	if !ok {
		d.grow(t, a, n, stream, pool)
		if b, ok = a.Alloc(n, stream, pool); !ok {
			t.Fatalf("%d bytes do not fit into what was grown for them", n)
		}
	}
	if a.Size(b) < n || a.Requested(b) != n || a.At(a.Addr(b)) != b {
		t.Fatalf("block for %d bytes: size %d, requested %d", n, a.Size(b), a.Requested(b))
	}
	d.live = append(d.live, a.Addr(b))
}

func (d *driver) grow(t *rapid.T, a *Allocator, n int64, stream uint32, pool PoolID) {
	cfg := a.Config()
	size := cfg.SegmentSize(cfg.Round(n))
	grow := a.SegmentAlloc
	if cfg.Expandable {
		page := cfg.pageBytes(cfg.Round(n) <= smallRequestBytes)
		size = (cfg.Round(n) + page - 1) / page * page
		grow = a.SegmentMap
	}
	if err := grow(d.next, size, stream, pool); err != nil {
		t.Fatal(err)
	}
	d.next += uint64(size)
	if rapid.Bool().Draw(t, "gap") {
		d.next += 40 * mib
	}
}

func (d *driver) free(t *rapid.T, a *Allocator, k int, completes bool) {
	b := a.At(d.live[k])
	err := a.FreeRequested(b)
	if completes {
		err = a.FreeCompleted(b)
		d.live = slices.Delete(d.live, k, k+1)
	}
	if err != nil && completes {
		t.Fatal(err)
	}
}

// release takes a random range away from the allocator, live blocks and all.
func (d *driver) release(t *rapid.T, a *Allocator) {
	segments := a.Segments()
	if len(segments) == 0 {
		return
	}
	s := segments[rapid.IntRange(0, len(segments)-1).Draw(t, "segment")]
	if s.Expandable {
		pages := s.SizeBytes / (2 * mib)
		from := rapid.Int64Range(0, pages-1).Draw(t, "from page")
		n := rapid.Int64Range(1, pages-from).Draw(t, "pages")
		_ = a.SegmentUnmap(s.Addr+uint64(from*2*mib), n*2*mib)
	} else {
		_ = a.SegmentFree(s.Addr)
	}
	d.live = slices.DeleteFunc(d.live, func(addr uint64) bool { return a.At(addr) == None })
}

// placeAnywhere puts a block where the allocator would not, as a recording can.
func (d *driver) placeAnywhere(t *rapid.T, a *Allocator, stream uint32, pool PoolID) {
	addr := uint64(1<<40) + uint64(rapid.Int64Range(0, 400_000).Draw(t, "address"))*512
	if b, _, err := a.AllocAt(addr, drawRequest(t), stream, pool); err == nil {
		d.live = append(d.live, a.Addr(b))
	}
}

// sameFuture checks that two allocators choose the same from here on.
func sameFuture(t *rapid.T, a, b *Allocator) {
	a.Failed() // what was grown last is not part of the state that is loaded
	for range 20 {
		n := drawRequest(t)
		stream := uint32(rapid.IntRange(0, 1).Draw(t, "stream"))
		x, okX := a.Alloc(n, stream, PoolID{})
		y, okY := b.Alloc(n, stream, PoolID{})
		if okX != okY || okX && (a.Addr(x) != b.Addr(y) || a.Size(x) != b.Size(y)) {
			t.Fatalf("%d bytes: %v and %v after loading", n, okX, okY)
		}
	}
}

// TestAnyEvents follows events that no allocator could have made, as a damaged
// or hostile recording holds them.
func TestAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := New(drawConfig(t))
		for range rapid.IntRange(1, 80).Draw(t, "events") {
			e := traceEvent{
				action: rapid.SampledFrom([]byte("gmfuarco")).Draw(t, "action"),
				addr:   uint64(rapid.IntRange(0, 40).Draw(t, "address")) * mib / 2,
				size:   rapid.Int64Range(-1, 12).Draw(t, "size") * mib,
				stream: uint32(rapid.IntRange(0, 1).Draw(t, "stream")),
			}
			_ = step(a, &e, new(replayed))
			if err := verify(a); err != nil {
				t.Fatalf("after %c: %v", e.action, err)
			}
		}
	})
}

// FuzzEvents follows events made of bytes: action, address, size and stream.
func FuzzEvents(f *testing.F) {
	f.Add(false, []byte{'g', 0, 10, 0, 'a', 0, 3, 0, 'r', 0, 0, 0, 'c', 0, 0, 0, 'f', 0, 0, 0})
	f.Add(true, []byte{'m', 1, 1, 0, 'm', 2, 1, 0, 'a', 1, 2, 0, 'u', 1, 1, 0, 'a', 2, 1, 1})
	f.Add(true, []byte{'m', 1, 8, 0, 'g', 3, 2, 1, 'a', 1, 2, 0, 'o', 0, 0, 0, 'a', 3, 1, 1})
	f.Fuzz(func(t *testing.T, expandable bool, data []byte) {
		a := New(Config{Expandable: expandable})
		for ; len(data) >= 4; data = data[4:] {
			e := traceEvent{action: data[0], addr: uint64(data[1]) * mib / 2, size: int64(int8(data[2])) * mib / 2, stream: uint32(data[3] % 2)}
			_ = step(a, &e, new(replayed))
		}
		check(t, a)
	})
}
