package allocator

import "fmt"

// Simulator is a whole caching allocator on a simulated device: it grows, and
// releases memory and tries again, as PyTorch's does. It is not safe for
// concurrent use.
type Simulator struct {
	a     *Allocator
	cfg   Config
	dev   Device
	pools pools
	stats Stats
}

// Stats counts as torch.cuda.memory_stats() does. Bytes and their peaks are
// "bytes.all"; the peaks are independent of each other.
type Stats struct {
	Requested, Allocated, Active, Reserved                 int64
	PeakRequested, PeakAllocated, PeakActive, PeakReserved int64

	DeviceAllocs  int // num_device_alloc: cudaMalloc calls, and calls that mapped pages
	DeviceFrees   int // num_device_free
	MappedPages   int // pages that were mapped by those calls
	UnmappedPages int
	Retries       int // num_alloc_retries: cached memory was released for a request
	OOMs          int // num_ooms
	Rejections    int // num_oom_rejections
	Syncs         int // num_sync_all_streams
}

// OOMError is a request that failed.
type OOMError struct {
	RequestedBytes int64
	RoundedBytes   int64
	SegmentBytes   int64 // what the message calls "Tried to allocate"
	ReservedBytes  int64 // after all that could be was released
	FreeBytes      int64 // of the device
	Rejected       bool  // by throw_on_cudamalloc_oom, before anything was released
}

// Error tells the sizes.
func (e *OOMError) Error() string {
	return fmt.Sprintf("out of memory: a request of %d bytes needs a segment of %d; %d are reserved, %d free on the device",
		e.RequestedBytes, e.SegmentBytes, e.ReservedBytes, e.FreeBytes)
}

// NewSimulator returns a Simulator that holds no memory.
func NewSimulator(cfg Config, dev Device) *Simulator {
	a := New(cfg)
	return &Simulator{a: a, cfg: a.cfg, dev: dev}
}

// request is a request on its way down the ladder.
type request struct {
	heap    int32
	size    int64 // rounded
	segment int64
	stream  uint32
}

// Malloc serves a request. The error is an *OOMError, or ErrSize. A request of
// no bytes never reaches PyTorch's allocator and must not be made here.
func (s *Simulator) Malloc(requestedBytes int64, stream uint32, pool PoolID) (BlockID, error) {
	if requestedBytes <= 0 || requestedBytes > maxBytes {
		return None, ErrSize
	}
	size := s.cfg.Round(requestedBytes)
	r := request{
		heap:    s.a.heapFor(pool, stream, size <= smallRequestBytes),
		size:    size,
		segment: s.cfg.SegmentSize(size),
		stream:  stream,
	}
	b := s.take(r.heap, size)
	if b == None {
		var rejected bool
		if b, rejected = s.climb(r); b == None {
			return None, s.outOfMemory(requestedBytes, r, rejected)
		}
	}
	s.a.handOut(b, size, requestedBytes)
	s.notePeaks()
	return b, nil
}

func (s *Simulator) notePeaks() {
	s.stats.PeakRequested = max(s.stats.PeakRequested, s.a.requested)
	s.stats.PeakAllocated = max(s.stats.PeakAllocated, s.a.allocated)
	s.stats.PeakActive = max(s.stats.PeakActive, s.a.active)
}

// take takes the best fit out of the free list of heap h, or returns None.
func (s *Simulator) take(h int32, size int64) BlockID {
	heap := s.a.heaps[h]
	if s.cfg.GCThreshold > 0 && s.collects(heap) {
		s.a.calls++
	}
	b, at := s.a.bestFit(heap, size)
	if b != None {
		heap.free.removeAt(at)
	}
	return b
}

// climb gets memory for a request that no free block serves: the steps are
// PyTorch's, in its order. It never looks at the free list again, though what it
// releases or waits for may leave a block there that would do: a request can fail
// and succeed when made again (pytorch#189504).
func (s *Simulator) climb(r request) (b BlockID, rejected bool) {
	if s.cfg.GCThreshold > 0 {
		s.collectGarbage()
	}
	if s.cfg.RejectOverLimit && s.overLimit(r.segment) {
		return None, true
	}
	if b = s.grow(r); b != None {
		return b, false
	}
	if !s.cfg.Behavior.LateFallback {
		if b = s.fallback(r); b != None {
			return b, false
		}
	}
	if s.releaseAvailable(r) {
		if b = s.grow(r); b != None {
			return b, false
		}
	}
	if !s.pools.capturing(s.cfg.Behavior) {
		s.releaseCached()
		s.stats.Retries++
		if b = s.grow(r); b != None {
			return b, false
		}
	}
	if s.cfg.Behavior.LateFallback {
		b = s.fallback(r)
	}
	return b, false
}

func (s *Simulator) overLimit(segment int64) bool {
	return s.cfg.LimitBytes > 0 && s.a.reserved+segment > s.cfg.LimitBytes
}

// grow gets a block for a request from the device, or None. With expandable
// segments too the limit is held against the size of a native segment, though
// less may be mapped.
func (s *Simulator) grow(r request) BlockID {
	if s.overLimit(r.segment) {
		return None
	}
	if s.a.heaps[r.heap].grows {
		return s.growExpandable(r)
	}
	addr, ok := s.dev.Malloc(r.segment)
	if !ok {
		return None
	}
	b := s.a.addSegment(r.heap, addr, r.segment)
	s.a.unlist(b)
	s.stats.DeviceAllocs++
	s.stats.PeakReserved = max(s.stats.PeakReserved, s.a.reserved)
	return b
}

func (s *Simulator) outOfMemory(requested int64, r request, rejected bool) error {
	if rejected {
		s.stats.Rejections++
	}
	s.stats.OOMs++
	return &OOMError{
		RequestedBytes: requested,
		RoundedBytes:   r.size,
		SegmentBytes:   r.segment,
		ReservedBytes:  s.a.reserved,
		FreeBytes:      s.dev.Free(),
		Rejected:       rejected,
	}
}

// FreeRequested tells that the program let go of block b, which other streams
// still use: it is pending until FreeCompleted.
func (s *Simulator) FreeRequested(b BlockID) error { return s.a.FreeRequested(b) }

// FreeCompleted makes block b free. If the Simulator had to wait for the streams
// since, and b is free already, that is no error.
func (s *Simulator) FreeCompleted(b BlockID) error {
	if b >= 0 && int(b) < len(s.a.blocks) && s.a.blocks[b].state == ended {
		s.a.killBlock(b)
		return nil
	}
	return s.a.FreeCompleted(b)
}

// Free frees a block that no other stream uses.
func (s *Simulator) Free(b BlockID) error {
	if err := s.a.FreeRequested(b); err != nil {
		return err
	}
	return s.a.FreeCompleted(b)
}

// Stats returns the counters.
func (s *Simulator) Stats() Stats {
	st := s.stats
	st.Requested, st.Allocated, st.Active, st.Reserved = s.a.Totals()
	return st
}

// Config returns the settings in force, with every size filled in.
func (s *Simulator) Config() Config { return s.cfg }

// Addr returns the address of live block b.
func (s *Simulator) Addr(b BlockID) uint64 { return s.a.Addr(b) }

// Size returns the bytes of live block b.
func (s *Simulator) Size(b BlockID) int64 { return s.a.Size(b) }

// At returns the live block at addr, or None.
func (s *Simulator) At(addr uint64) BlockID { return s.a.At(addr) }

// Segments returns the whole state, in the form that Load takes.
func (s *Simulator) Segments() []SegmentInfo { return s.a.Segments() }
