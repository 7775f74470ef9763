package allocator

import (
	"cmp"
	"fmt"
	"slices"
)

// BlockState is what a block's memory is used for.
type BlockState uint8

// States of a block.
const (
	Free        BlockState = iota // cached
	Allocated                     // handed out
	PendingFree                   // freed, still in use on another stream
)

// BlockInfo is a block of a SegmentInfo.
type BlockInfo struct {
	Addr           uint64
	SizeBytes      int64
	RequestedBytes int64
	State          BlockState
}

// SegmentInfo is memory from the driver and what is in it. Of an expandable
// segment it is one range of mapped pages.
type SegmentInfo struct {
	Addr       uint64
	SizeBytes  int64
	Stream     uint32
	Pool       PoolID
	Small      bool // of the pool for requests of at most 1 MiB
	Expandable bool
	Blocks     []BlockInfo // ascending by address
}

// Load adds segments that are there at the start, with their live blocks. Free
// blocks need not be given, for all that is not live is free.
//
// An error names the first segment or block that cannot be; what came before it
// is loaded.
func (a *Allocator) Load(segments []SegmentInfo) error {
	for i := range segments {
		if err := a.loadSegment(&segments[i]); err != nil {
			return fmt.Errorf("segment %d at %#x: %w", i, segments[i].Addr, err)
		}
	}
	return nil
}

func (a *Allocator) loadSegment(s *SegmentInfo) error {
	if !validRange(s.Addr, s.SizeBytes) {
		return ErrSize
	}
	if r := a.regions.floor(s.Addr+uint64(s.SizeBytes)-1, ^uint64(0)); r.id >= 0 && r.hi+r.lo > s.Addr {
		return ErrOverlap
	}
	h := a.heapFor(s.Pool, s.Stream, s.Small)
	var rest BlockID
	if s.Expandable {
		rest = a.mapRange(h, s.Addr, s.SizeBytes)
	} else {
		rest = a.addSegment(h, s.Addr, s.SizeBytes)
	}
	for i := range s.Blocks {
		var err error
		if rest, err = a.loadBlock(rest, s, &s.Blocks[i]); err != nil {
			return fmt.Errorf("block %d at %#x: %w", i, s.Blocks[i].Addr, err)
		}
	}
	return nil
}

// loadBlock cuts a live block out of rest, the free block that ends the segment,
// and returns what is left behind it, or None.
func (a *Allocator) loadBlock(rest BlockID, s *SegmentInfo, b *BlockInfo) (BlockID, error) {
	end := s.Addr + uint64(s.SizeBytes)
	switch {
	case b.State == Free:
		return rest, nil
	case !validRange(b.Addr, b.SizeBytes) || b.RequestedBytes < 0 || b.RequestedBytes > b.SizeBytes:
		return rest, ErrSize
	case b.Addr < s.Addr || b.Addr+uint64(b.SizeBytes) > end:
		return rest, ErrOutside
	case rest == None || b.Addr < a.blocks[rest].addr:
		return rest, ErrOverlap
	}
	id := a.isolate(rest, b.Addr, b.SizeBytes)
	rest = a.blocks[id].next
	if b.Addr+uint64(b.SizeBytes) == end {
		rest = None
	}
	a.setLive(id, b.RequestedBytes)
	if b.State == PendingFree {
		_ = a.FreeRequested(id)
	}
	return rest, nil
}

// Segments returns the whole state, in order of address, in the form that Load
// takes. Of an expandable segment, each range of mapped pages is one.
func (a *Allocator) Segments() []SegmentInfo {
	var out []SegmentInfo
	for i := range a.segments {
		if a.segments[i].first != None {
			out = a.appendSegment(out, &a.segments[i])
		}
	}
	slices.SortFunc(out, func(x, y SegmentInfo) int { return cmp.Compare(x.Addr, y.Addr) })
	return out
}

// appendSegment adds the mapped ranges of segment s.
func (a *Allocator) appendSegment(out []SegmentInfo, s *segment) []SegmentInfo {
	h := a.heaps[s.heap]
	open := false // the last range of out goes on
	for id := s.first; id != None; id = a.blocks[id].next {
		b := &a.blocks[id]
		if b.state == unmapped {
			open = false
			continue
		}
		if !open {
			out = append(out, SegmentInfo{Addr: b.addr, Stream: h.stream, Pool: h.pool, Small: h.small, Expandable: s.expandable})
			open = true
		}
		last := &out[len(out)-1]
		last.SizeBytes += b.size
		last.Blocks = append(last.Blocks, BlockInfo{b.addr, b.size, b.requested, blockStates[b.state]})
	}
	return out
}

var blockStates = [...]BlockState{free: Free, allocated: Allocated, pending: PendingFree}

// Load adds segments that are there at the start. An expandable segment is taken
// to begin at its lowest mapped address: a recording does not tell where it
// really begins.
func (s *Simulator) Load(segments []SegmentInfo) error {
	spaces := map[heapKey]*span{}
	for i := range segments {
		if g := &segments[i]; !validRange(g.Addr, g.SizeBytes) {
			return fmt.Errorf("segment %d at %#x: %w", i, g.Addr, ErrSize)
		} else if g.Expandable {
			spaces[g.key()] = spaces[g.key()].add(g)
		}
	}
	for i := range segments {
		g := &segments[i]
		if !g.Expandable {
			s.dev.Claim(g.Addr, g.SizeBytes, g.SizeBytes)
		} else if v := spaces[g.key()]; s.a.heaps[s.a.heapFor(g.Pool, g.Stream, g.Small)].space < 0 {
			s.loadSpace(g, v)
		}
	}
	err := s.a.Load(segments)
	s.notePeaks()
	s.stats.PeakReserved = max(s.stats.PeakReserved, s.a.reserved)
	return err
}

func (g *SegmentInfo) key() heapKey { return heapKey{g.Pool, g.Stream, g.Small} }

// span is what is known of an expandable segment from its mapped ranges.
type span struct {
	low, high uint64
	mapped    int64
	pages     uint64 // divides the size of every range
}

func (v *span) add(g *SegmentInfo) *span {
	if v == nil {
		v = &span{low: g.Addr}
	}
	v.low = min(v.low, g.Addr)
	v.high = max(v.high, g.Addr+uint64(g.SizeBytes))
	v.mapped += g.SizeBytes
	v.pages = gcd(v.pages, uint64(g.SizeBytes))
	return v
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// loadSpace reserves the addresses of an expandable segment. Its pages are those
// of the settings in force unless the ranges, mapped under others, do not fit.
func (s *Simulator) loadSpace(g *SegmentInfo, v *span) {
	page := s.cfg.pageBytes(g.Small)
	if v.pages%uint64(page) != 0 {
		page = smallSegmentBytes
	}
	size := max(s.reserveBytes(page), int64(v.high-v.low))
	h := s.a.heapFor(g.Pool, g.Stream, g.Small)
	seg := s.a.addSpace(h, v.low, size)
	s.a.segments[seg].page = page
	s.a.heaps[h].space = seg
	s.dev.Claim(v.low, v.mapped, size)
}
