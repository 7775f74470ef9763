package lod

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// Lane is a range of addresses that held segments, and where it stands.
type Lane struct {
	Addr  uint64
	Place uint32 // in units
	Size  uint32 // in units
}

// Lanes are the addresses of a device without the gaps: see "Place" in
// docs/formats/tile.md.
type Lanes struct {
	UnitBytes int64  // 512, or a greater power of two where the lanes are longer than 2 TiB
	Size      uint32 // of all, in units
	List      []Lane // ascending
}

// leastUnitBytes is what all addresses and sizes of CUDA's blocks are multiples of.
const leastUnitBytes = 512

// span is a range of addresses.
type span struct{ from, to uint64 }

// layOut makes the lanes, and returns with them the place of every block.
func layOut(tl *timeline.Timeline) (*Lanes, []uint32) {
	var held []span
	for i := range tl.Segments {
		held = append(held, spanOf(tl.Segments[i].Addr, tl.Segments[i].SizeBytes))
	}
	lanes := newLanes(held)
	places, outside := lanes.places(tl)
	if len(outside) > 0 { // only in recordings that do not fit together
		lanes = newLanes(append(held, outside...))
		places, _ = lanes.places(tl)
	}
	return lanes, places
}

// spanOf returns the range of sizeBytes from addr, cut where addresses end.
func spanOf(addr uint64, sizeBytes int64) span {
	size := uint64(max(sizeBytes, 0))
	return span{addr, addr + min(size, math.MaxUint64-addr)}
}

// newLanes joins ranges that touch and lays them end to end.
func newLanes(held []span) *Lanes {
	l := &Lanes{UnitBytes: leastUnitBytes}
	held = join(held, leastUnitBytes)
	for total(held, uint64(l.UnitBytes)) > math.MaxUint32 {
		l.UnitBytes *= 2
		held = join(held, uint64(l.UnitBytes))
	}
	for _, h := range held {
		size := uint32(units(h, uint64(l.UnitBytes)))
		l.List = append(l.List, Lane{Addr: h.from, Place: l.Size, Size: size})
		l.Size += size
	}
	return l
}

// join rounds ranges outwards to multiples of unit, and makes one of those that touch.
func join(held []span, unit uint64) []span {
	sorted := slices.Clone(held)
	for i := range sorted {
		sorted[i].from &^= unit - 1
		if up := sorted[i].to + unit - 1; up >= sorted[i].to {
			sorted[i].to = up
		}
		sorted[i].to &^= unit - 1
	}
	slices.SortFunc(sorted, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	joined := sorted[:0]
	for _, h := range sorted {
		switch n := len(joined); {
		case h.from == h.to:
		case n > 0 && h.from <= joined[n-1].to:
			joined[n-1].to = max(joined[n-1].to, h.to)
		default:
			joined = append(joined, h)
		}
	}
	return joined
}

func units(h span, unit uint64) uint64 { return (h.to - h.from) / unit }

func total(held []span, unit uint64) (n uint64) {
	for _, h := range held {
		n += units(h, unit)
	}
	return n
}

// Of returns where the sizeBytes at addr stand, in units, rounded outwards; false
// where no lane holds them.
func (l *Lanes) Of(addr uint64, sizeBytes int64) (place, size uint32, ok bool) {
	i := sort.Search(len(l.List), func(i int) bool { return l.List[i].Addr > addr }) - 1
	if i < 0 {
		return 0, 0, false
	}
	lane, unit := l.List[i], uint64(l.UnitBytes)
	at, end := spanOf(addr, sizeBytes), lane.Addr+uint64(lane.Size)*unit
	if at.from >= end || at.to > end {
		return 0, 0, false
	}
	from, to := (at.from-lane.Addr)/unit, (at.to-lane.Addr+unit-1)/unit
	return lane.Place + uint32(from), uint32(to - from), true
}

// Addr returns the address of a place, and false beyond the last lane.
func (l *Lanes) Addr(place uint32) (uint64, bool) {
	if place >= l.Size {
		return 0, false
	}
	i := sort.Search(len(l.List), func(i int) bool { return l.List[i].Place > place }) - 1
	return l.List[i].Addr + uint64(place-l.List[i].Place)*uint64(l.UnitBytes), true
}

// places returns the place of every block, and the ranges of those that are in no lane.
func (l *Lanes) places(tl *timeline.Timeline) (places []uint32, outside []span) {
	places = make([]uint32, tl.NumBlocks())
	put := func(id int, addr uint64) {
		place, _, ok := l.Of(addr, tl.Life(id).SizeBytes)
		if places[id] = place; !ok {
			outside = append(outside, spanOf(addr, tl.Life(id).SizeBytes))
		}
	}
	id := 0
	for ; id < len(places) && tl.Life(id).Alloc < 0; id++ {
		put(id, tl.Block(id).Addr)
	}
	b := snapshot.Batch{Want: snapshot.WithAddr}
	for k := range tl.Dev.Events.Chunks() {
		tl.Dev.Events.Chunk(k, &b)
		for ; id < len(places) && tl.Life(id).Alloc < b.First+len(b.Addr); id++ {
			put(id, b.Addr[tl.Life(id).Alloc-b.First])
		}
	}
	return places, outside
}

// size returns how many units the sizeBytes at a place take, rounded outwards. What
// comes before the block in its first unit counts only where addresses are not
// multiples of a unit, and is left out.
func (l *Lanes) size(place uint32, sizeBytes int64) int64 {
	n := (max(sizeBytes, 0) + l.UnitBytes - 1) / l.UnitBytes
	return min(n, int64(l.Size-place))
}
