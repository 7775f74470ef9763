package viewer

import (
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// flameStack is a stack and the memory that was allocated through it.
type flameStack struct {
	stack snapshot.StackID
	early bool // allocated before the recording began, by nobody knows whom
}

// amount is memory as counted.
type amount struct {
	bytes  int64
	blocks int
}

func (a *amount) add(b amount) { a.bytes += b.bytes; a.blocks += b.blocks }

// flameSums is memory by stack.
type flameSums map[flameStack]amount

// liveStacks adds up the blocks that are allocated after an event.
func (d *Device) liveStacks(event int) flameSums {
	sums := make(flameSums)
	d.TL.EachHeld(event, func(i int, l timeline.Life) {
		if l.LiveAfter(event) {
			sums.add(d, i, l)
		}
	})
	return sums
}

// allocatedStacks adds up the blocks that were allocated in a range of events, both included.
func (d *Device) allocatedStacks(from, to int) flameSums {
	sums := make(flameSums)
	for i := d.TL.NumAllocatedBy(from - 1); i < d.TL.NumAllocatedBy(to); i++ {
		sums.add(d, i, d.TL.Life(i))
	}
	return sums
}

func (s flameSums) add(d *Device, i int, l timeline.Life) {
	stack := d.TL.Stack(i)
	k := flameStack{d.Sites.At(stack).Same, l.Alloc < 0 && stack == 0}
	a := s[k]
	a.add(amount{l.SizeBytes, 1})
	s[k] = a
}

// flameOptions say how to draw stacks.
type flameOptions struct {
	invert   bool  // from the innermost frames outwards
	library  bool  // with the frames that are not the user's; without them only the one that names the operator is left
	minBytes int64 // smaller nodes are cut
}

// flameNode is a call and all that was allocated through it.
type flameNode struct {
	name int
	kind analyze.FrameKind // "" for what stands for a stack that has no frames
	amount
	kids []*flameNode
	by   map[int]*flameNode // kids by name, where there are many
}

// flameTree puts stacks together that begin alike.
type flameTree struct {
	d     *Device
	opt   flameOptions
	root  flameNode
	names []string
	index map[string]int
	frame map[snapshot.FrameID]int // names of frames met so far
}

func newFlameTree(d *Device, sums flameSums, opt flameOptions) *flameTree {
	t := &flameTree{d: d, opt: opt, index: make(map[string]int), frame: make(map[snapshot.FrameID]int)}
	for k, a := range sums {
		t.add(k, a)
	}
	t.root.sort(t.names)
	return t
}

func (t *flameTree) add(k flameStack, a amount) {
	n := &t.root
	n.amount.add(a)
	for _, id := range t.path(k.stack) {
		n = n.kid(t.frameName(id), t.d.Sites.FrameKind(id))
		n.amount.add(a)
	}
	if n == &t.root { // nothing to show of the stack: what stands for it in reports
		name := t.d.Sites.Line(k.stack)
		if k.early {
			name = analyze.AllocatedEarly
		}
		n.kid(t.name(name), "").amount.add(a)
	}
}

// path returns the frames of a stack that are drawn, the root's first.
func (t *flameTree) path(stack snapshot.StackID) []snapshot.FrameID {
	site := t.d.Sites.At(stack)
	var path []snapshot.FrameID
	for i, id := range t.d.Rec.Stacks.Frames(stack) {
		kind := t.d.Sites.FrameKind(id)
		if kind == analyze.NoiseFrames || !t.opt.library && kind != analyze.UserFrames && i != site.Op {
			continue
		}
		path = append(path, id)
	}
	if !t.opt.invert {
		slices.Reverse(path)
	}
	return path
}

func (t *flameTree) frameName(id snapshot.FrameID) int {
	n, ok := t.frame[id]
	if !ok {
		n = t.name(t.d.Sites.FrameName(id))
		t.frame[id] = n
	}
	return n
}

func (t *flameTree) name(text string) int {
	n, ok := t.index[text]
	if !ok {
		n = len(t.names)
		t.index[text] = n
		t.names = append(t.names, text)
	}
	return n
}

// manyKids is from how many children on a node finds them by a map: most have one or two,
// and a map for each would take more memory than all else.
const manyKids = 16

func (n *flameNode) kid(name int, kind analyze.FrameKind) *flameNode {
	if n.by != nil {
		if k, ok := n.by[name]; ok {
			return k
		}
	} else if i := slices.IndexFunc(n.kids, func(k *flameNode) bool { return k.name == name }); i >= 0 {
		return n.kids[i]
	}
	k := &flameNode{name: name, kind: kind}
	n.kids = append(n.kids, k)
	switch {
	case n.by != nil:
		n.by[name] = k
	case len(n.kids) == manyKids:
		n.by = make(map[int]*flameNode)
		for _, k := range n.kids {
			n.by[k.name] = k
		}
	}
	return k
}

// sort puts the widest first.
func (n *flameNode) sort(names []string) {
	slices.SortFunc(n.kids, func(a, b *flameNode) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(b.blocks, a.blocks), cmp.Compare(names[a.name], names[b.name]))
	})
	for _, k := range n.kids {
		k.sort(names)
	}
}

// count returns how many nodes lie below n.
func (n *flameNode) count() int {
	c := len(n.kids)
	for _, k := range n.kids {
		c += k.count()
	}
	return c
}
