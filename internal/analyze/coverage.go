package analyze

import (
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// Beginning is how a recording begins.
type Beginning string

// Beginnings.
const (
	FromFirst  Beginning = "complete"    // before the first allocation: nothing is missing
	MidRun     Beginning = "mid-run"     // recording began after memory was in use
	RingCut    Beginning = "ring-cut"    // the ring was full: its oldest entries are lost
	RingLikely Beginning = "ring-likely" // begins mid-run with a round number of entries: a full ring, or a late start
	NoEvents   Beginning = "no-events"   // nothing happens in it: no history was recorded, or none was read
)

// Coverage is what a recording of one device covers.
type Coverage struct {
	Events      int
	Allocs      int
	FirstTimeUS int64 // Unix microseconds; 0 where events carry no time
	LastTimeUS  int64
	Begins      Beginning
	StartBytes  int64 // allocated before the first event
	StartBlocks int
	WithStack   int  // allocs that carry a stack
	Cpp         bool // stacks hold C++ frames too
	AllocStacks bool // frees carry the stack of the allocation (context="alloc" or "state"), not of the free
	Odd         timeline.Odd
}

// Cover takes stock of a recording of one device.
func Cover(tl *timeline.Timeline) Coverage {
	e := tl.Dev.Events
	c := Coverage{Events: e.Len(), Allocs: tl.Replay.Allocs, StartBytes: tl.Start.Allocated, StartBlocks: tl.Replay.Start, Odd: tl.Replay.Odd, Begins: begins(tl)}
	if c.Events > 0 {
		c.FirstTimeUS, c.LastTimeUS = e.At(0).TimeUS, e.At(c.Events-1).TimeUS
	}
	c.WithStack, c.AllocStacks = stacksKept(tl)
	c.Cpp = hasCpp(tl.Rec)
	return c
}

func begins(tl *timeline.Timeline) Beginning {
	n := tl.Dev.Events.Len()
	switch {
	case isStill(tl.Dev.Events):
		return NoEvents
	case tl.Dev.Overflowed:
		return RingCut
	case tl.Replay.FromCold:
		return FromFirst
	case tl.Dev.RingEntries > 0 && n >= tl.Dev.RingEntries:
		return RingCut
	case tl.Dev.RingEntries == 0 && n%1000 == 0:
		return RingLikely
	}
	return MidRun
}

// isStill tells whether no event touches memory: a dump can note itself as an event.
func isStill(e *snapshot.Events) bool {
	b := snapshot.Batch{Want: snapshot.WithAction}
	for k := range e.Chunks() {
		e.Chunk(k, &b)
		for _, a := range b.Action {
			if a := snapshot.Action(a); a >= snapshot.Alloc && a <= snapshot.SegmentUnmap || a == snapshot.OOM {
				return false
			}
		}
	}
	return true
}

// stacksKept counts the allocations with a stack, and tells whether frees carry the
// stack of the allocation: then every free has that of its own block.
func stacksKept(tl *timeline.Timeline) (withStack int, allocStacks bool) {
	b := snapshot.Batch{Want: snapshot.WithAction | snapshot.WithStack}
	same, other := 0, 0
	for k := range tl.Dev.Events.Chunks() {
		tl.Dev.Events.Chunk(k, &b)
		for j, a := range b.Action {
			switch {
			case snapshot.Action(a) == snapshot.Alloc && b.Stack[j] != 0:
				withStack++
			case snapshot.Action(a) == snapshot.FreeRequested && k < freeStackChunks:
				id := tl.BlockOf(b.First + j)
				if id < 0 || tl.Life(id).Alloc < 0 {
					continue
				}
				if uint64(tl.Stack(id)) == b.Stack[j] {
					same++
				} else {
					other++
				}
			}
		}
	}
	return withStack, same > 0 && other*50 < same
}

// freeStackChunks is how much of a trace is looked at to tell what a free's stack
// is: 16,384 events are thousands of frees, and one setting holds for all of them.
const freeStackChunks = 1

// hasCpp tells whether stacks were recorded with C++ frames: these have no line.
func hasCpp(rec *snapshot.Recording) bool {
	for i := range rec.Frames {
		if f := &rec.Frames[i]; f.Line == 0 && f.Name != "" && (f.Filename == "??" || f.Filename == "" || len(f.Filename) > 4 && f.Filename[len(f.Filename)-4:] == ".cpp") {
			return true
		}
	}
	return false
}

// doubtShare is the share of events that do not fit together from which on amounts
// are not to be trusted. Sound recordings have none, whatever PyTorch wrote them.
const doubtShare = 0.02

// doubtful tells whether so much does not fit together that amounts may be wrong.
func (c *Coverage) doubtful() bool {
	return float64(oddTotal(c.Odd)) > doubtShare*float64(c.Events)
}

func oddTotal(o timeline.Odd) int {
	return o.FreeWithoutAlloc + o.Overlap + o.OutsideSegment + o.BadSize + o.EndMismatch
}

// OddTexts says what does not fit together in a recording, a line each.
func OddTexts(o timeline.Odd) []string {
	var list []string
	for _, v := range []struct {
		n         int
		one, many string
	}{
		{o.FreeWithoutAlloc, "entry frees an address at which nothing was allocated", "entries free an address at which nothing was allocated"},
		{o.Overlap, "entry uses memory that was in use", "entries use memory that was in use"},
		{o.OutsideSegment, "entry lies outside every known segment", "entries lie outside every known segment"},
		{o.BadSize, "entry has a size or an address that cannot be", "entries have a size or an address that cannot be"},
		{o.EndMismatch, "block of the dump is not what the events lead to", "blocks of the dump are not what the events lead to"},
	} {
		if v.n > 0 {
			list = append(list, units.FormatPlural(v.n, v.one, v.many))
		}
	}
	return list
}

// NotShown is what no recording of the allocator can show.
func NotShown() []string {
	return []string{"the CUDA context and loaded kernels", "buffers of NCCL", "what other libraries allocate by themselves", "other processes on the device"}
}
