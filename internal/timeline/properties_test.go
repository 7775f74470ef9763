package timeline

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/snapshot"
)

// TestReplayFindsTheAllocator: a replay of a complete recording chooses what the
// allocator chose, and counts what it counted, after every event.
func TestReplayFindsTheAllocator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMachine(t)
		m.sameCounters(t)
		tl := Build(m.dump(0))
		if tl.Replay.Equal != tl.Replay.Allocs || tl.Replay.Odd != (Odd{}) {
			t.Fatalf("replay: %+v", tl.Replay)
		}
		tl.Walk(0, tl.Dev.Events.Len(), func(i int, now Totals) {
			if now != m.after[i] {
				t.Fatalf("after e%d: %+v, the allocator counted %+v", i, now, m.after[i])
			}
		})
		if diff := gocmp.Diff(dumpSpans(tl.Dev), stateSpans(tl.StateAt(tl.Dev.Events.Len()-1))); diff != "" {
			t.Fatalf("state at the end (-dump +replay):\n%s", diff)
		}
		checkPeaks(t, tl)
	})
}

// checkPeaks compares the peaks with those of a walk.
func checkPeaks(t *rapid.T, tl *Timeline) {
	want := NewPeak(tl.Start, -1)
	tl.Walk(0, tl.Dev.Events.Len(), func(i int, now Totals) { want.Update(now, i) })
	if tl.Peak != want {
		t.Fatalf("peaks %+v, a walk finds %+v", tl.Peak, want)
	}
}

// TestStateTilesSegments: at every event the spans of a segment fill it without gap
// or overlap, no two free spans touch, and they add up to the counters.
func TestStateTilesSegments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMachine(t)
		tl := Build(m.dump(rapid.IntRange(0, m.events.Len()).Draw(t, "cut")))
		for i := -1; i < tl.Dev.Events.Len(); i++ {
			checkState(t, tl, i)
		}
	})
}

// fataler is a test, or one round of a property.
type fataler interface {
	Fatalf(format string, args ...any)
}

// checkState checks the state after event i against itself and the counters.
func checkState(t fataler, tl *Timeline, i int) {
	s := tl.StateAt(i)
	var sum Totals
	var last uint64
	for n := range s.Segments {
		g := &s.Segments[n]
		if g.Addr < last {
			t.Fatalf("e%d: segment %#x begins before the one before it ends, %#x", i, g.Addr, last)
		}
		last = g.Addr + uint64(g.SizeBytes)
		sum.Reserved += g.SizeBytes
		checkTiles(t, g, i)
		for _, p := range g.Spans {
			sum.count(tl, p)
		}
		if found := s.Find(g.Addr + uint64(g.SizeBytes) - 1); found != g {
			t.Fatalf("e%d: the last byte of segment %#x is not found in it", i, g.Addr)
		}
	}
	if now := tl.TotalsAt(i); sum != now {
		t.Fatalf("e%d: the state adds up to %+v, the counters say %+v", i, sum, now)
	}
}

func checkTiles(t fataler, g *StateSegment, i int) {
	at, free := g.Addr, false
	for _, p := range g.Spans {
		if p.Addr != at || p.SizeBytes <= 0 {
			t.Fatalf("e%d: segment %#x: span %+v where %#x is next", i, g.Addr, p, at)
		}
		if free && p.Block < 0 {
			t.Fatalf("e%d: segment %#x: free memory at %#x in two pieces", i, g.Addr, p.Addr)
		}
		at, free = at+uint64(p.SizeBytes), p.Block < 0
	}
	if at != g.Addr+uint64(g.SizeBytes) {
		t.Fatalf("e%d: segment %#x is filled up to %#x only", i, g.Addr, at)
	}
}

// count adds a span.
func (n *Totals) count(tl *Timeline, p Span) {
	if p.Block < 0 {
		return
	}
	n.Active += p.SizeBytes
	n.Requested += tl.Block(p.Block).RequestedBytes
	if p.State == snapshot.Allocated {
		n.Allocated += p.SizeBytes
	}
}

// TestWindowKnowsWhatTheWholeKnows: a recording whose beginning is lost, to a ring or
// because it was begun late, has the counters and the blocks of the complete one
// after each of its events.
func TestWindowKnowsWhatTheWholeKnows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMachine(t)
		whole := Build(m.dump(0))
		cut := rapid.IntRange(0, m.events.Len()).Draw(t, "cut")
		part := Build(m.dump(cut))
		if part.Replay.Odd != (Odd{}) {
			t.Fatalf("replay from e%d: %+v", cut, part.Replay)
		}
		for i := -1; i < part.Dev.Events.Len(); i++ {
			if got, want := part.TotalsAt(i), whole.TotalsAt(cut+i); got != want {
				t.Fatalf("after e%d of the window from e%d: %+v, the whole recording has %+v", i, cut, got, want)
			}
			if diff := gocmp.Diff(stateSpans(whole.StateAt(cut+i)), stateSpans(part.StateAt(i))); diff != "" {
				t.Fatalf("state after e%d of the window from e%d (-whole +window):\n%s", i, cut, diff)
			}
		}
	})
}
