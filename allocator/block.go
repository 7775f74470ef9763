package allocator

// BlockID names a block of an Allocator. It stays the same while the block is
// live, and is used again afterwards.
type BlockID int32

// None is no block.
const None BlockID = -1

// state is what a block's memory is used for.
type state uint8

const (
	dead      state = iota // the id is not in use
	free                   // cached: in the free list of its heap
	allocated              // handed out
	pending                // freed by the program, still in use on another stream
	unmapped               // address space of an expandable segment without memory
	ended                  // freed by a Simulator before its owner knows; the id is kept for it
)

// block is a part of a segment. The blocks of a segment tile it, each linked to
// those beside it.
type block struct {
	addr       uint64
	size       int64
	requested  int64
	prev, next BlockID
	seg        int32
	heap       int32
	age        uint32 // Allocator.calls when it became free
	state      state
	expandable bool
}

func (b *block) end() uint64 { return b.addr + uint64(b.size) }

func (b *block) live() bool { return b.state == allocated || b.state == pending }

// segment is memory from the driver: a native one is as large as what was asked
// for, an expandable one is a range of addresses, mapped in parts.
type segment struct {
	addr       uint64
	size       int64
	heap       int32
	first      BlockID // None: the segment is gone
	page       int64   // of an expandable segment that a Simulator grows
	expandable bool
}

// newBlock returns the id of a fresh block. Pointers into a.blocks are stale
// after it.
func (a *Allocator) newBlock(b block) BlockID {
	if k := len(a.deadBlocks); k > 0 {
		id := a.deadBlocks[k-1]
		a.deadBlocks = a.deadBlocks[:k-1]
		a.blocks[id] = b
		return id
	}
	a.blocks = append(a.blocks, b)
	return BlockID(len(a.blocks) - 1)
}

func (a *Allocator) killBlock(id BlockID) {
	a.blocks[id].state = dead
	a.deadBlocks = append(a.deadBlocks, id)
}

// list puts a free or unmapped block into the set of its heap.
func (a *Allocator) list(id BlockID) {
	b := &a.blocks[id]
	h := a.heaps[b.heap]
	if b.state == unmapped {
		h.unmapped.insert(b.addr, 0, int32(id))
		return
	}
	b.age = a.calls
	h.free.insert(uint64(b.size), b.addr, int32(id))
}

// unlist takes a free or unmapped block out of the set of its heap.
func (a *Allocator) unlist(id BlockID) {
	b := &a.blocks[id]
	h := a.heaps[b.heap]
	if b.state == unmapped {
		h.unmapped.remove(b.addr, 0)
		return
	}
	h.free.remove(uint64(b.size), b.addr)
}

// cutTail shortens block id to size bytes and returns a new block, in the same
// state and in no set, for what is behind.
func (a *Allocator) cutTail(id BlockID, size int64) BlockID {
	b := a.blocks[id]
	tail := b
	tail.addr += uint64(size)
	tail.size -= size
	tail.requested = 0
	tail.prev = id
	t := a.newBlock(tail)
	a.blocks[id].size = size
	a.blocks[id].next = t
	if b.next != None {
		a.blocks[b.next].prev = t
	}
	a.indexAdd(t)
	return t
}

// merge joins block id, which is in no set, with its neighbours in the same
// state. The block keeps its id.
func (a *Allocator) merge(id BlockID) {
	b := &a.blocks[id]
	if p := b.prev; p != None && a.blocks[p].state == b.state {
		a.absorbPrev(id, p)
	}
	if n := b.next; n != None && a.blocks[n].state == b.state {
		a.absorbNext(id, n)
	}
}

func (a *Allocator) absorbPrev(id, p BlockID) {
	b, o := &a.blocks[id], &a.blocks[p]
	a.unlist(p)
	a.indexDrop(p)
	a.indexDrop(id)
	b.addr = o.addr
	b.size += o.size
	b.prev = o.prev
	if b.prev != None {
		a.blocks[b.prev].next = id
	} else {
		a.segments[b.seg].first = id
	}
	if a.grown == p {
		a.grown = id
	}
	a.killBlock(p)
	a.indexAdd(id)
}

func (a *Allocator) absorbNext(id, n BlockID) {
	b, o := &a.blocks[id], &a.blocks[n]
	a.unlist(n)
	a.indexDrop(n)
	b.size += o.size
	b.next = o.next
	if b.next != None {
		a.blocks[b.next].prev = id
	}
	if a.grown == n {
		a.grown = id
	}
	a.killBlock(n)
}

// indexAdd and indexDrop keep the index of mapped blocks by address, if there
// is one. See findBlock.
func (a *Allocator) indexAdd(id BlockID) {
	if a.indexed {
		if b := &a.blocks[id]; b.state != unmapped {
			a.index.insert(b.addr, 0, int32(id))
		}
	}
}

func (a *Allocator) indexDrop(id BlockID) {
	if a.indexed {
		if b := &a.blocks[id]; b.state != unmapped {
			a.index.remove(b.addr, 0)
		}
	}
}

// findBlock returns the mapped block that holds addr, or None. The first call
// builds an index of all blocks, which then costs a little with every split and
// merge: a replay that never differs from its recording does without.
func (a *Allocator) findBlock(addr uint64) BlockID {
	if !a.indexed {
		a.buildIndex()
	}
	e := a.index.floor(addr, 0)
	if e.id < 0 || a.blocks[e.id].end() <= addr {
		return None
	}
	return BlockID(e.id)
}

func (a *Allocator) buildIndex() {
	var all []entry
	for id := range a.blocks {
		if b := &a.blocks[id]; b.state != dead && b.state != unmapped {
			all = append(all, entry{b.addr, 0, int32(id)})
		}
	}
	a.index.build(all)
	a.indexed = true
}
