package lod

import "sort"

// NextOfBlock returns the first event after event i that is about a block: its
// allocation, the request to free it, the end of that. -1: there is none.
func (d *Device) NextOfBlock(block, i int) int {
	l := d.TL.Life(block)
	return next([]int{l.Alloc, l.FreeRequested, l.FreeCompleted}, i, d.Events)
}

// PrevOfBlock returns the last event before event i that is about a block, or -1.
func (d *Device) PrevOfBlock(block, i int) int {
	l := d.TL.Life(block)
	return prev([]int{l.Alloc, l.FreeRequested, l.FreeCompleted}, i)
}

// NextOOM returns the first event after event i at which an allocation failed, or -1.
func (d *Device) NextOOM(i int) int { return next(d.TL.OOMs, i, d.Events) }

// PrevOOM returns the last before event i, or -1.
func (d *Device) PrevOOM(i int) int { return prev(d.TL.OOMs, i) }

// NextSegment returns the first event after event i that brings memory from the driver
// or returns some, or -1.
func (d *Device) NextSegment(i int) int { return next(d.moves, i, d.Events) }

// PrevSegment returns the last before event i, or -1.
func (d *Device) PrevSegment(i int) int { return prev(d.moves, i) }

// SegmentEvents returns the events of [from, to) that bring memory from the driver or
// return some. The result is not to be changed.
func (d *Device) SegmentEvents(from, to int) []int32 {
	a, b := after(d.moves, max(from, 0)-1), after(d.moves, max(to, 0)-1)
	return d.moves[a:max(a, b)]
}

// after returns the index of the first event of a rising list that is above i.
func after[E int | int32](list []E, i int) int {
	return sort.Search(len(list), func(k int) bool { return int(list[k]) > i })
}

// next returns the first event of a rising list that is above i and in the recording.
func next[E int | int32](list []E, i, events int) int {
	if k := after(list, max(i, -1)); k < len(list) && int(list[k]) < events {
		return int(list[k])
	}
	return -1
}

// prev returns the last event of a rising list that is below i and in the recording.
func prev[E int | int32](list []E, i int) int {
	if k := after(list, max(i, 0)-1); k > 0 {
		return max(int(list[k-1]), -1)
	}
	return -1
}

// NextOf returns the first event after event i that allocates or frees a block of a
// group, or -1.
func (g *Grouping) NextOf(group uint32, i int) int {
	changes := g.changesOf(group)
	if k := g.afterChange(changes, max(i, -1)); k < len(changes) {
		return g.eventOf(changes[k])
	}
	return -1
}

// PrevOf returns the last event before event i that does, or -1.
func (g *Grouping) PrevOf(group uint32, i int) int {
	changes := g.changesOf(group)
	if k := g.afterChange(changes, max(i, 0)-1); k > 0 {
		return g.eventOf(changes[k-1])
	}
	return -1
}

func (g *Grouping) changesOf(group uint32) []uint32 {
	if int(group) >= g.Groups {
		return nil
	}
	return g.changes[g.first[group]:g.first[group+1]]
}

// afterChange returns the index of the first change that is after event i.
func (g *Grouping) afterChange(changes []uint32, i int) int {
	return sort.Search(len(changes), func(k int) bool { return g.eventOf(changes[k]) > i })
}

// eventOf returns the event of a change; -1 where the block was there before the first.
func (g *Grouping) eventOf(change uint32) int {
	l := g.d.TL.Life(int(change >> 1))
	if change&1 != 0 {
		return l.FreeRequested
	}
	return l.Alloc
}
