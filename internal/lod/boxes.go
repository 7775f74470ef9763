package lod

import (
	"math/bits"
	"slices"
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

// boxIndex holds the numbers of boxes by class of length, class of size and slab, in
// which they are in the order of their starts; a slab is a 64th of the places. Boxes that
// are large enough to be seen are in a few classes, and a box that meets a range starts
// at most its length before it: so that a query looks at few that are not part of the
// answer.
type boxIndex struct {
	boxes
	slabBits int
	first    []uint32 // by list: where its ids begin; one more at the end
	ids      []uint32
	long     []flatBox // of the last ids: all that are of longClass and above
}

const slabs = 64

// longClass is the shortest class of which the boxes themselves are kept, 16 bytes each: those
// of 2^12 events and more. A view from afar passes over all of them that are held, of which a
// run that leaks has hundreds of thousands with hundreds of others between any two, and to find
// one by its number then costs four misses of the cache. Few blocks of other runs live as long.
const longClass = 13

// flatBox is a box in 16 bytes.
type flatBox struct {
	start, end  int32
	place, size uint32
}

func flat(b box) flatBox {
	return flatBox{int32(b.start), int32(b.end), uint32(b.place), uint32(b.size)}
}

func (b flatBox) box() box { return box{int(b.start), int(b.end), int64(b.place), int64(b.size)} }

func newBoxIndex(s boxes, units int64) *boxIndex {
	x := &boxIndex{boxes: s, first: make([]uint32, lengthClasses*sizeClasses*slabs+1)}
	for units>>x.slabBits >= slabs {
		x.slabBits++
	}
	x.each(func(_ uint32, b box) { x.first[x.list(b)+1]++ })
	for i := range x.first[1:] {
		x.first[i+1] += x.first[i]
	}
	x.ids = make([]uint32, x.first[len(x.first)-1])
	next := slices.Clone(x.first)
	x.each(func(id uint32, b box) {
		k := x.list(b)
		x.ids[next[k]] = id
		next[k]++
	})
	for _, id := range x.ids[x.first[listOf(longClass, 0, 0)]:] {
		x.long = append(x.long, flat(x.box(id)))
	}
	x.long = slices.Clone(x.long) // without what append keeps in reserve
	return x
}

// at returns the box of the k-th id.
func (x *boxIndex) at(k int) box {
	if l := k - (len(x.ids) - len(x.long)); l >= 0 {
		return x.long[l].box()
	}
	return x.box(x.ids[k])
}

// list returns which list a box is in.
func (x *boxIndex) list(b box) int {
	return listOf(b.length(), classOf(b.size), int(b.place>>x.slabBits))
}

func listOf(length, size, slab int) int { return (length*sizeClasses+size)*slabs + slab }

// length returns the class of a box's length.
func (b box) length() int { return classOf(int64(b.end - b.start)) }

// each calls f for every box that covers anything.
func (x *boxIndex) each(f func(id uint32, b box)) {
	for i := range x.len() {
		if b := x.box(uint32(i)); b.end > b.start && b.size > 0 {
			f(uint32(i), b)
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
	lowest := max(v.low-1<<size+2, 0) // the highest of the class is 2^size-1 units
	for slab := int(lowest >> x.slabBits); slab <= int((v.high-1)>>x.slabBits); slab++ {
		k := listOf(length, size, slab)
		if from, to := int(x.first[k]), int(x.first[k+1]); from < to {
			x.inList(from, to, length, v, f)
		}
	}
}

// inList calls f for the boxes of a list, ids [from, to), that meet v.
func (x *boxIndex) inList(from, to, length int, v view, f func(id uint32, b box)) {
	earliest := v.from - 1<<length + 2 // the longest of the class lasts 2^length-1 events
	from += sort.Search(to-from, func(k int) bool { return x.at(from+k).start >= earliest })
	for k := from; k < to; k++ {
		b := x.at(k)
		if b.start >= v.to {
			return
		}
		if v.meets(b) {
			f(x.ids[k], b)
		}
	}
}
