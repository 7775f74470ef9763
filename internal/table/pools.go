package table

import (
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// poolFinder returns the pool that a row's memory is in, and false where it has none or
// nothing tells.
type poolFinder func(r *row) (snapshot.PoolID, bool)

func (t *Tables) pools(what What) poolFinder {
	switch what {
	case Segments:
		return func(r *row) (snapshot.PoolID, bool) { return t.tl.Segments[r.id].Pool, true }
	case Events:
		return t.poolOfEvent
	}
	return t.blockPool()
}

// findBlockPool returns how to find the pools of blocks: not at all where there is only one.
func (t *Tables) findBlockPool() poolFinder {
	if all := t.allPools(); len(all) == 1 && t.tl.Replay.Odd == (timeline.Odd{}) {
		return func(*row) (snapshot.PoolID, bool) { return all[0], true }
	}
	return func(r *row) (snapshot.PoolID, bool) { return t.poolAt(r.addr, r.from) }
}

// poolOfEvent returns what an event says since torch 2.12; before that its segment tells.
func (t *Tables) poolOfEvent(r *row) (snapshot.PoolID, bool) {
	e := t.tl.Dev.Events
	if !hasAddress(r.action) {
		return snapshot.PoolID{}, false
	}
	if e.HasPools {
		return e.Pools[e.At(r.id).Pool], true
	}
	if i, ok := t.moves()[r.id]; ok {
		return t.tl.Segments[i].Pool, true
	}
	return t.poolAt(r.addr, r.id)
}

func (t *Tables) poolAt(addr uint64, event int) (snapshot.PoolID, bool) {
	if i := t.segments().find(addr, event); i != none {
		return t.tl.Segments[i].Pool, true
	}
	return snapshot.PoolID{}, false
}

// SegmentOf returns the place in Timeline.Segments of the segment that block i was
// allocated in, or -1 where none is known.
func (t *Tables) SegmentOf(i int) int {
	b := t.tl.Block(i)
	return t.segments().find(b.Addr, b.Alloc)
}

// segmentMoves finds the segment of each event that brings or ends one.
func (t *Tables) segmentMoves() map[int]int {
	m := make(map[int]int, 2*len(t.tl.Segments))
	for i, g := range t.tl.Segments {
		m[g.To] = i
	}
	for i, g := range t.tl.Segments {
		m[g.From] = i
	}
	return m
}

// poolColumn is the column of pools of a table.
func poolColumn(what What) column {
	return column{Column{"pool", "text", "pool"}, needAddr | needAction, func(t *Tables) func(*row) int64 {
		find, all := t.pools(what), t.allPools()
		return func(r *row) int64 {
			pool, ok := find(r)
			if !ok {
				return absent
			}
			k, _ := slices.BinarySearchFunc(all, pool, comparePools)
			return int64(k)
		}
	}, func(t *Tables, r *row) any {
		if pool, ok := t.pools(what)(r); ok {
			return pool.String()
		}
		return nil
	}}
}

// allPools returns the pools of the recording in order.
func (t *Tables) allPools() []snapshot.PoolID {
	all := slices.Clone(t.tl.Dev.Events.Pools)
	for _, g := range t.tl.Segments {
		all = append(all, g.Pool)
	}
	slices.SortFunc(all, comparePools)
	return slices.Compact(all)
}

func comparePools(a, b snapshot.PoolID) int {
	return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
}
