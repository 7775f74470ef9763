package timeline

import (
	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/snapshot"
)

// placer decides which block a request gets. Blocks are named by small integers,
// used again after a free.
type placer interface {
	load(g Segment, blocks []startBlock) error
	grow(a snapshot.Action, addr uint64, sizeBytes int64, stream snapshot.StreamID, pool snapshot.PoolID) error
	shrink(a snapshot.Action, addr uint64, sizeBytes int64) error
	// alloc serves a request that the recording placed at addr, and tells whether
	// the allocator would have chosen that address itself.
	alloc(addr uint64, requestedBytes int64, stream snapshot.StreamID, pool snapshot.PoolID) (id int32, sizeBytes int64, chosen bool, err error)
	// choice tells where a request would be put that is served from what was free
	// before the last growth.
	choice(requestedBytes int64, stream snapshot.StreamID, pool snapshot.PoolID) (addr uint64, ok bool)
	poolAt(addr uint64) snapshot.PoolID
	at(addr uint64) int32 // the live block at addr, or -1
	freeRequested(id int32) error
	freeCompleted(id int32) (requestedBytes int64) // of a live block
	lost() []allocator.LostBlock                   // whose memory the last call of grow or shrink took
	failed()                                       // the last request ended in an out-of-memory error
}

func newPlacer(t *Timeline) placer {
	if t.Dev.Kind == snapshot.Host {
		return &hostPlacer{blocks: make(map[uint64]int32)}
	}
	return gpuPlacer{allocator.New(t.Config)}
}

// gpuPlacer is the caching allocator of devices.
type gpuPlacer struct{ a *allocator.Allocator }

func (p gpuPlacer) load(g Segment, blocks []startBlock) error {
	info := allocator.SegmentInfo{
		Addr: g.Addr, SizeBytes: g.SizeBytes, Stream: uint32(g.Stream), Pool: allocator.PoolID(g.Pool),
		Small: g.Small, Expandable: g.Expandable, Blocks: make([]allocator.BlockInfo, 0, len(blocks)),
	}
	for _, b := range blocks {
		state := allocator.Allocated
		if b.pending {
			state = allocator.PendingFree
		}
		info.Blocks = append(info.Blocks, allocator.BlockInfo{Addr: b.addr, SizeBytes: b.sizeBytes, RequestedBytes: min(b.requestedBytes, b.sizeBytes), State: state})
	}
	return p.a.Load([]allocator.SegmentInfo{info})
}

func (p gpuPlacer) grow(a snapshot.Action, addr uint64, sizeBytes int64, stream snapshot.StreamID, pool snapshot.PoolID) error {
	if a == snapshot.SegmentMap {
		return p.a.SegmentMap(addr, sizeBytes, uint32(stream), allocator.PoolID(pool))
	}
	return p.a.SegmentAlloc(addr, sizeBytes, uint32(stream), allocator.PoolID(pool))
}

func (p gpuPlacer) shrink(a snapshot.Action, addr uint64, sizeBytes int64) error {
	if a == snapshot.SegmentUnmap {
		return p.a.SegmentUnmap(addr, sizeBytes)
	}
	return p.a.SegmentFree(addr)
}

func (p gpuPlacer) alloc(addr uint64, requestedBytes int64, stream snapshot.StreamID, pool snapshot.PoolID) (int32, int64, bool, error) {
	b, chosen, err := p.a.AllocAt(addr, requestedBytes, uint32(stream), allocator.PoolID(pool))
	if err != nil {
		return -1, 0, false, err
	}
	return int32(b), p.a.Size(b), chosen, nil
}

func (p gpuPlacer) choice(requestedBytes int64, stream snapshot.StreamID, pool snapshot.PoolID) (uint64, bool) {
	return p.a.Choice(requestedBytes, uint32(stream), allocator.PoolID(pool))
}

func (p gpuPlacer) poolAt(addr uint64) snapshot.PoolID {
	_, pool, _ := p.a.Owner(addr)
	return snapshot.PoolID(pool)
}

func (p gpuPlacer) at(addr uint64) int32         { return int32(p.a.At(addr)) }
func (p gpuPlacer) freeRequested(id int32) error { return p.a.FreeRequested(allocator.BlockID(id)) }

func (p gpuPlacer) freeCompleted(id int32) int64 {
	n := p.a.Requested(allocator.BlockID(id))
	_ = p.a.FreeCompleted(allocator.BlockID(id)) // at has found it live
	return n
}

func (p gpuPlacer) lost() []allocator.LostBlock { return p.a.Lost() }

func (p gpuPlacer) failed() { p.a.Failed() }
