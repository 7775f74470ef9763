package allocator

// growExpandable gets a block for a request by mapping pages: into a hole, or at
// the end of the segment, together with the free block before it. What was mapped
// stays mapped when a later part fails.
func (s *Simulator) growExpandable(r request) BlockID {
	a := s.a
	b := s.findRoom(r)
	if b == None {
		if b = s.reserve(r); b == None {
			return None
		}
	}
	if a.blocks[b].state == unmapped {
		if b = s.mapPages(b, min(a.blocks[b].size, r.size)); b == None {
			return None
		}
	}
	for a.blocks[b].size < r.size {
		next := a.blocks[b].next
		if next == None {
			return None // the request is larger than the address space of a segment
		}
		if b = s.mapPages(next, min(r.size-a.blocks[b].size, a.blocks[next].size)); b == None {
			return None
		}
	}
	a.unlist(b)
	return b
}

// findRoom returns the first block of a run of free and unmapped ones that is
// long enough for a request: the lowest such run.
func (s *Simulator) findRoom(r request) BlockID {
	a := s.a
	h := a.heaps[r.heap]
	for at := h.unmapped.ceil(0, 0); ; at = h.unmapped.next(at) {
		b := BlockID(h.unmapped.at(at))
		if b == None {
			return None
		}
		if p := a.blocks[b].prev; p != None && a.blocks[p].state == free {
			b = p
		}
		if a.hasRoom(b, r.size) {
			return b
		}
	}
}

func (a *Allocator) hasRoom(id BlockID, size int64) bool {
	room := int64(0)
	for ; id != None && room < size; id = a.blocks[id].next {
		if b := &a.blocks[id]; b.state != free && b.state != unmapped {
			return false
		}
		room += a.blocks[id].size
	}
	return room >= size
}

// reserve makes a new expandable segment without memory and returns its block.
func (s *Simulator) reserve(r request) BlockID {
	page := s.cfg.pageBytes(s.a.heaps[r.heap].small)
	size := s.reserveBytes(page)
	addr, ok := s.dev.Reserve(size)
	if !ok {
		return None
	}
	seg := s.a.addSpace(r.heap, addr, size)
	s.a.segments[seg].page = page
	return s.a.segments[seg].first
}

// reserveBytes is the address space of an expandable segment: room for all of the
// device's memory and an eighth, in whole pages.
func (s *Simulator) reserveBytes(page int64) int64 {
	size := s.dev.Total() + s.dev.Total()/8
	if n := s.cfg.ReserveBytes; n > 0 {
		size = min(size, n)
	}
	return (size + page - 1) / page * page
}

// mapPages maps whole pages at the front of unmapped block id, enough for size
// bytes, and returns the free block that they became part of, or None.
func (s *Simulator) mapPages(id BlockID, size int64) BlockID {
	b := s.a.blocks[id]
	page := s.a.segments[b.seg].page
	pages := (size + page - 1) / page
	n := min(pages*page, b.size)
	if !s.dev.Map(b.addr, n) {
		return None
	}
	s.stats.DeviceAllocs++
	s.stats.MappedPages += int(pages)
	id = s.a.mapPart(id, b.addr, n)
	s.stats.PeakReserved = max(s.stats.PeakReserved, s.a.reserved)
	return id
}

// unmapPages gives back the pages that lie wholly in free block id, and the
// segment when nothing of it is mapped any more.
func (s *Simulator) unmapPages(id BlockID) {
	b := s.a.blocks[id]
	seg := s.a.segments[b.seg]
	page := uint64(seg.page)
	from := seg.addr + (b.addr-seg.addr+page-1)/page*page
	to := seg.addr + (b.end()-seg.addr)/page*page
	if from >= to {
		return
	}
	s.dev.Unmap(from, int64(to-from))
	s.stats.DeviceFrees++
	s.stats.UnmappedPages += int((to - from) / page)
	id = s.a.unmapFree(id, from, to)
	if k := &s.a.blocks[id]; k.prev == None && k.next == None {
		s.a.dropSpace(id)
		s.dev.Unreserve(seg.addr, seg.size)
	}
}

// dropSpace removes an expandable segment that is one unmapped block.
func (a *Allocator) dropSpace(id BlockID) {
	b := a.blocks[id]
	a.unlist(id)
	a.killBlock(id)
	a.segments[b.seg].first = None
	a.deadSegs = append(a.deadSegs, b.seg)
	if h := a.heaps[b.heap]; h.space == b.seg {
		h.space = -1
	}
}
