package lod

import (
	"math/bits"
	"sort"

	"github.com/ullage-dev/ullage/internal/timeline"
)

// box is a rectangle of place × event: units [place, place+size), events [start, end).
type box struct {
	start, end  int
	place, size int64
}

// boxes are rectangles by number, in the order of their starts.
type boxes interface {
	len() int
	box(i uint32) box
}

// blockBoxes are blocks from their allocation until they are no longer held.
type blockBoxes struct {
	tl     *timeline.Timeline
	lanes  *Lanes
	places []uint32
	events int
}

func (s blockBoxes) len() int { return len(s.places) }

func (s blockBoxes) box(i uint32) box {
	l := s.tl.Life(int(i))
	return box{max(l.Alloc, 0), min(l.FreeCompleted, s.events), int64(s.places[i]), s.lanes.size(s.places[i], l.SizeBytes)}
}

// segmentBoxes are segments for as long as they are mapped.
type segmentBoxes struct {
	tl     *timeline.Timeline
	lanes  *Lanes
	events int
}

func (s segmentBoxes) len() int { return len(s.tl.Segments) }

func (s segmentBoxes) box(i uint32) box {
	g := &s.tl.Segments[i]
	place, size, _ := s.lanes.Of(g.Addr, g.SizeBytes)
	return box{max(g.From, 0), min(g.To, s.events), int64(place), int64(size)}
}

// classes are how many classes of length, and of size, there are: a class is the
// length of a number in bits.
const (
	lengthClasses = 32
	sizeClasses   = 33
)

func classOf(n int64) int { return bits.Len64(uint64(n)) }

// boxIndex holds the numbers of boxes by class of length and class of size, within a
// class in the order of their starts. Boxes that are large enough to be seen are in a
// few classes, and a box that meets a range starts at most its length before it: so
// that a query looks at few that are not part of the answer.
type boxIndex struct {
	boxes
	byClass [lengthClasses][sizeClasses][]uint32
}

func newBoxIndex(s boxes) *boxIndex {
	x := &boxIndex{boxes: s}
	var n [lengthClasses][sizeClasses]int
	total := 0
	x.each(func(_ uint32, length, size int) {
		n[length][size]++
		total++
	})
	all := make([]uint32, 0, total)
	for i := range n {
		for j, k := range n[i] {
			x.byClass[i][j] = all[len(all) : len(all) : len(all)+k]
			all = all[:len(all)+k]
		}
	}
	x.each(func(id uint32, length, size int) {
		x.byClass[length][size] = append(x.byClass[length][size], id)
	})
	return x
}

// each calls f for every box that covers anything.
func (x *boxIndex) each(f func(id uint32, length, size int)) {
	for i := range x.len() {
		b := x.box(uint32(i))
		if b.end > b.start && b.size > 0 {
			f(uint32(i), classOf(int64(b.end-b.start)), classOf(b.size))
		}
	}
}

// view is what a query looks at: events [from, to), units [low, high).
type view struct {
	from, to  int
	low, high int64
}

func (v view) meets(b box) bool {
	return b.start < v.to && b.end > v.from && b.place < v.high && b.place+b.size > v.low
}

// class calls f for the boxes of one class that meet v.
func (x *boxIndex) class(length, size int, v view, f func(id uint32, b box)) {
	ids := x.byClass[length][size]
	earliest := v.from - 1<<length + 2 // the longest of the class lasts 2^length-1 events
	k := sort.Search(len(ids), func(k int) bool { return x.box(ids[k]).start >= earliest })
	for _, id := range ids[k:] {
		b := x.box(id)
		if b.start >= v.to {
			return
		}
		if v.meets(b) {
			f(id, b)
		}
	}
}
