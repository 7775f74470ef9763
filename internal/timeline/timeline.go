// Package timeline replays a recording once through the allocator and adds what
// the file lacks: the size of every block (the file has requested bytes), what was
// allocated and reserved after every event, and the state of memory at any event.
//
// It does no I/O and keeps nothing running. A Timeline is immutable and safe for
// concurrent use.
package timeline

import (
	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/column"
	"github.com/ullage-dev/ullage/snapshot"
)

// Timeline is the replay of one device of a recording.
type Timeline struct {
	Rec    *snapshot.Recording
	Dev    *snapshot.Device
	Config allocator.Config // the recording's own settings

	Start  Totals // before the first event
	End    Totals // after the last
	Peak   Peak
	Replay Replay

	OOMs     []int     // events at which an allocation failed
	Segments []Segment // every segment that lived in the window, in order of From

	blocks  blocks
	blockOf column.Column  // by event: block + 1, or 0 where the event has none
	marks   []Totals       // after the last event before every chunk of events
	tops    []Peak         // of every chunk of events, by its own events
	odd     map[int]Totals // by event: by what more it moved the counters than it says
	held    heldTree
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
	Guessed  bool // the file breaks off within the events: the start is inferred from a dump that is of a later moment
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
	Life
	Addr           uint64
	RequestedBytes int64
	Stack          snapshot.StackID // of the allocation
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
