// Package timeline replays a recording once through the allocator and adds what
// the file lacks: the size of every block (the file has requested bytes), what was
// allocated and reserved after every event, and the state of memory at any event.
//
// It does no I/O and keeps nothing running. A Timeline is immutable and safe for
// concurrent use.
package timeline

import (
	"github.com/ullage-dev/ullage/internal/column"
	"github.com/ullage-dev/ullage/snapshot"
)

// Timeline is the replay of one device of a recording.
type Timeline struct {
	Rec *snapshot.Recording
	Dev *snapshot.Device

	Start  Totals // before the first event
	End    Totals // after the last
	Peak   Peak
	Replay Replay

	Segments []Segment // every segment that lived in the window, in order of From

	blocks  blocks
	blockOf column.Column // by event: block + 1, or 0 where the event has none
	marks   []Totals      // after the last event before every chunk of events
}

// Totals is what torch.cuda.memory_stats() counts, at one moment, in bytes.
type Totals struct {
	Requested int64 // what programs asked for, of active blocks
	Allocated int64 // blocks handed out
	Active    int64 // allocated and pending free
	Reserved  int64 // segments
}

// Extreme is the largest value of one counter and the first event after which it held.
type Extreme struct {
	Bytes int64
	Event int // -1: before the first event
}

// Peak holds the maxima that torch counts, each on its own: they fall on different events.
type Peak struct {
	Requested, Allocated, Active, Reserved Extreme
}

// Replay tells how far the simulated allocator agreed with the recording.
type Replay struct {
	Allocs   int  // alloc events
	Equal    int  // of these, simulated at the recorded address
	First    int  // event of the first difference; -1 for none
	FromCold bool // the recording starts before the first allocation: nothing had to be inferred
	Start    int  // blocks inferred to have been live before the first event
	Odd      Odd
}

// Odd counts what a sound recording does not hold.
type Odd struct {
	FreeWithoutAlloc int // a free of an address where nothing was allocated
	Overlap          int // an allocation inside a block that was live
	OutsideSegment   int // an allocation outside every known segment
	BadSize          int // sizes that are negative or larger than any device
	EndMismatch      int // blocks whose size or state at the end differs from the dump
}

// Never is the event of something that did not happen in the recording.
const Never = int(^uint(0) >> 1)

// Block is a block handed out by the allocator.
type Block struct {
	Alloc          int // event; -1: before the first event
	FreeRequested  int // event, or Never
	FreeCompleted  int // event, or Never
	Addr           uint64
	SizeBytes      int64 // rounded, with the tail that was not split off
	RequestedBytes int64
	Stack          snapshot.StackID
	Stream         snapshot.StreamID
}

// Segment is memory got from the driver. Expandable segments appear as mapped ranges.
type Segment struct {
	From, To   int // mapped from event From (-1: before the first) until event To (Never)
	Addr       uint64
	SizeBytes  int64
	Stream     snapshot.StreamID
	Pool       snapshot.PoolID
	Small      bool
	Expandable bool
	Stack      snapshot.StackID
}

// NumBlocks returns how many blocks were live at some moment of the window.
func (t *Timeline) NumBlocks() int { return len(t.blocks.alloc) }

// Block returns block i. Blocks are in order of their allocation, those that were
// live before the first event come first.
func (t *Timeline) Block(i int) Block { return t.block(i) }

// BlockOf returns the block that event i allocates or frees, or -1.
func (t *Timeline) BlockOf(i int) int { return int(t.blockOf.At(i)) - 1 }

// TotalsAt returns the counters after event i; -1 is before the first event.
func (t *Timeline) TotalsAt(i int) Totals { return t.totalsAt(i) }

// Walk calls f for every event in [from, to) with the counters after it.
func (t *Timeline) Walk(from, to int, f func(event int, now Totals)) { t.walk(from, to, f) }

// StateAt returns the state of memory after event i.
func (t *Timeline) StateAt(i int) *State { return t.stateAt(i) }

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
