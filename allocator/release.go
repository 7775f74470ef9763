package allocator

// collects tells whether garbage collection looks at a heap: those of the large
// default pool.
func (s *Simulator) collects(h *heap) bool { return !h.small && h.pool == PoolID{} }

// idle is a free block that is a whole segment, and how many searches ago it
// became free.
type idle struct {
	id  BlockID
	age uint64
}

// collectGarbage frees segments that were not used for longer than the average,
// until reserved memory is below the threshold. A pass frees all such segments,
// even when fewer would do.
func (s *Simulator) collectGarbage() {
	threshold := int64(s.cfg.GCThreshold * float64(s.cfg.LimitBytes))
	target := s.a.reserved - threshold
	if target <= 0 {
		return
	}
	left, total := s.idleSegments()
	freed := int64(0)
	for freed < target && len(left) > 0 {
		average := float64(total) / float64(len(left))
		kept := left[:0]
		for _, v := range left {
			if b := &s.a.blocks[v.id]; b.expandable || float64(v.age) < average {
				kept = append(kept, v)
				continue
			}
			freed += s.a.blocks[v.id].size
			total -= v.age
			s.freeSegment(v.id)
		}
		if len(kept) == len(left) {
			return
		}
		left = kept
	}
}

func (s *Simulator) idleSegments() (all []idle, totalAge uint64) {
	for _, h := range s.a.heaps {
		if !s.collects(h) {
			continue
		}
		h.free.all(func(id int32) {
			if b := &s.a.blocks[id]; b.prev == None && b.next == None {
				v := idle{BlockID(id), uint64(s.a.calls - b.age)}
				all = append(all, v)
				totalAge += v.age
			}
		})
	}
	return all, totalAge
}

// freeSegment gives a native segment that is one free block back to the device.
func (s *Simulator) freeSegment(id BlockID) {
	b := s.a.blocks[id]
	_ = s.a.dropSegment(b.seg) // nothing in it is live
	s.dev.Release(b.addr, b.size)
	s.stats.DeviceFrees++
}

// releaseAvailable frees blocks of at least max_split_size, the smallest that is
// large enough for the request, or several that are not, the largest first. It
// tells whether they add up to the request; what was freed stays freed.
func (s *Simulator) releaseAvailable(r request) bool {
	maxSplit := s.cfg.MaxSplitBytes
	if maxSplit >= unlimited {
		return false
	}
	need := max(r.size, maxSplit)
	free := &s.a.heaps[r.heap].free
	if id := BlockID(free.at(free.ceil(uint64(need), 0))); id != None && !s.a.blocks[id].expandable {
		return s.releaseOversize(id)
	}
	released := int64(0)
	below := entry{hi: uint64(need)}
	for released < need {
		e := free.floor(below.hi, below.lo)
		if e.id < 0 || int64(e.hi) < maxSplit {
			break
		}
		if id := BlockID(e.id); !s.a.blocks[id].expandable && s.releaseOversize(id) {
			released += int64(e.hi)
		}
		below = before(e)
	}
	return released >= need
}

// releaseOversize frees a segment for releaseAvailable. Where max_split_size was
// lowered since, such a block may be a part of a segment: PyTorch would hand an
// address inside of it to cudaFree, which cannot be simulated, and it is left alone.
func (s *Simulator) releaseOversize(id BlockID) bool {
	if b := &s.a.blocks[id]; b.prev != None || b.next != None {
		return false
	}
	s.freeSegment(id)
	return true
}

// before returns the largest key below that of e.
func before(e entry) entry {
	if e.lo > 0 {
		return entry{hi: e.hi, lo: e.lo - 1}
	}
	return entry{hi: e.hi - 1, lo: ^uint64(0)}
}

// EmptyCache is torch.cuda.empty_cache().
func (s *Simulator) EmptyCache() { s.releaseCached() }

// releaseCached waits for pending frees and gives every segment and page that is
// wholly free back to the device: of the default pool, and of private pools that
// nobody uses any more.
func (s *Simulator) releaseCached() {
	if s.cfg.Behavior.ReleaseActivePoolOnly && s.pools.inMemPool() {
		return // a pool in use is not released either
	}
	s.completePending()
	s.releasePool(PoolID{})
	for _, p := range s.pools.all {
		if p.retained && p.users == 0 {
			s.releasePool(p.id)
		}
	}
}

// releasePool gives back what is free in one pool: the large heaps first.
func (s *Simulator) releasePool(pool PoolID) {
	for _, small := range []bool{false, true} {
		for _, h := range s.a.heaps {
			if h.pool == pool && h.small == small {
				s.releaseHeap(h)
			}
		}
	}
}

func (s *Simulator) releaseHeap(h *heap) {
	var native, expandable []BlockID
	h.free.all(func(id int32) {
		switch b := &s.a.blocks[id]; {
		case b.expandable:
			expandable = append(expandable, BlockID(id))
		case b.prev == None && b.next == None:
			native = append(native, BlockID(id))
		}
	})
	for _, id := range native {
		s.freeSegment(id)
	}
	for _, id := range expandable {
		s.unmapPages(id)
	}
}

// completePending completes every pending free: the allocator waits for the
// streams. The owner of a block may not know yet, so that its id stays taken until
// FreeCompleted, and the memory goes on under another.
func (s *Simulator) completePending() {
	s.stats.Syncs++
	a := s.a
	for i, n := 0, len(a.blocks); i < n; i++ {
		if a.blocks[i].state == pending {
			a.rename(BlockID(i))
		}
	}
}

// rename completes the free of pending block id under a new id and marks the old
// one as ended.
func (a *Allocator) rename(id BlockID) {
	b := a.blocks[id]
	a.live.remove(b.addr)
	a.indexDrop(id)
	n := a.newBlock(b)
	a.blocks[id].state = ended
	if b.prev != None {
		a.blocks[b.prev].next = n
	} else {
		a.segments[b.seg].first = n
	}
	if b.next != None {
		a.blocks[b.next].prev = n
	}
	a.live.put(b.addr, n)
	a.indexAdd(n)
	_ = a.FreeCompleted(n)
}
