package lod

import (
	"cmp"
	"math/bits"
	"slices"
)

// smudges stand for the blocks that are shorter than 2^level events, in cells of that
// many events: programs allocate the same places with the same sizes again and again,
// and in a cell the blocks of one place and size are one smudge.
type smudges struct {
	level       int
	first       []uint32 // by cell: where its smudges begin; one more at the end
	place, size []uint32
	weight      []float32 // events that they were held within the cell, one after the other
	atMost      int       // in a cell, from where on they are blurred
}

const (
	// Below 2^10 events a bucket, a tile has so few blocks that they are drawn one by one.
	leastSmudgeLevel = 10
	smudgeSteps      = 2 // levels are 10, 12, 14 …

	// Cells are blurred where those of a tile may have more than this in all, so that they
	// are added up in time: 384 a cell where there are 512 of them. The largest recording at
	// hand has 180 in a cell of 4,096 events, of 700 blocks that are as short.
	tileSmudges = 384 * TileBuckets
)

// smudge is one of them while they are made.
type smudge struct {
	place, size uint32
	weight      float32
}

// key is what smudges that fall together have in common, in the order of places.
func (v smudge) key() uint64 { return uint64(v.place)<<32 | uint64(v.size) }

// newSmudges makes all levels that a whole recording can be seen with, with so many in
// a tile.
func newSmudges(m *Map, inTile int) (all []smudges) {
	length := make([]uint8, m.index.len()) // class of each block; 0 for none
	m.index.each(func(id uint32, b box) { length[id] = uint8(b.length()) })
	var below *smudges
	least := 0
	for level := leastSmudgeLevel; m.events>>level > 0; level += smudgeSteps {
		cells := (m.events-1)>>level + 1
		s := smudges{level: level, first: []uint32{0}, atMost: inTile / min(cells, TileBuckets)}
		s.fill(m, below, func(id uint32) bool { return int(length[id]) > least && int(length[id]) <= level })
		all = append(all, s)
		below, least = &all[len(all)-1], level
	}
	return all
}

// fill makes a level from the one below, and from the blocks that are not in it.
func (s *smudges) fill(m *Map, below *smudges, pick func(id uint32) bool) {
	var now, next []smudge // of the current cell, and what blocks have in the one after it
	id, width := uint32(0), 1<<s.level
	for begin := 0; begin < m.events; begin += width {
		end := begin + width
		for ; int(id) < m.index.len(); id++ {
			if !pick(id) {
				continue
			}
			b := m.index.box(id)
			if b.start >= end {
				break
			}
			now = append(now, smudge{uint32(b.place), uint32(b.size), float32(min(b.end, end) - b.start)})
			if b.end > end {
				next = append(next, smudge{uint32(b.place), uint32(b.size), float32(b.end - end)})
			}
		}
		now = below.append(now, begin, end)
		s.close(now)
		now, next = next, now[:0]
	}
	s.place, s.size, s.weight = slices.Clone(s.place), slices.Clone(s.size), slices.Clone(s.weight) // without what append keeps in reserve
}

// append adds the smudges of events [from, to) to list.
func (s *smudges) append(list []smudge, from, to int) []smudge {
	if s == nil {
		return list
	}
	cells := len(s.first) - 1
	first, last := s.first[min(from>>s.level, cells)], s.first[min((to-1)>>s.level+1, cells)]
	for i := first; i < last; i++ {
		list = append(list, smudge{s.place[i], s.size[i], s.weight[i]})
	}
	return list
}

// close ends a cell that has all of list.
func (s *smudges) close(list []smudge) {
	list = merge(list)
	if len(list) > s.atMost {
		for i := range list {
			list[i].blur()
		}
		list = merge(list)
	}
	for _, v := range list {
		s.place, s.size, s.weight = append(s.place, v.place), append(s.size, v.size), append(s.weight, v.weight)
	}
	s.first = append(s.first, uint32(len(s.place)))
}

// merge sorts list and makes one of those with the same place and size.
func merge(list []smudge) []smudge {
	slices.SortFunc(list, func(a, b smudge) int { return cmp.Compare(a.key(), b.key()) })
	merged := list[:0]
	for _, v := range list {
		if n := len(merged); n > 0 && merged[n-1].key() == v.key() {
			merged[n-1].weight += v.weight
		} else {
			merged = append(merged, v)
		}
	}
	return merged
}

// blur widens a smudge to multiples of its size's highest bit, so that others fall
// together with it: by less than its size on either side. What it holds in all stays.
// Three multiples or fewer are what a blurred smudge has, and are not blurred again at
// the levels above.
func (v *smudge) blur() {
	if grain := bits.TrailingZeros32(v.place | v.size); v.size>>grain <= 3 {
		return
	}
	quantum := uint64(1) << (bits.Len32(v.size) - 1)
	from := uint64(v.place) &^ (quantum - 1)
	to := (uint64(v.place) + uint64(v.size) + quantum - 1) &^ (quantum - 1)
	size := uint32(min(to-from, 1<<32-1))
	v.weight *= float32(v.size) / float32(size)
	v.place, v.size = uint32(from), size
}

// add adds to r what is in its view. A cell lies within one of r's.
func (s *smudges) add(r *raster) {
	width := 1 << s.level
	for cell := r.from >> s.level; cell < len(s.first)-1 && cell<<s.level < r.to; cell++ {
		for i := s.first[cell]; i < s.first[cell+1]; i++ {
			low := int64(s.place[i])
			if low >= r.high {
				break // they are in the order of their places
			}
			if high := low + int64(s.size[i]); high > r.low {
				r.addWeight(cell*width, low, high, float64(s.weight[i]))
			}
		}
	}
}
