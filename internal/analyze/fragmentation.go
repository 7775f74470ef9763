package analyze

import (
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// Fragmented is how well reserved memory was used at one event: the failure that
// ended the run, or else the peak of reserved memory.
type Fragmented struct {
	Event          int
	Now            timeline.Totals
	FreeBytes      int64 // cached, whatever it could serve
	LargestBytes   int64 // the largest free block
	WholeBytes     int64 // in segments without any block: empty_cache would return these
	PinnedBytes    int64 // free in segments that a block keeps from being returned
	LargestRequest Request
	Pins           []Pin // who allocated the blocks that keep free memory, most kept first
	Stranded       []Stranding
	Growth         Growth
}

// Request is one allocation.
type Request struct {
	Event int
	Bytes int64 // requested
	Stack snapshot.StackID
}

// Pin is an allocation site whose blocks keep free memory from being returned.
type Pin struct {
	Stack       snapshot.StackID
	Segments    int   // partly used segments in which it has blocks
	BlockBytes  int64 // of its blocks there
	PinnedBytes int64 // free memory there, shared among the sites of a segment by their number of blocks
}

// Stranding is free memory that only a stream or a pool can use which has stopped asking for any.
type Stranding struct {
	FreeGroup
	LastAlloc int // event of the last allocation that it served; -1 for none in the window
}

// Growth is reserved memory growing while what is allocated stays level.
type Growth struct {
	FromEvent, ToEvent int
	ReservedBytes      int64 // by how much reserved grew between the two
	AllocatedPeakBytes int64 // by how much the peak of allocated memory rose
}

// findFragmentation looks at one state of memory, and at the growth in a window.
func findFragmentation(tl *timeline.Timeline, sites *Sites, s *timeline.State, w window) Fragmented {
	f := Fragmented{Event: s.Event, Now: tl.TotalsAt(s.Event)}
	pins := &pinTable{sites: sites, names: make(map[snapshot.StackID]string), byName: make(map[string]*Pin)}
	for n := range s.Segments {
		f.addSegment(tl, &s.Segments[n], pins)
	}
	for _, p := range pins.byName {
		f.Pins = append(f.Pins, *p)
	}
	slices.SortFunc(f.Pins, func(a, b Pin) int {
		return cmp.Or(cmp.Compare(b.PinnedBytes, a.PinnedBytes), cmp.Compare(a.Stack, b.Stack))
	})
	f.LargestRequest = largestRequest(tl, s.Event)
	f.Stranded = findStranded(tl, s)
	f.Growth = findGrowth(tl, w)
	return f
}

func (f *Fragmented) addSegment(tl *timeline.Timeline, g *timeline.StateSegment, pins *pinTable) {
	var free int64
	var held []timeline.Span
	for _, p := range g.Spans {
		if p.State != snapshot.Inactive {
			held = append(held, p)
			continue
		}
		free += p.SizeBytes
		f.LargestBytes = max(f.LargestBytes, p.SizeBytes)
	}
	f.FreeBytes += free
	switch {
	case len(held) == 0:
		f.WholeBytes += free
	case free > 0:
		f.PinnedBytes += free
		pins.add(tl, held, free)
	}
}

// pinTable gathers pins by how their sites read: stacks that differ only in what nobody
// is shown are one site.
type pinTable struct {
	sites  *Sites
	names  map[snapshot.StackID]string
	byName map[string]*Pin
}

// add shares the free memory of one segment among the sites of its blocks.
func (t *pinTable) add(tl *timeline.Timeline, held []timeline.Span, free int64) {
	seen := make(map[*Pin]bool)
	share := free / int64(len(held))
	for k, p := range held {
		v := t.pin(tl.Stack(p.Block))
		if !seen[v] {
			seen[v] = true
			v.Segments++
		}
		v.BlockBytes += p.SizeBytes
		v.PinnedBytes += share
		if k == 0 {
			v.PinnedBytes += free - share*int64(len(held))
		}
	}
}

func (t *pinTable) pin(id snapshot.StackID) *Pin {
	name, ok := t.names[id]
	if !ok {
		name = t.sites.Display(id)
		t.names[id] = name
	}
	v := t.byName[name]
	if v == nil {
		v = &Pin{Stack: id}
		t.byName[name] = v
	}
	return v
}

// largestRequest finds the largest allocation up to event i that was served.
func largestRequest(tl *timeline.Timeline, i int) Request {
	r := Request{Event: -1}
	best := -1
	for n := range tl.NumBlocks() {
		l := tl.Life(n)
		if l.Alloc > i {
			break
		}
		if l.Alloc >= 0 && l.SizeBytes > r.Bytes {
			best, r.Bytes = n, l.SizeBytes
		}
	}
	if best >= 0 {
		b := tl.Block(best)
		r = Request{Event: b.Alloc, Bytes: b.RequestedBytes, Stack: b.Stack}
	}
	return r
}

// idlePart is the share of the window, at its end, in which a stream or a pool must
// not have allocated to count as one that is no longer used.
const idlePart = 4

// findStranded finds free memory of streams and pools that no longer ask for any.
func findStranded(tl *timeline.Timeline, s *timeline.State) []Stranding {
	groups := freeGroups(s)
	if len(groups) < 2 {
		return nil
	}
	last := lastAllocs(tl, s)
	var out []Stranding
	for _, g := range groups {
		at, ok := last[groupKey{g.Stream, g.Pool, g.Small}]
		if !ok {
			at = -1
		}
		if g.FreeBytes > 0 && at < s.Event-s.Event/idlePart {
			out = append(out, Stranding{g, at})
		}
	}
	return out
}

// lastAllocs returns the last allocation up to the state's event that each group of
// segments served: from the blocks, by the segment in which they lie.
func lastAllocs(tl *timeline.Timeline, s *timeline.State) map[groupKey]int {
	last := make(map[groupKey]int)
	for n := range s.Segments {
		g := &s.Segments[n]
		last[groupKey{g.Stream, g.Pool, g.Small}] = -1
	}
	silent := len(last)
	for n := tl.NumBlocks() - 1; n >= 0; n-- {
		l := tl.Life(n)
		if l.Alloc > s.Event || l.Alloc < 0 {
			continue
		}
		if l.Alloc < s.Event-s.Event/idlePart || silent == 0 {
			break // whatever came before is idle all the same
		}
		g := s.Find(tl.Block(n).Addr)
		if g == nil {
			continue
		}
		if k := (groupKey{g.Stream, g.Pool, g.Small}); last[k] < 0 {
			last[k] = l.Alloc
			silent--
		}
	}
	return last
}

// findGrowth compares the two halves of the window after its first fifth, in which
// programs warm up: reserved memory that went on growing in the second half by more
// than the peak of allocated memory rose.
func findGrowth(tl *timeline.Timeline, w window) Growth {
	first, n := max(w.from, 0), w.to+1
	from := first + (n-first)/5
	mid := from + (n-from)/2
	before, after := tl.PeakIn(from, mid), tl.PeakIn(mid, n)
	return Growth{
		FromEvent: from, ToEvent: n - 1,
		ReservedBytes:      max(after.Reserved.Bytes-before.Reserved.Bytes, 0),
		AllocatedPeakBytes: max(after.Allocated.Bytes-before.Allocated.Bytes, 0),
	}
}
