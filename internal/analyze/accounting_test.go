package analyze

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/snapshot"
)

// TestAccounting splits reserved memory of a state with a bit of everything.
func TestAccounting(t *testing.T) {
	s := newScene()
	s.segment(0, 0, "8a 4. 8p")
	s.segment(0, 0, "0.25a 0.5. 0.25a 1.")
	s.segment(1, 0, "30.")
	s.segment(0, 1, "20. 2a")
	tl := s.replay()
	last := tl.Dev.Events.Len() - 1
	got := Account(tl, tl.StateAt(last))
	want := Accounting{
		Event: last, RequestedBytes: 10*mib + mib/2, PendingFreeBytes: 8 * mib, CachedBytes: 55*mib + mib/2, ReservedBytes: 74 * mib,
		Free: []FreeGroup{
			{Stream: 1, FreeBytes: 30 * mib, LargestBytes: 30 * mib, WholeBytes: 30 * mib, Spans: 1, Segments: 1},
			{Pool: snapshot.PoolID{0, 1}, FreeBytes: 20 * mib, LargestBytes: 20 * mib, Spans: 1, Segments: 1},
			{FreeBytes: 4 * mib, LargestBytes: 4 * mib, PendingBytes: 8 * mib, Spans: 1, Segments: 1},
			{Small: true, FreeBytes: mib + mib/2, LargestBytes: mib, Spans: 2, Segments: 1},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAccountingOfRounding tells what was asked for from what was given.
func TestAccountingOfRounding(t *testing.T) {
	s := newScene()
	s.event(snapshot.SegmentAlloc, piece{addr: 1 << 40, sizeBytes: 20 * mib})
	s.event(snapshot.Alloc, piece{addr: 1 << 40, sizeBytes: 3*mib - 100})              // 100 bytes of rounding
	s.event(snapshot.Alloc, piece{addr: 1<<40 + 3*mib, sizeBytes: 17*mib - mib/2 - 7}) // a tail of half a MiB that is not split off
	tl := s.replay()
	got := Account(tl, tl.StateAt(2))
	if got.RoundingBytes != 100+mib/2+7 || got.CachedBytes != 0 || got.RequestedBytes+got.RoundingBytes != got.ReservedBytes {
		t.Errorf("%+v", got)
	}
}

// TestAccountingAddsUp: at any event of any scene the parts are the whole, and the
// groups of free memory are what is cached and pending.
func TestAccountingAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScene()
		for range rapid.IntRange(0, 6).Draw(t, "segments") {
			var text string
			for range rapid.IntRange(1, 5).Draw(t, "pieces") {
				text += rapid.SampledFrom([]string{"2", "6", "12", "33"}).Draw(t, "MiB") + rapid.SampledFrom([]string{"a", ".", "p"}).Draw(t, "state") + " "
			}
			s.segment(snapshot.StreamID(rapid.IntRange(0, 1).Draw(t, "stream")), uint32(rapid.IntRange(0, 1).Draw(t, "pool")), text)
		}
		tl := s.replay()
		for i := -1; i < tl.Dev.Events.Len(); i++ {
			a, now := Account(tl, tl.StateAt(i)), tl.TotalsAt(i)
			var free, pending int64
			for _, g := range a.Free {
				free, pending = free+g.FreeBytes, pending+g.PendingBytes
			}
			switch {
			case a.RequestedBytes+a.RoundingBytes+a.PendingFreeBytes+a.CachedBytes != a.ReservedBytes, free != a.CachedBytes, pending != a.PendingFreeBytes:
				t.Fatalf("e%d does not add up: %+v", i, a)
			case a.ReservedBytes != now.Reserved, a.RequestedBytes+a.RoundingBytes != now.Allocated, a.PendingFreeBytes != now.Active-now.Allocated:
				t.Fatalf("e%d: %+v, the counters say %+v", i, a, now)
			}
		}
	})
}
