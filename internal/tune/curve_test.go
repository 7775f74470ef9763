package tune

import (
	"slices"
	"testing"

	"github.com/ullage-dev/ullage/allocator"
)

// TestCurve: the highest point of a curve is the peak that Try gives, whatever the
// settings, and with the recorded ones the curve is what the recording reserved.
func TestCurve(t *testing.T) {
	for _, name := range []string{"recordings/resnet50.pickle.xz", "recordings/bert_varlen-lim16.pickle.xz", "recordings/bert_varlen-ring.pickle.xz"} {
		t.Run(name, func(t *testing.T) {
			tl := recorded(t, name)
			p := compiled(t, tl, -1)
			tuner := New(allocator.Newest, []*Program{p}, Room{}, Options{})
			for _, s := range []Setting{tuner.Recorded, parsed(t, "expandable_segments:True"), parsed(t, "max_split_size_mb:64"), parsed(t, "roundup_power2_divisions:4")} {
				edges := CurveEdges(p, 200)
				c := tuner.Curve(p, &s, edges)
				want := tuner.simulate(p, &s, tuner.Room, tuner.mode(p, &s))
				if got := slices.Max(c.Reserved); got != want.PeakReserved {
					t.Errorf("%q: the curve goes up to %d, the peak is %d", s.Conf, got, want.PeakReserved)
				}
				if last := c.Reserved[len(edges)-1]; last < want.Reserved {
					t.Errorf("%q: the curve ends with %d, the run with %d", s.Conf, last, want.Reserved)
				}
			}
			if tl.Start.Reserved == 0 && tl.Rec.Settings != nil && tuner.Room == (Room{}) && p.Notes.EmptyCaches == 0 && len(p.retries) == 0 {
				asRecorded(t, tuner, p)
			}
		})
	}
}

// asRecorded compares the curve of the recorded settings with the recording. The segment
// that a request needs is an event of its own before it, so that no part ends there.
func asRecorded(t *testing.T, tuner *Tuner, p *Program) {
	t.Helper()
	edges := CurveEdges(p, 64)
	for k := range edges {
		for edges[k] < p.TL.Dev.Events.Len()-1 && p.TL.Dev.Events.At(edges[k]).Action.MovesSegment() {
			edges[k]++
		}
	}
	c := tuner.Curve(p, &tuner.Recorded, edges)
	from := -1
	for k, to := range edges {
		want := p.TL.PeakIn(from+1, to+1).Reserved.Bytes
		if c.Reserved[k] != want {
			t.Errorf("part %d, e%d to e%d: %d, recorded were %d", k, from+1, to, c.Reserved[k], want)
		}
		from = to
	}
}

// TestCurveEdges: parts of the same length, none more than there are events.
func TestCurveEdges(t *testing.T) {
	p := compiled(t, recorded(t, "recordings/resnet50.pickle.xz"), -1)
	events := p.TL.Dev.Events.Len()
	for _, n := range []int{1, 2, 7, 1024, events, events + 5} {
		edges := CurveEdges(p, n)
		if len(edges) != min(n, events) || edges[len(edges)-1] != events-1 || !slices.IsSorted(edges) {
			t.Errorf("%d parts: %d edges, the last %d of %d events", n, len(edges), edges[len(edges)-1], events)
		}
	}
}

// TestCurveOfAFailure: the curve stops where memory runs out.
func TestCurveOfAFailure(t *testing.T) {
	p := compiled(t, recorded(t, "recordings/resnet50.pickle.xz"), -1)
	room := Room{LimitBytes: p.TL.Peak.Allocated.Bytes / 2}
	tuner := New(allocator.Newest, []*Program{p}, room, Options{})
	edges := CurveEdges(p, 100)
	c := tuner.Curve(p, &tuner.Recorded, edges)
	if c.Failed == nil {
		t.Fatal("half of what the run needs should not do")
	}
	for k, bytes := range c.Reserved {
		if bytes > room.LimitBytes || edges[k] > c.Failed.Event+len(edges)*100 && bytes != 0 {
			t.Errorf("%d bytes up to e%d, of %d, where it failed at e%d", bytes, edges[k], room.LimitBytes, c.Failed.Event)
		}
	}
	if last := c.Reserved[len(edges)-1]; last != 0 {
		t.Errorf("after the failure %d bytes are reserved", last)
	}
}
