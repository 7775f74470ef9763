package timeline

import (
	"iter"
	"sort"
)

// heldFan is how many blocks, or nodes of the level below, a node stands for.
const heldFan = 16

// heldTree finds the blocks that are held at one moment without passing over all of
// the window. Blocks are in order of their allocation, so those that were allocated by
// then are the first ones; of each heldFan of them the tree knows when the last was
// given back, of each heldFan of these the same, and so on: 4/15 of a byte a block. Most
// blocks of a run die young, so nearly all of the tree is passed by near its root.
type heldTree struct {
	levels [][]int32 // from the blocks up: the latest FreeCompleted
}

func newHeldTree(b *blocks) heldTree {
	var t heldTree
	level := make([]int32, (b.n+heldFan-1)/heldFan)
	for i := range b.n {
		k := i / heldFan
		level[k] = max(level[k], b.chunks[i/blockChunk].completed[i%blockChunk])
	}
	for {
		t.levels = append(t.levels, level)
		if len(level) <= 1 {
			return t
		}
		up := make([]int32, (len(level)+heldFan-1)/heldFan)
		for i, last := range level {
			up[i/heldFan] = max(up[i/heldFan], last)
		}
		level = up
	}
}

// NumAllocatedBy returns how many blocks were allocated by event i, or before the first
// event: blocks 0 … n-1.
func (t *Timeline) NumAllocatedBy(i int) int {
	return sort.Search(t.NumBlocks(), func(k int) bool { return t.Life(k).Alloc > i })
}

// EachHeld calls f for every block that is handed out or pending after event i (-1:
// before the first), in order. It takes time by the number of these.
func (t *Timeline) EachHeld(i int, f func(block int, l Life)) {
	for block, l := range t.Held(i) {
		f(block, l)
	}
}

// Held is EachHeld as a sequence, which can be left early.
func (t *Timeline) Held(i int) iter.Seq2[int, Life] {
	return func(yield func(int, Life) bool) {
		t.eachHeld(len(t.held.levels)-1, 0, 1, t.NumAllocatedBy(i), i, yield)
	}
}

// eachHeld visits the nodes [from, to) of a level, level -1 being the blocks, and tells whether
// to go on; n blocks were allocated by event i.
func (t *Timeline) eachHeld(level, from, to, n, i int, f func(int, Life) bool) bool {
	if level < 0 {
		for k := from; k < min(to, n); k++ {
			if l := t.Life(k); l.HeldAfter(i) && !f(k, l) {
				return false
			}
		}
		return true
	}
	nodes, blocks := t.held.levels[level], heldFan // of a node
	for range level {
		blocks *= heldFan
	}
	for k := from; k < min(to, (n+blocks-1)/blocks); k++ {
		if int(nodes[k]) > i && !t.eachHeld(level-1, k*heldFan, (k+1)*heldFan, n, i, f) {
			return false
		}
	}
	return true
}
