package snapshot

import (
	"math"
	"strconv"
)

// Recording is one file: what one process recorded of its devices.
type Recording struct {
	Source      Source
	Devices     []*Device // those that have segments or events; devices first, then host memory
	Frames      []Frame   // each once
	Stacks      Stacks
	Streams     []uint64 // raw stream handle of each StreamID; handles differ between runs. Streams[0] is 0, the default stream
	Labels      []string // compile contexts and user metadata, by LabelID; Labels[0] is ""
	Settings    *Settings
	Annotations []Annotation
	Truncated   *Truncation // nil when the file was read to its end
	Unknown     []Unknown   // keys and actions that this reader does not know, with how often each was met
	Warnings    []string    // what was odd in the file and what was made of it
}

// Source tells what was read.
type Source struct {
	Name        string // as given: a path, or "-" for standard input
	Form        string // "pickle protocol 4", "JSON", "HTML (trace_plot)"
	Compression string // "", "gzip", "zstd", "xz"; "gzip, zstd" when nested
	SizeBytes   int64  // as read, before decompression
	Rank        int    // from the name or the set it belongs to; -1 where nothing tells
}

// Kind is the memory that a Device stands for.
type Kind uint8

// Kinds of memory.
const (
	GPU  Kind = iota // CUDA, ROCm (under the same names) or XPU
	Host             // pinned host memory: host_segments and host_traces
)

// Device is one device's memory: its state at the dump, and the events before it.
type Device struct {
	Kind     Kind
	Index    int // device ordinal in the recorded process
	Segments []Segment
	Blocks   []Block // of all segments, in segment order
	Events   *Events // never nil; oldest first

	Trace       int  // which of the traces given to Options.OnEvents this is; -1 for none
	RingEntries int  // trace_alloc_max_entries; 0 where the file does not say
	Overflowed  bool // trace_alloc_overflowed: the ring lost the beginning

	// Cut tells that the file breaks off within the device's events, or before them:
	// segments and blocks are then of a later moment than the last event that was read.
	Cut bool
}

// SegmentKind is the pool class of a segment.
type SegmentKind uint8

// Pool classes.
const (
	UnknownSegment SegmentKind = iota
	SmallSegment               // 2 MiB segments for requests of at most 1 MiB
	LargeSegment
)

// PoolID names a memory pool; the zero PoolID is the default pool. CUDA graphs
// and torch.cuda.MemPool have their own.
type PoolID [2]uint64

// InferredPool is a private pool that a recording does not name: before torch 2.12 it
// names those of segments that are there at the dump only.
var InferredPool = PoolID{math.MaxUint64, math.MaxUint64}

// String writes the pool's two numbers as "0.1".
func (p PoolID) String() string {
	if p == InferredPool {
		return "inferred"
	}
	return strconv.FormatUint(p[0], 10) + "." + strconv.FormatUint(p[1], 10)
}

// Segment is memory got from the driver, alive at the dump. With expandable
// segments it is one contiguous mapped range.
type Segment struct {
	Addr           uint64
	SizeBytes      int64
	AllocatedBytes int64
	ActiveBytes    int64
	RequestedBytes int64
	Stream         StreamID
	Pool           PoolID
	Kind           SegmentKind
	Expandable     bool
	Stack          StackID
	FirstBlock     int // index into Device.Blocks
	NumBlocks      int
}

// BlockState is a block's state at the dump.
type BlockState uint8

// States of a block.
const (
	Inactive    BlockState = iota // free, cached
	Allocated                     // active_allocated
	PendingFree                   // active_pending_free (also written active_awaiting_free): freed, still in use on a stream
)

// Block is a part of a segment at the dump.
type Block struct {
	Addr           uint64
	SizeBytes      int64 // rounded
	RequestedBytes int64 // stale on inactive blocks
	State          BlockState
	Stack          StackID // of the allocation
}

// Frame is one position in code.
type Frame struct {
	Name     string // function
	Filename string
	Line     int
	Fx       string // fx_original_trace or fx node, where the file was augmented with FX traces
}

// Ids index the Recording's tables.
type (
	StreamID uint32
	FrameID  uint32
	StackID  uint32 // 0 is the empty stack: none was recorded
	LabelID  uint32 // 0 is the empty label
)

// Stacks holds each distinct stack once, innermost frame first.
type Stacks struct {
	start  []uint32 // of stack id in frames; one more than there are stacks
	frames []FrameID
}

// Len returns the number of stacks, the empty stack included.
func (s *Stacks) Len() int { return max(len(s.start)-1, 1) }

// Frames returns the frames of stack id, innermost first. The slice belongs to
// the table and must not be changed.
func (s *Stacks) Frames(id StackID) []FrameID {
	if int(id)+1 >= len(s.start) {
		return nil
	}
	return s.frames[s.start[id]:s.start[id+1]]
}

// Add stores a stack and returns its id; it does not look for an equal one.
// An empty stack has id 0.
func (s *Stacks) Add(frames []FrameID) StackID {
	if len(s.start) == 0 {
		s.start = append(s.start, 0, 0)
	}
	if len(frames) == 0 {
		return 0
	}
	s.frames = append(s.frames, frames...)
	s.start = append(s.start, uint32(len(s.frames)))
	return StackID(len(s.start) - 2)
}

// Settings is allocator_settings: the state at the dump, not at the start.
type Settings struct {
	Conf               string  // PYTORCH_CUDA_ALLOC_CONF as set
	MaxSplitBytes      int64   // -1 is unlimited
	GCThreshold        float64 // 0 is off
	ExpandableSegments bool
	RoundupDivisions   [16]int // by power of two from 1 MiB to 32 GiB; 0 is off
	GraphReuse         bool    // graph_capture_record_stream_reuse
	ReleaseLock        bool    // release_lock_on_cudamalloc
	PinnedUseRegister  bool    // pinned_use_cuda_host_register
	PinnedThreads      int     // pinned_num_register_threads
	Other              map[string]string
}

// Annotation is one end of a record_function scope.
type Annotation struct {
	Name   string
	Start  bool // START, else END
	Device int
	TimeUS int64
}

// Truncation tells where a file broke off.
type Truncation struct {
	Offset int64  // bytes read of the (decompressed) stream
	Reason string // what was being read
}

// Unknown is a key or an action that the reader does not know; it was kept out
// of the model and counted.
type Unknown struct {
	Where string // "event key", "segment key", "action", ...
	Name  string
	Count int
}
