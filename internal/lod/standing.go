package lod

import (
	"cmp"
	"slices"
	"sort"

	"github.com/ullage-dev/ullage/internal/column"
)

// standing is what blocks that are long and thin hold, by row of places, at every
// 2^level-th event. Most of those that a view sees stand in all of it, as what a run has leaked before:
// a view takes them as the sums of the moment before it, and looks at blocks one by one only
// where they begin or end between that moment and its own end. Long is longClass and above.
// Thin is less than a row high: so it is that no view whose buckets are as high as a row has
// a rectangle for any of them. Of the others there are few at a time, since blocks that are
// held do not overlap.
type standing struct {
	index  *boxIndex
	level  int
	bits   int           // rows are 2^bits units high
	held   column.Column // units: standingRows for each moment
	starts []uint32      // its blocks, as places in index.long, by their starts
	ends   []uint32      // those that end within the recording, by their ends
}

const (
	// A run that leaks a block of every step has 300 that begin between two moments. They are
	// this far apart so that the sums take 0.2 bytes an event.
	standingLevel = 16

	// A view that is lower than a row sees a 16th of the map at most.
	standingRows = 8192
)

// newStanding returns nil where there is no such block.
func newStanding(m *Map, level int) *standing {
	s := &standing{index: m.index, level: level}
	for (m.units-1)>>s.bits >= standingRows {
		s.bits++
	}
	for k, b := range s.index.long {
		if classOf(int64(b.size)) <= s.bits {
			s.starts = append(s.starts, uint32(k))
			if int(b.end) < m.events {
				s.ends = append(s.ends, uint32(k))
			}
		}
	}
	if len(s.starts) == 0 {
		return nil
	}
	s.starts, s.ends = slices.Clone(s.starts), slices.Clone(s.ends) // without what append keeps in reserve
	slices.SortFunc(s.starts, func(a, b uint32) int { return cmp.Compare(s.startOf(a), s.startOf(b)) })
	slices.SortFunc(s.ends, func(a, b uint32) int { return cmp.Compare(s.endOf(a), s.endOf(b)) })
	s.sum(m.events)
	return s
}

func (s *standing) startOf(k uint32) int { return int(s.index.long[k].start) }
func (s *standing) endOf(k uint32) int   { return int(s.index.long[k].end) }

// sum fills held.
func (s *standing) sum(events int) {
	rows := make([]uint64, standingRows)
	starts, ends := s.starts, s.ends
	for moment := 0; moment < events; moment += 1 << s.level {
		for ; len(starts) > 0 && s.startOf(starts[0]) <= moment; starts = starts[1:] {
			s.addTo(rows, starts[0], 1)
		}
		for ; len(ends) > 0 && s.endOf(ends[0]) <= moment; ends = ends[1:] {
			s.addTo(rows, ends[0], -1)
		}
		s.held.AppendAll(rows)
	}
	s.held.Trim()
}

// addTo adds a block to the two rows, or the one, that it stands in, so many times.
func (s *standing) addTo(rows []uint64, k uint32, times int64) {
	b := s.index.long[k].box()
	row := b.place >> s.bits
	low := min(b.size, (row+1)<<s.bits-b.place)
	rows[row] += uint64(times * low)
	if low < b.size {
		rows[row+1] += uint64(times * (b.size - low))
	}
}

// has tells whether blocks of these classes are among its own.
func (s *standing) has(length, size int) bool {
	return s != nil && length >= longClass && size <= s.bits
}

// standingFor returns what stands in a view with buckets of this height, of which blocks
// below a class of length are added otherwise; nil where all are to be added one by one.
func (m *Map) standingFor(levelY, shortest int) *standing {
	if s := m.standing; s != nil && s.bits <= levelY && shortest <= longClass {
		return s
	}
	return nil
}

// add adds to r its blocks, in whose view a row lies within one cell.
func (s *standing) add(r *raster) {
	moment := r.from >> s.level << s.level
	s.addMoment(r, moment)
	later := func(list []uint32, at func(uint32) int) []uint32 {
		first := sort.Search(len(list), func(i int) bool { return at(list[i]) > moment })
		n := sort.Search(len(list)-first, func(i int) bool { return at(list[first+i]) >= r.to })
		return list[first : first+n]
	}
	for _, k := range later(s.starts, s.startOf) {
		b := s.index.long[k].box()
		r.add(box{b.start, r.to, b.place, b.size}, 1)
	}
	for _, k := range later(s.ends, s.endOf) {
		b := s.index.long[k].box()
		r.add(box{b.end, r.to, b.place, b.size}, -1)
	}
}

// addMoment adds what is held at a moment as though it were to the end of the view.
func (s *standing) addMoment(r *raster, moment int) {
	const perChunk = column.ChunkLen / standingRows
	k := moment >> s.level
	rows := s.held.Chunk(k/perChunk, make([]uint64, column.ChunkLen))[k%perChunk*standingRows:]
	for row := r.low >> s.bits; row<<s.bits < r.high; row++ {
		if units := rows[row]; units > 0 {
			r.addAlong(row<<s.bits, float64(units))
		}
	}
}
