package allocator

import (
	"errors"
	"testing"
)

// base is where the tests of this file put their segments.
const base = uint64(1) << 40

// TestGrownBlock follows what was just got from the driver: the request that it
// was got for takes it without a search, which the best fit shows, a hole of
// exactly the size. Whatever comes in between ends that.
func TestGrownBlock(t *testing.T) {
	for _, tc := range []struct {
		name    string
		between func(t *testing.T, a *Allocator)
		grown   bool
	}{
		{"nothing between", func(*testing.T, *Allocator) {}, true},
		{"a free completed", func(t *testing.T, a *Allocator) { freeAt(t, a, base) }, true},
		{"out of memory", func(_ *testing.T, a *Allocator) { a.Failed() }, false},
		{"a free requested", func(t *testing.T, a *Allocator) {
			if err := a.FreeRequested(a.At(base + 20*mib)); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"a request on another stream", func(_ *testing.T, a *Allocator) { a.Alloc(4*mib, 7, PoolID{}) }, false},
		{"another segment freed", func(t *testing.T, a *Allocator) {
			if err := a.SegmentFree(base + 200*mib); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := New(Config{})
			// A hole of 10 MiB between 4 and 6 that are live; a free segment; one in use.
			growAndPlace(t, a, base, 20*mib, 4*mib)
			place(t, a, base+14*mib, 6*mib)
			freeAt(t, a, growAndPlace(t, a, base+200*mib, 20*mib, 2*mib))
			growAndPlace(t, a, base+20*mib, 20*mib, 20*mib)
			if err := a.FreeRequested(a.At(base)); err != nil {
				t.Fatal(err)
			}
			if err := a.SegmentAlloc(base+100*mib, 20*mib, 0, PoolID{}); err != nil {
				t.Fatal(err)
			}
			tc.between(t, a)
			b, ok := a.Alloc(10*mib, 0, PoolID{})
			if got := ok && a.Addr(b) == base+100*mib; got != tc.grown {
				t.Errorf("served at %#x: from what was grown: %v, want %v", a.Addr(b), got, tc.grown)
			}
			check(t, a)
		})
	}
}

// TestGrownBlockIsJoined maps pages behind a block whose free completes before the
// request comes: what was grown is then a part of the joined block.
func TestGrownBlockIsJoined(t *testing.T) {
	for _, side := range []string{"before", "behind"} {
		a := New(Config{Expandable: true})
		mapAndPlace(t, a, base+420*mib, 20*mib, 20*mib)
		freeAt(t, a, mapAndPlace(t, a, base+400*mib, 20*mib, 20*mib)) // the best fit: it cannot grow
		other, fresh := base, base+20*mib
		if side == "behind" {
			other, fresh = fresh, other
		}
		mapAndPlace(t, a, other, 20*mib, 20*mib)
		if err := a.FreeRequested(a.At(other)); err != nil {
			t.Fatal(err)
		}
		if err := a.SegmentMap(fresh, 20*mib, 0, PoolID{}); err != nil {
			t.Fatal(err)
		}
		if err := a.FreeCompleted(a.At(other)); err != nil {
			t.Fatal(err)
		}
		if b, ok := a.Alloc(20*mib, 0, PoolID{}); !ok || a.Addr(b) != base {
			t.Errorf("%s: served at %#x, want the joined block at %#x", side, a.Addr(b), base)
		}
		check(t, a)
	}
}

func growAndPlace(t *testing.T, a *Allocator, addr uint64, segment, size int64) uint64 {
	t.Helper()
	if err := a.SegmentAlloc(addr, segment, 0, PoolID{}); err != nil {
		t.Fatal(err)
	}
	return place(t, a, addr, size)
}

func mapAndPlace(t *testing.T, a *Allocator, addr uint64, mapped, size int64) uint64 {
	t.Helper()
	if err := a.SegmentMap(addr, mapped, 0, PoolID{}); err != nil {
		t.Fatal(err)
	}
	return place(t, a, addr, size)
}

func place(t *testing.T, a *Allocator, addr uint64, size int64) uint64 {
	t.Helper()
	if _, _, err := a.AllocAt(addr, size, 0, PoolID{}); err != nil {
		t.Fatal(err)
	}
	return addr
}

func freeAt(t *testing.T, a *Allocator, addr uint64) {
	t.Helper()
	if err := a.FreeCompleted(a.At(addr)); err != nil {
		t.Fatal(err)
	}
}

// TestWhatCannotBe lists what a recording can say that cannot be, given what is
// known, and what comes of it.
func TestWhatCannotBe(t *testing.T) {
	at := func(addr uint64, size int64) func(a *Allocator) error {
		return func(a *Allocator) error { _, _, err := a.AllocAt(addr, size, 0, PoolID{}); return err }
	}
	for _, tc := range []struct {
		name     string
		do       func(a *Allocator) error
		want     error
		reserved int64 // of the 40 MiB at the start
		active   int64 // of the 9 MiB at the start
	}{
		{"alloc in a live block", at(base+mib, mib), ErrOverlap, 40 * mib, 9 * mib},
		{"alloc that reaches into a live block", at(base+20*mib-mib, 2*mib), ErrOverlap, 40 * mib, 9 * mib},
		{"alloc outside", at(base+mib<<20, mib), ErrOutside, 40 * mib, 9 * mib},
		{"alloc at 0", at(0, mib), ErrSize, 40 * mib, 9 * mib},
		{"alloc of a negative size", at(base+12*mib, -5), ErrSize, 40 * mib, 9 * mib},
		{"alloc of an absurd size", at(base+12*mib, 1<<62), ErrSize, 40 * mib, 9 * mib},
		{"free of nothing", func(a *Allocator) error { return a.FreeCompleted(a.At(base + 5)) }, ErrNotLive, 40 * mib, 9 * mib},
		{"free of a bad id", func(a *Allocator) error { return a.FreeRequested(12345) }, ErrNotLive, 40 * mib, 9 * mib},
		{"segment over a live one", func(a *Allocator) error { return a.SegmentAlloc(base+10*mib, 20*mib, 0, PoolID{}) }, ErrOverlap, 40 * mib, 0},
		{"segment of no size", func(a *Allocator) error { return a.SegmentAlloc(base, 0, 0, PoolID{}) }, ErrSize, 40 * mib, 9 * mib},
		{"segment freed with live blocks", func(a *Allocator) error { return a.SegmentFree(base) }, ErrOverlap, 20 * mib, 0},
		{"segment freed that is not there", func(a *Allocator) error { return a.SegmentFree(base + 2*mib) }, ErrOutside, 40 * mib, 9 * mib},
		{"pages mapped over a native segment", func(a *Allocator) error { return a.SegmentMap(base, 2*mib, 0, PoolID{}) }, ErrOverlap, 22 * mib, 0},
		{"pages unmapped of a native segment", func(a *Allocator) error { return a.SegmentUnmap(base, 2*mib) }, ErrOutside, 40 * mib, 9 * mib},
		{"pages unmapped that are not mapped in part", func(a *Allocator) error { return a.SegmentUnmap(base+90*mib, 20*mib) }, ErrOutside, 30 * mib, 9 * mib},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := New(Config{})
			growAndPlace(t, a, base, 20*mib, 9*mib)
			if err := a.SegmentMap(base+100*mib, 20*mib, 0, PoolID{}); err != nil {
				t.Fatal(err)
			}
			if tc.name == "alloc that reaches into a live block" {
				place(t, a, base+20*mib-512, 512)
				freeAt(t, a, base+20*mib-512)
			}
			if err := tc.do(a); !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
			if _, _, active, reserved := a.Totals(); active != tc.active || reserved != tc.reserved {
				t.Errorf("active %d, reserved %d, want %d and %d", active, reserved, tc.active, tc.reserved)
			}
			check(t, a)
		})
	}
}

func TestOwner(t *testing.T) {
	a := New(Config{})
	pool := PoolID{3, 4}
	if err := a.SegmentAlloc(base, 20*mib, 5, pool); err != nil {
		t.Fatal(err)
	}
	if stream, got, ok := a.Owner(base + 20*mib - 1); !ok || stream != 5 || got != pool {
		t.Errorf("%d %v %v, want 5 %v", stream, got, ok, pool)
	}
	for _, addr := range []uint64{base - 1, base + 20*mib, 0} {
		if _, _, ok := a.Owner(addr); ok {
			t.Errorf("%#x has an owner", addr)
		}
	}
}

// TestChoice asks without taking: the best fit of what was free before the last segment
// came.
func TestChoice(t *testing.T) {
	a := New(Config{})
	choice := func(size int64) uint64 {
		t.Helper()
		addr, ok := a.Choice(size, 0, PoolID{})
		if ok != (addr != 0) {
			t.Errorf("Choice(%d) = %#x, %v", size, addr, ok)
		}
		return addr
	}
	if err := a.SegmentAlloc(base, 20*mib, 0, PoolID{}); err != nil {
		t.Fatal(err)
	}
	if got := choice(4 * mib); got != 0 {
		t.Errorf("what was just got from the driver is chosen: %#x", got)
	}
	place(t, a, base, 4*mib)
	if err := a.SegmentAlloc(base+64*mib, 20*mib, 0, PoolID{}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		size int64
		want uint64
	}{{4 * mib, base + 4*mib}, {17 * mib, 0}, {512, 0}, {-1, 0}, {maxBytes + 1, 0}} {
		if got := choice(tc.size); got != tc.want {
			t.Errorf("Choice(%d) = %#x, want %#x", tc.size, got, tc.want)
		}
	}
	place(t, a, base+64*mib, 17*mib) // the choice took nothing away from the request
	check(t, a)
}

func TestLoadRefuses(t *testing.T) {
	seg := func(blocks ...BlockInfo) []SegmentInfo {
		return []SegmentInfo{{Addr: base, SizeBytes: 20 * mib, Blocks: blocks}}
	}
	live := func(at uint64, size, requested int64) BlockInfo {
		return BlockInfo{Addr: base + at, SizeBytes: size, RequestedBytes: requested, State: Allocated}
	}
	for _, tc := range []struct {
		name     string
		segments []SegmentInfo
		want     error
	}{
		{"segment without size", []SegmentInfo{{Addr: base}}, ErrSize},
		{"segment twice", append(seg(), seg()...), ErrOverlap},
		{"block before the segment", seg(BlockInfo{Addr: base - 512, SizeBytes: 512, State: Allocated}), ErrOutside},
		{"block beyond it", seg(live(19*mib, 2*mib, 5)), ErrOutside},
		{"blocks that overlap", seg(live(0, 2*mib, 5), live(mib, mib, 5)), ErrOverlap},
		{"blocks in disorder", seg(live(10*mib, mib, 5), live(0, mib, 5)), ErrOverlap},
		{"block after the last", seg(live(0, 20*mib, 5), live(0, mib, 5)), ErrOverlap},
		{"more requested than there is", seg(live(0, mib, 2*mib)), ErrSize},
	} {
		a := New(Config{})
		if err := a.Load(tc.segments); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
		check(t, a)
	}
}
