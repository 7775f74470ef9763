package timeline

import (
	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/snapshot"
)

// hostPlacer is the allocator of pinned host memory: a block is a whole segment,
// and the recording says where each is. It chooses nothing.
type hostPlacer struct {
	mapped ranges
	blocks map[uint64]int32 // live ones, by address
	rows   []hostBlock      // by block
	dead   []int32
	gone   []allocator.LostBlock
}

type hostBlock struct {
	addr           uint64
	requestedBytes int64
	pending        bool
}

// The largest size and address that are taken for real, as package allocator has it.
const (
	maxSizeBytes = int64(1) << 46
	maxAddr      = uint64(1) << 62
)

// possible tells whether a range of memory can be what a recording says.
func possible(addr uint64, sizeBytes int64) bool {
	return addr > 0 && addr < maxAddr-uint64(maxSizeBytes) && sizeBytes > 0 && sizeBytes <= maxSizeBytes
}

func (p *hostPlacer) load(g Segment, blocks []startBlock) error {
	if !possible(g.Addr, g.SizeBytes) {
		return allocator.ErrSize
	}
	p.mapped.add(g.Addr, g.Addr+uint64(g.SizeBytes), 0)
	for _, b := range blocks {
		p.rows[p.add(b.addr, b.requestedBytes)].pending = b.pending
	}
	return nil
}

func (p *hostPlacer) add(addr uint64, requestedBytes int64) int32 {
	id := int32(len(p.rows))
	if k := len(p.dead); k > 0 {
		id, p.dead = p.dead[k-1], p.dead[:k-1]
	} else {
		p.rows = append(p.rows, hostBlock{})
	}
	p.rows[id] = hostBlock{addr: addr, requestedBytes: requestedBytes}
	p.blocks[addr] = id
	return id
}

func (p *hostPlacer) grow(_ snapshot.Action, addr uint64, sizeBytes int64, _ snapshot.StreamID, _ snapshot.PoolID) error {
	p.gone = p.gone[:0]
	if !possible(addr, sizeBytes) {
		return allocator.ErrSize
	}
	var err error
	for _, g := range p.mapped.over(addr, addr+uint64(sizeBytes)) {
		p.drop(g)
		err = allocator.ErrOverlap
	}
	p.mapped.add(addr, addr+uint64(sizeBytes), 0)
	return err
}

func (p *hostPlacer) shrink(_ snapshot.Action, addr uint64, _ int64) error {
	p.gone = p.gone[:0]
	g, ok := p.mapped.find(addr)
	if !ok || g.from != addr {
		return allocator.ErrOutside
	}
	if p.drop(g); len(p.gone) > 0 {
		return allocator.ErrOverlap
	}
	return nil
}

// drop takes a segment away, with the block in it.
func (p *hostPlacer) drop(g mapped) {
	p.mapped.cut(g.from, g.to)
	if id, ok := p.blocks[g.from]; ok {
		p.gone = append(p.gone, allocator.LostBlock{Block: allocator.BlockID(id), RequestedBytes: p.freeCompleted(id)})
	}
}

func (p *hostPlacer) alloc(addr uint64, requestedBytes int64, _ snapshot.StreamID, _ snapshot.PoolID) (int32, int64, bool, error) {
	g, ok := p.mapped.find(addr)
	switch {
	case !ok || g.from != addr:
		return -1, 0, false, allocator.ErrOutside
	case requestedBytes < 0 || requestedBytes > int64(g.to-addr):
		return -1, 0, false, allocator.ErrSize
	case p.at(addr) >= 0:
		return -1, 0, false, allocator.ErrOverlap
	}
	return p.add(addr, requestedBytes), int64(g.to - addr), false, nil
}

func (p *hostPlacer) choice(int64, snapshot.StreamID, snapshot.PoolID) (uint64, bool) {
	return 0, false
}

func (p *hostPlacer) poolAt(uint64) snapshot.PoolID { return snapshot.PoolID{} }

func (p *hostPlacer) at(addr uint64) int32 {
	if id, ok := p.blocks[addr]; ok {
		return id
	}
	return -1
}

func (p *hostPlacer) freeRequested(id int32) error {
	if p.rows[id].pending {
		return allocator.ErrNotLive
	}
	p.rows[id].pending = true
	return nil
}

func (p *hostPlacer) freeCompleted(id int32) int64 {
	delete(p.blocks, p.rows[id].addr)
	p.dead = append(p.dead, id)
	return p.rows[id].requestedBytes
}

func (p *hostPlacer) lost() []allocator.LostBlock { return p.gone }

func (p *hostPlacer) failed() {}
