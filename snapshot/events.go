package snapshot

import "github.com/ullage-dev/ullage/internal/column"

// Action is what an event tells.
type Action uint8

// Actions of the allocator, in the order in which PyTorch gained them.
const (
	UnknownAction Action = iota
	Alloc                // a block was handed out; size is what was requested
	FreeRequested        // the program let go of it
	FreeCompleted        // the allocator may use it again
	SegmentAlloc         // cudaMalloc
	SegmentFree          // cudaFree
	SegmentMap           // a range of an expandable segment got memory
	SegmentUnmap
	Snapshot    // a snapshot was taken
	OOM         // an allocation failed after all retries; size is the rounded request
	UserDefined // torch 2.4's annotations inside the trace
	Annotate    // text for a live allocation
)

// Grows tells whether the event brings memory from the driver.
func (a Action) Grows() bool { return a == SegmentAlloc || a == SegmentMap }

// MovesSegment tells whether the event brings memory from the driver or returns some.
func (a Action) MovesSegment() bool { return a >= SegmentAlloc && a <= SegmentUnmap }

// EventsChunk is the number of events in every chunk but the last.
const EventsChunk = column.ChunkLen

// Event is one entry of a device's trace.
type Event struct {
	Action    Action
	Addr      uint64 // for OOM: device_free, the bytes that cudaMemGetInfo called free
	SizeBytes int64
	Stream    StreamID
	Stack     StackID
	TimeUS    int64 // Unix microseconds; 0 before torch 2.2
	Compile   LabelID
	Metadata  LabelID
	Pool      uint32 // index into Events.Pools
}

// Events is the trace of one device, as packed columns.
type Events struct {
	action, addr, size, stream, stack, time, compile, metadata, pool column.Column

	Pools    []PoolID // by Event.Pool; Pools[0] is the default pool
	HasPools bool     // the trace names each event's pool (torch 2.12 and newer)
	HasTimes bool
}

// Columns is a set of columns of a Batch.
type Columns uint8

// Columns of a Batch, in the order in which Events.Chunk takes them.
const (
	WithAction Columns = 1 << iota
	WithAddr
	WithSize
	WithStream
	WithStack
	WithTime
	WithPool
)

// Batch is a run of consecutive events as plain columns, for loops over a whole trace.
type Batch struct {
	Want Columns // what Chunk decodes, the other columns stay empty; 0 is all of them

	First                                         int // ordinal of the first event
	Action, Addr, Size, Stream, Stack, Time, Pool []uint64

	Pools []PoolID // by the values of Pool; set where Options.OnEvents gets the batch
	buf   [7][]uint64
}

// Len returns the number of events.
func (e *Events) Len() int { return e.action.Len() }

// Chunks returns how many chunks Chunk can read.
func (e *Events) Chunks() int { return e.action.Chunks() }

// Chunk decodes chunk k, which begins at event k*EventsChunk, into b, whose
// buffers are used again.
func (e *Events) Chunk(k int, b *Batch) {
	if b.buf[0] == nil {
		all := make([]uint64, len(b.buf)*EventsChunk)
		for i := range b.buf {
			b.buf[i] = all[i*EventsChunk : (i+1)*EventsChunk]
		}
	}
	b.First = k * EventsChunk
	for i, c := range []struct {
		from *column.Column
		to   *[]uint64
	}{{&e.action, &b.Action}, {&e.addr, &b.Addr}, {&e.size, &b.Size}, {&e.stream, &b.Stream}, {&e.stack, &b.Stack}, {&e.time, &b.Time}, {&e.pool, &b.Pool}} {
		if b.Want == 0 || b.Want&(1<<i) != 0 {
			*c.to = c.from.Chunk(k, b.buf[i])
		}
	}
}

// At returns event i.
func (e *Events) At(i int) Event {
	return Event{
		Action:    Action(e.action.At(i)),
		Addr:      e.addr.At(i),
		SizeBytes: int64(e.size.At(i)),
		Stream:    StreamID(e.stream.At(i)),
		Stack:     StackID(e.stack.At(i)),
		TimeUS:    int64(e.time.At(i)),
		Compile:   LabelID(e.compile.At(i)),
		Metadata:  LabelID(e.metadata.At(i)),
		Pool:      uint32(e.pool.At(i)),
	}
}

// Append adds an event. It is for readers and for made traces; a Recording that
// was read is complete.
func (e *Events) Append(v Event) {
	e.action.Append(uint64(v.Action))
	e.addr.Append(v.Addr)
	e.size.Append(uint64(v.SizeBytes))
	e.stream.Append(uint64(v.Stream))
	e.stack.Append(uint64(v.Stack))
	e.time.Append(uint64(v.TimeUS))
	e.compile.Append(uint64(v.Compile))
	e.metadata.Append(uint64(v.Metadata))
	e.pool.Append(uint64(v.Pool))
}

// columns returns the columns in the order of rows.
func (e *Events) columns() [eventColumns]*column.Column {
	return [eventColumns]*column.Column{
		colAction: &e.action, colAddr: &e.addr, colSize: &e.size, colStream: &e.stream, colStack: &e.stack,
		colTime: &e.time, colPool: &e.pool, colCompile: &e.compile, colMetadata: &e.metadata,
	}
}

// appendRows adds rows at the end.
func (e *Events) appendRows(r *rows) {
	for i, c := range e.columns() {
		if i >= firstSparse && !r.uneven[i] {
			c.AppendSame(0, r.n)
		} else {
			c.AppendAll(r.cols[i][:r.n])
		}
	}
}

// StackAt returns the stack of event i; like the methods after it, several times
// faster than At.
func (e *Events) StackAt(i int) StackID { return StackID(e.stack.At(i)) }

// ActionAt returns the action of event i.
func (e *Events) ActionAt(i int) Action { return Action(e.action.At(i)) }

// SizeAt returns the size of event i, in bytes.
func (e *Events) SizeAt(i int) int64 { return int64(e.size.At(i)) }

// TimeAt returns the time of event i, in Unix microseconds.
func (e *Events) TimeAt(i int) int64 { return int64(e.time.At(i)) }
