package tune

import (
	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// start is memory before the first event of a recording that begins in the middle of
// a run. It can be taken over in two ways: as it lies (Warm), which keeps what the
// recording's own settings made of it, or placed anew (Cold), live blocks only, in
// order of address, which keeps nothing of what would have been cached. What a run
// under other settings would have had there lies between.
type start struct {
	segments []allocator.SegmentInfo
	blocks   []startBlock
}

type startBlock struct {
	request request
	addr    uint64
	slot    uint32
	pending bool
}

// startState takes the state before the first event.
func (c *compiler) startState() {
	if c.tl.Replay.FromCold || c.tl.Start.Reserved == 0 {
		return
	}
	s := &c.p.start
	for _, g := range c.tl.StateAt(-1).Segments {
		info := allocator.SegmentInfo{
			Addr: g.Addr, SizeBytes: g.SizeBytes, Stream: uint32(g.Stream), Pool: allocator.PoolID(g.Pool),
			Small: g.Small, Expandable: g.Expandable,
		}
		for _, v := range g.Spans {
			if v.State == snapshot.Inactive {
				continue
			}
			info.Blocks = append(info.Blocks, c.startBlock(&info, v))
		}
		if info.Pool != (allocator.PoolID{}) {
			c.inUse[info.Pool] = true
		}
		s.segments = append(s.segments, info)
	}
}

func (c *compiler) startBlock(g *allocator.SegmentInfo, v timeline.Span) allocator.BlockInfo {
	b := c.tl.Block(v.Block)
	requested := min(max(b.RequestedBytes, 1), v.SizeBytes)
	pending := v.State == snapshot.PendingFree
	c.p.start.blocks = append(c.p.start.blocks, startBlock{
		request: request{requested, g.Stream, g.Pool},
		addr:    v.Addr,
		slot:    c.take(v.Block),
		pending: pending,
	})
	info := allocator.BlockInfo{Addr: v.Addr, SizeBytes: v.SizeBytes, RequestedBytes: requested, State: allocator.Allocated}
	if pending {
		info.State = allocator.PendingFree
	}
	return info
}

// load puts the start in place as it lies.
func (s *start) load(sim *allocator.Simulator, blocks []allocator.BlockID) error {
	if err := sim.Load(s.segments); err != nil {
		return err
	}
	for _, b := range s.blocks {
		blocks[b.slot] = sim.At(b.addr)
	}
	return nil
}

// place requests the live blocks of the start anew.
func (s *start) place(sim *allocator.Simulator, blocks []allocator.BlockID) error {
	for _, b := range s.blocks {
		id, err := sim.Malloc(b.request.bytes, b.request.stream, b.request.pool)
		if err != nil {
			return err
		}
		blocks[b.slot] = id
		if b.pending {
			_ = sim.FreeRequested(id) // it was handed out just now
		}
	}
	return nil
}
