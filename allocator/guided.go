package allocator

// The calls in this file tell the Allocator what a recording shows of the
// driver, and where it put a block. What a recording says has happened: if it
// cannot have, given what is known, room is made for it and an error tells so.

// spaceBytes is the address space of a replayed expandable segment. A recording
// shows which parts of it are mapped, not where it begins and ends: it is taken
// to reach from 0 to beyond every address.
const spaceBytes = int64(maxAddr)

// SegmentAlloc adds a native segment: cudaMalloc returned addr. The next request
// of the same stream, pool and size class gets it without a search, as the
// allocator does it; any other request or free makes it ordinary free memory.
//
// ErrOverlap tells that another segment was there; it was dropped.
func (a *Allocator) SegmentAlloc(addr uint64, sizeBytes int64, stream uint32, pool PoolID) error {
	a.lost = a.lost[:0]
	if !validRange(addr, sizeBytes) {
		return ErrSize
	}
	err := a.clear(addr, sizeBytes)
	h := a.heapFor(pool, stream, sizeBytes <= smallSegmentBytes)
	a.grown = a.addSegment(h, addr, sizeBytes)
	return err
}

// addSegment makes a native segment of one free block.
func (a *Allocator) addSegment(h int32, addr uint64, size int64) BlockID {
	seg := a.newSegment(segment{addr: addr, size: size, heap: h})
	id := a.newBlock(block{addr: addr, size: size, prev: None, next: None, seg: seg, heap: h, state: free})
	a.segments[seg].first = id
	a.regions.insert(addr, uint64(size), seg)
	a.reserved += size
	a.indexAdd(id)
	a.list(id)
	return id
}

// SegmentFree takes away the native segment at addr: cudaFree. ErrOverlap tells
// that blocks in it were live; they are gone.
func (a *Allocator) SegmentFree(addr uint64) error {
	a.grown, a.lost = None, a.lost[:0]
	r := a.regions.floor(addr, ^uint64(0))
	if r.id < 0 || r.hi != addr || a.segments[r.id].expandable {
		return ErrOutside
	}
	return a.dropSegment(r.id)
}

// dropSegment removes a native segment with whatever is in it.
func (a *Allocator) dropSegment(seg int32) (err error) {
	for id := a.segments[seg].first; id != None; id = a.blocks[id].next {
		if a.blocks[id].live() {
			a.lose(id)
			err = ErrOverlap
		}
	}
	s := a.segments[seg]
	a.unlist(s.first)
	a.indexDrop(s.first)
	a.killBlock(s.first)
	a.regions.remove(s.addr, uint64(s.size))
	a.reserved -= s.size
	a.segments[seg].first = None
	a.deadSegs = append(a.deadSegs, seg)
	return err
}

// SegmentMap adds memory to an expandable segment. The next request of the same
// stream, pool and size class gets the free block that the range became part of.
//
// ErrOverlap tells that memory was there already; it was dropped.
func (a *Allocator) SegmentMap(addr uint64, sizeBytes int64, stream uint32, pool PoolID) error {
	a.lost = a.lost[:0]
	if !validRange(addr, sizeBytes) {
		return ErrSize
	}
	err := a.clear(addr, sizeBytes)
	// A small segment grows by one page at a time: a small request never needs two.
	h := a.heapFor(pool, stream, sizeBytes <= smallSegmentBytes)
	a.grown = a.mapRange(h, addr, sizeBytes)
	return err
}

// mapRange maps an unmapped range and returns the free block that holds it.
func (a *Allocator) mapRange(h int32, addr uint64, size int64) BlockID {
	hp := a.heaps[h]
	if hp.space < 0 {
		hp.space = a.addSpace(h, 0, spaceBytes)
	}
	return a.mapPart(BlockID(hp.unmapped.floor(addr, 0).id), addr, size)
}

// mapPart maps a part of unmapped block id and returns the free block that holds it.
func (a *Allocator) mapPart(id BlockID, addr uint64, size int64) BlockID {
	id = a.isolate(id, addr, size)
	a.regions.insert(addr, uint64(size), a.blocks[id].seg)
	a.reserved += size
	a.blocks[id].state = free
	a.indexAdd(id)
	a.merge(id)
	a.list(id)
	return id
}

// addSpace makes an expandable segment without memory.
func (a *Allocator) addSpace(h int32, addr uint64, size int64) int32 {
	seg := a.newSegment(segment{addr: addr, size: size, heap: h, expandable: true})
	id := a.newBlock(block{addr: addr, size: size, prev: None, next: None, seg: seg, heap: h, state: unmapped, expandable: true})
	a.segments[seg].first = id
	a.list(id)
	return seg
}

// isolate cuts the range out of block id, which is free or unmapped and holds
// it, and returns its block, in no set; what is before and behind stays listed.
func (a *Allocator) isolate(id BlockID, addr uint64, size int64) BlockID {
	id = a.cutFront(id, addr)
	if a.blocks[id].size > size {
		a.list(a.cutTail(id, size))
	}
	return id
}

// cutFront returns the block, in no set, of what block id has from addr on; what is
// before stays listed.
func (a *Allocator) cutFront(id BlockID, addr uint64) BlockID {
	a.unlist(id)
	front := int64(addr - a.blocks[id].addr)
	if front == 0 {
		return id
	}
	rest := a.cutTail(id, front)
	a.list(id)
	return rest
}

// SegmentUnmap takes memory away from an expandable segment. ErrOverlap tells
// that blocks in the range were live; they are gone.
func (a *Allocator) SegmentUnmap(addr uint64, sizeBytes int64) error {
	a.grown, a.lost = None, a.lost[:0]
	if !validRange(addr, sizeBytes) {
		return ErrSize
	}
	end, found := addr+uint64(sizeBytes), int64(0)
	var err error
	for {
		r := a.regions.floor(end-1, ^uint64(0))
		if r.id < 0 || r.hi+r.lo <= addr || !a.segments[r.id].expandable {
			break
		}
		from, to := max(addr, r.hi), min(end, r.hi+r.lo)
		if e := a.unmapPart(from, to); e != nil {
			err = e
		}
		found += int64(to - from)
	}
	if err == nil && found != sizeBytes {
		return ErrOutside
	}
	return err
}

// unmapPart unmaps [from, to), a part of a region, with whatever is in it.
func (a *Allocator) unmapPart(from, to uint64) (err error) {
	for at := from; at < to; {
		id := a.findBlock(at)
		if a.blocks[id].live() {
			a.lose(id)
			err = ErrOverlap
		}
		at = a.blocks[id].end()
	}
	a.unmapFree(a.findBlock(from), from, to)
	return err
}

// unmapFree unmaps [from, to), a part of free block id, and returns the unmapped
// block that holds it.
func (a *Allocator) unmapFree(id BlockID, from, to uint64) BlockID {
	a.cutRegions(from, to)
	id = a.isolate(id, from, int64(to-from))
	a.reserved -= int64(to - from)
	a.indexDrop(id)
	a.blocks[id].state = unmapped
	a.merge(id)
	a.list(id)
	return id
}

// cutRegions takes [from, to), which is mapped, out of the regions it is in.
func (a *Allocator) cutRegions(from, to uint64) {
	for {
		r := a.regions.floor(to-1, ^uint64(0))
		end := r.hi + r.lo
		if r.id < 0 || end <= from {
			return
		}
		a.regions.remove(r.hi, r.lo)
		if to < end {
			a.regions.insert(to, end-to, r.id)
		}
		if r.hi < from {
			a.regions.insert(r.hi, from-r.hi, r.id)
		}
	}
}

// LostBlock is a block whose memory went away while it was live.
type LostBlock struct {
	Block          BlockID // not in use any more
	RequestedBytes int64
}

// Lost returns the blocks that were live where the last of SegmentAlloc, SegmentFree,
// SegmentMap and SegmentUnmap took memory away, which its ErrOverlap tells of. The
// slice is good until the next such call.
func (a *Allocator) Lost() []LostBlock { return a.lost }

// lose frees live block id, whose memory goes away. It joins its neighbours, and has
// the id of the joined block.
func (a *Allocator) lose(id BlockID) {
	a.lost = append(a.lost, LostBlock{id, a.blocks[id].requested})
	_ = a.FreeCompleted(id)
}

// clear drops whatever is mapped in the range, and tells so by ErrOverlap.
func (a *Allocator) clear(addr uint64, size int64) error {
	end := addr + uint64(size)
	var err error
	for {
		r := a.regions.floor(end-1, ^uint64(0))
		if r.id < 0 || r.hi+r.lo <= addr {
			return err
		}
		err = ErrOverlap
		if a.segments[r.id].expandable {
			_ = a.unmapPart(max(addr, r.hi), min(end, r.hi+r.lo))
		} else {
			_ = a.dropSegment(r.id)
		}
	}
}

// Failed tells that a request ended in an out-of-memory error: what was got from
// the driver for it, if anything, is ordinary free memory.
func (a *Allocator) Failed() { a.grown = None }

// Owner returns the stream and the pool of the segment that holds addr.
func (a *Allocator) Owner(addr uint64) (stream uint32, pool PoolID, ok bool) {
	r := a.regions.floor(addr, ^uint64(0))
	if r.id < 0 || r.hi+r.lo <= addr {
		return 0, PoolID{}, false
	}
	h := a.heaps[a.segments[r.id].heap]
	return h.stream, h.pool, true
}

// Choice returns where a request would be put without asking the driver for memory,
// and false where nowhere. What was just got from the driver does not count.
func (a *Allocator) Choice(requestedBytes int64, stream uint32, pool PoolID) (addr uint64, ok bool) {
	if requestedBytes < 0 || requestedBytes > maxBytes {
		return 0, false
	}
	size := a.cfg.Round(requestedBytes)
	h := a.heaps[a.heapFor(pool, stream, size <= smallRequestBytes)]
	b, at := a.bestFit(h, size)
	if b != None && b == a.grown {
		b = BlockID(h.free.at(h.free.next(at)))
	}
	if b == None {
		return 0, false
	}
	return a.blocks[b].addr, true
}

// AllocAt serves a request that the recording placed at addr. It returns the
// block, and whether the allocator would have chosen that address itself. Where
// it would not, the block is cut out of the free memory at addr.
//
// The error is ErrOverlap where a live block is in the way, ErrOutside where no
// segment is known, ErrSize where the request cannot be true; no block then.
func (a *Allocator) AllocAt(addr uint64, requestedBytes int64, stream uint32, pool PoolID) (b BlockID, chosen bool, err error) {
	if requestedBytes < 0 || !validRange(addr, requestedBytes+1) {
		return None, false, ErrSize
	}
	size := a.cfg.Round(requestedBytes)
	h := a.heapFor(pool, stream, size <= smallRequestBytes)
	b, place := a.choose(h, size)
	if b != None && a.blocks[b].addr == addr {
		a.heaps[h].free.removeAt(place)
		a.handOut(b, size, requestedBytes)
		return b, true, nil
	}
	b, err = a.placeAt(addr, size, requestedBytes)
	return b, false, err
}

// placeAt cuts a block for a request out of the free block that holds addr.
func (a *Allocator) placeAt(addr uint64, size, requested int64) (BlockID, error) {
	id := a.findBlock(addr)
	switch {
	case id == None:
		return None, ErrOutside
	case a.blocks[id].live():
		return None, ErrOverlap
	}
	room := int64(a.blocks[id].end() - addr)
	if room < requested {
		return None, ErrOverlap
	}
	id = a.cutFront(id, addr)
	a.handOut(id, min(size, room), requested)
	return id, nil
}

func (a *Allocator) newSegment(s segment) int32 {
	if k := len(a.deadSegs); k > 0 {
		seg := a.deadSegs[k-1]
		a.deadSegs = a.deadSegs[:k-1]
		a.segments[seg] = s
		return seg
	}
	a.segments = append(a.segments, s)
	return int32(len(a.segments) - 1)
}

func validRange(addr uint64, size int64) bool {
	return addr > 0 && addr < maxAddr-uint64(maxBytes) && size > 0 && size <= maxBytes
}
