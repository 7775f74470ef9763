package viewer

import (
	"cmp"
	"math"
	"slices"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/lod"
	"github.com/ullage-dev/ullage/snapshot"
)

// earlyGroup stands for blocks that were allocated before the recording began, by nobody
// knows whom.
const earlyGroup = math.MaxUint32

// flameGroup is the stack that a block is drawn under.
func (d *Device) flameGroup(block int) uint32 {
	stack := d.TL.Stack(block)
	if stack == 0 && d.TL.Life(block).Alloc < 0 {
		return earlyGroup
	}
	return uint32(d.Sites.At(stack).Same)
}

// amount is memory as counted.
type amount struct {
	bytes  int64
	blocks int
}

func (a *amount) add(b amount) { a.bytes += b.bytes; a.blocks += b.blocks }

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

// newFlameTree draws what blocks come to by their flameGroup.
func newFlameTree(d *Device, sums []lod.Sum, opt flameOptions) *flameTree {
	t := &flameTree{d: d, opt: opt, index: make(map[string]int), frame: make(map[snapshot.FrameID]int)}
	for _, s := range sums {
		t.add(s.Group, amount{s.Bytes, s.Blocks})
	}
	t.root.sort(t.names)
	return t
}

func (t *flameTree) add(group uint32, a amount) {
	t.root.amount.add(a)
	if group == earlyGroup {
		t.root.kid(t.name(analyze.AllocatedEarly), "").amount.add(a)
		return
	}
	stack, n := snapshot.StackID(group), &t.root
	for _, id := range t.path(stack) {
		n = n.kid(t.frameName(id), t.d.Sites.FrameKind(id))
		n.amount.add(a)
	}
	if n == &t.root { // nothing to show of the stack: what stands for it in reports
		n.kid(t.name(t.d.Sites.Line(stack)), "").amount.add(a)
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
