package timeline

import (
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/snapshot"
)

// State is all segments and blocks at one moment.
type State struct {
	Event    int
	Segments []StateSegment // ascending by address; adjacent mapped ranges of one expandable segment are joined
}

// StateSegment is a segment and what fills it.
type StateSegment struct {
	Segment
	Spans []Span // ascending, without gaps
}

// Span is a part of a segment: a block that is handed out or pending, or free memory.
type Span struct {
	Addr      uint64
	SizeBytes int64
	State     snapshot.BlockState
	Block     int // -1 where free
}

// StateAt returns the state of memory after event i (-1: before the first), from
// the lives of blocks and segments: free memory is what lies between blocks, since
// the allocator always merges free neighbours. It takes time by the number of blocks
// that are held then and of segments of the whole window.
func (t *Timeline) StateAt(i int) *State {
	s := &State{Event: i, Segments: t.segmentsAt(i)}
	spans := t.spansAt(i)
	k := 0
	for n := range s.Segments {
		g := &s.Segments[n]
		end := g.Addr + uint64(g.SizeBytes)
		for k < len(spans) && spans[k].Addr < g.Addr {
			k++ // outside every known segment; counted in Odd by the replay
		}
		at := g.Addr
		for ; k < len(spans) && spans[k].Addr < end; k++ {
			g.fill(at, spans[k].Addr)
			at = g.place(spans[k], at, end)
		}
		g.fill(at, end)
	}
	return s
}

// place adds p, cut to what is left between at and end, and returns where free
// memory may begin. Only recordings with overlapping blocks need the cut.
func (g *StateSegment) place(p Span, at, end uint64) uint64 {
	from, to := max(p.Addr, at), min(p.Addr+uint64(p.SizeBytes), end)
	if from >= to {
		return at
	}
	p.Addr, p.SizeBytes = from, int64(to-from)
	g.Spans = append(g.Spans, p)
	return to
}

// fill adds the free span [from, to), if there is one.
func (g *StateSegment) fill(from, to uint64) {
	if from < to {
		g.Spans = append(g.Spans, Span{Addr: from, SizeBytes: int64(to - from), State: snapshot.Inactive, Block: -1})
	}
}

// segmentsAt returns the segments mapped after event i, ascending, with adjacent
// ranges of an expandable segment joined.
func (t *Timeline) segmentsAt(i int) []StateSegment {
	var live []StateSegment
	for _, g := range t.Segments {
		if g.From <= i && i < g.To {
			live = append(live, StateSegment{Segment: g})
		}
	}
	slices.SortFunc(live, func(a, b StateSegment) int { return cmp.Compare(a.Addr, b.Addr) })
	joined := live[:0]
	for _, g := range live {
		if n := len(joined); n > 0 && joined[n-1].joins(g.Segment) {
			joined[n-1].SizeBytes += g.SizeBytes
			joined[n-1].From = max(joined[n-1].From, g.From)
			continue
		}
		joined = append(joined, g)
	}
	return joined
}

// joins tells whether next is the range of the same expandable segment that follows g.
func (g *Segment) joins(next Segment) bool {
	return g.Expandable && next.Expandable && g.Addr+uint64(g.SizeBytes) == next.Addr &&
		g.Stream == next.Stream && g.Pool == next.Pool && g.Small == next.Small
}

// spansAt returns the blocks held after event i, ascending.
func (t *Timeline) spansAt(i int) []Span {
	var spans []Span
	t.EachHeld(i, func(n int, l Life) {
		state := snapshot.Allocated
		if i >= l.FreeRequested {
			state = snapshot.PendingFree
		}
		spans = append(spans, Span{Addr: t.Block(n).Addr, SizeBytes: l.SizeBytes, State: state, Block: n})
	})
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Addr, b.Addr) })
	return spans
}

// Find returns the segment that holds addr, or nil.
func (s *State) Find(addr uint64) *StateSegment {
	i, found := slices.BinarySearchFunc(s.Segments, addr, func(g StateSegment, addr uint64) int { return cmp.Compare(g.Addr, addr) })
	if !found {
		i--
	}
	if i < 0 || addr >= s.Segments[i].Addr+uint64(s.Segments[i].SizeBytes) {
		return nil
	}
	return &s.Segments[i]
}
