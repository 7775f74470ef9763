package lod

import (
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/internal/timeline"
)

// LiveAt returns the blocks that are allocated after an event (-1: before the first),
// in the order of their allocation.
func (d *Device) LiveAt(event int) (ids []uint32) {
	event = d.clamp(event)
	d.TL.EachHeld(event, func(b int, l timeline.Life) {
		if l.LiveAfter(event) {
			ids = append(ids, uint32(b))
		}
	})
	return ids
}

// fewLive is LiveAt where at most limit blocks are allocated; else all is false. It takes the
// time of so many: a run that leaks has hundreds of thousands.
func (d *Device) fewLive(event, limit int) (ids []uint32, all bool) {
	event = d.clamp(event)
	for b, l := range d.TL.Held(event) {
		if !l.LiveAfter(event) {
			continue
		}
		if len(ids) == limit {
			return nil, false
		}
		ids = append(ids, uint32(b))
	}
	return ids, true
}

// HeldAt is LiveAt with the blocks that are pending.
func (d *Device) HeldAt(event int) (ids []uint32) {
	d.TL.EachHeld(d.clamp(event), func(b int, _ timeline.Life) { ids = append(ids, uint32(b)) })
	return ids
}

// clamp returns the event of the recording, or -1, that is nearest to one.
func (d *Device) clamp(event int) int { return min(max(event, -1), d.Events-1) }

// BornIn returns the blocks allocated by events [from, to): numbers [first, last).
func (d *Device) BornIn(from, to int) (first, last int) {
	first = d.TL.NumAllocatedBy(max(from, 0) - 1)
	return first, max(first, d.TL.NumAllocatedBy(max(to, 0)-1))
}

// Sum is what a group of blocks comes to.
type Sum struct {
	Group  uint32
	Bytes  int64
	Blocks int
}

// FoldLive adds up the blocks that are allocated after an event by group, the most
// bytes first. of may be timeline.Timeline.Stack, for a flame graph.
func (d *Device) FoldLive(event int, of func(block int) uint32) []Sum {
	byGroup := map[uint32]*Sum{}
	for _, b := range d.LiveAt(event) {
		fold(byGroup, of(int(b)), d.TL.Life(int(b)).SizeBytes)
	}
	return sorted(byGroup)
}

// FoldBorn adds up what events [from, to) allocate by group, the most bytes first,
// freed or not. It takes about 20 ns a block; Grouping.Born is faster for long ranges.
func (d *Device) FoldBorn(from, to int, of func(block int) uint32) []Sum {
	byGroup := map[uint32]*Sum{}
	first, last := d.BornIn(from, to)
	for b := first; b < last; b++ {
		fold(byGroup, of(b), d.TL.Life(b).SizeBytes)
	}
	return sorted(byGroup)
}

func fold(byGroup map[uint32]*Sum, group uint32, bytes int64) {
	s := byGroup[group]
	if s == nil {
		s = &Sum{Group: group}
		byGroup[group] = s
	}
	s.Bytes += bytes
	s.Blocks++
}

func sorted(byGroup map[uint32]*Sum) []Sum {
	list := make([]Sum, 0, len(byGroup))
	for _, s := range byGroup {
		list = append(list, *s)
	}
	sortSums(list)
	return list
}

func sortSums(list []Sum) {
	slices.SortFunc(list, func(a, b Sum) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Group, b.Group)) })
}

// Born adds up what events [from, to) allocate by group, the most bytes first. What was
// there before the first event is not among it.
func (g *Grouping) Born(from, to int) []Sum {
	if first, last := g.d.BornIn(from, to); last-first <= g.Groups {
		return g.d.FoldBorn(from, to, g.Of)
	}
	var list []Sum
	for group := range uint32(g.Groups) {
		c := g.cursor(group)
		var a sums
		if from > 0 {
			a = c.before(from)
		} else {
			a = g.initial(group)
		}
		b := c.before(to)
		if b.blocks > a.blocks {
			list = append(list, Sum{group, b.born - a.born, int(b.blocks - a.blocks)})
		}
	}
	sortSums(list)
	return list
}

// initial returns the sums of a group's blocks that were there before the first event,
// whose changes come first.
func (g *Grouping) initial(group uint32) (s sums) {
	for _, c := range g.changes[g.first[group]:g.first[group+1]] {
		if c&1 != 0 || g.d.TL.Life(int(c>>1)).Alloc >= 0 {
			break
		}
		s.add(g.d.change(c))
	}
	return s
}

// Order is what blocks are listed by. Equal ones are in the order of their allocation.
type Order uint8

// Orders.
const (
	OldestFirst Order = iota
	YoungestFirst
	LargestFirst
	SmallestFirst
	LowestFirst // by address
	HighestFirst
	LongestFirst // by events that they are allocated for
	ShortestFirst
)

// Sort puts blocks in order, and returns up to limit of them from the offset-th on.
func (d *Device) Sort(ids []uint32, by Order, offset, limit int) []uint32 {
	key := d.sortKey(by)
	slices.SortStableFunc(ids, func(a, b uint32) int { return cmp.Compare(key(a), key(b)) })
	ids = ids[min(max(offset, 0), len(ids)):]
	return ids[:min(max(limit, 0), len(ids))]
}

// sortKey returns what rises along an order.
func (d *Device) sortKey(by Order) func(id uint32) int64 {
	life := func(id uint32) timeline.Life { return d.TL.Life(int(id)) }
	length := func(id uint32) int64 { return int64(min(life(id).FreeRequested, d.Events) - life(id).Alloc) }
	index := d.Blocks.index
	switch by {
	case YoungestFirst:
		return func(id uint32) int64 { return -int64(id) }
	case LargestFirst:
		return func(id uint32) int64 { return -life(id).SizeBytes }
	case SmallestFirst:
		return func(id uint32) int64 { return life(id).SizeBytes }
	case LowestFirst:
		return func(id uint32) int64 { return index.box(id).place }
	case HighestFirst:
		return func(id uint32) int64 { return -index.box(id).place }
	case LongestFirst:
		return func(id uint32) int64 { return -length(id) }
	case ShortestFirst:
		return length
	default:
		return func(id uint32) int64 { return int64(id) }
	}
}
