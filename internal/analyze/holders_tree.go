package analyze

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/ullage-dev/ullage/snapshot"
)

// HolderNode is a call, with what it and the calls inside it hold. The bytes of its
// children add up to its own, or it has none.
type HolderNode struct {
	Name     string        `json:"name"` // calls that have one child only are joined: "train.py:9 main → train.py:30 step"
	Bytes    int64         `json:"bytes"`
	Blocks   int           `json:"blocks"`
	Share    float64       `json:"share"`
	Rest     int           `json:"rest,omitempty"` // how many branches this one sums up; 0 for a call
	Children []*HolderNode `json:"children,omitempty"`
}

// treePath limits the levels of the tree: the outermost and innermost calls of a
// deeper stack are shown, and a runaway recursion does not become a tree of 10^5 levels.
const treePath = 64

// branch is a node in the making.
type branch struct {
	name     string
	total    amount
	children map[snapshot.FrameID]*branch
	order    []*branch
	own      amount // of stacks that end here
}

// Tree returns what is held as a tree of calls. Levels are the user's frames, those
// of libraries that build models on torch, and the operator as the leaf.
func (h *Held) Tree(o HolderOptions) *HolderNode {
	root := &branch{}
	others := make(map[string]*branch) // stacks without a frame to show, by their line
	for _, l := range h.lots {
		root.total.add(l.amount)
		path := h.sites.path(l.site)
		at := root
		if len(path) == 0 {
			at = root.other(others, h.name(l, ByStack))
			at.total.add(l.amount)
		}
		for _, f := range path {
			at = at.child(f, func() string { return h.sites.level(f) })
			at.total.add(l.amount)
		}
		at.own.add(l.amount)
	}
	if o.MinShare == 0 {
		o.MinShare = 0.01
	}
	node := h.leaf("allocated", root.total)
	h.grow(node, root, o)
	return node
}

func (b *branch) child(f snapshot.FrameID, name func() string) *branch {
	c := b.children[f]
	if c == nil {
		c = &branch{name: name()}
		if b.children == nil {
			b.children = make(map[snapshot.FrameID]*branch)
		}
		b.children[f] = c
		b.order = append(b.order, c)
	}
	return c
}

func (b *branch) other(others map[string]*branch, name string) *branch {
	c := others[name]
	if c == nil {
		c = &branch{name: name}
		others[name] = c
		b.order = append(b.order, c)
	}
	return c
}

// node makes b a node: chains joined, small branches summed up. Its depth is at most
// treePath.
func (h *Held) node(b *branch, o HolderOptions) *HolderNode {
	name := b.name
	for len(b.order) == 1 && b.own.blocks == 0 {
		b = b.order[0]
		name += " → " + b.name
	}
	n := h.leaf(name, b.total)
	h.grow(n, b, o)
	return n
}

// grow gives n the children of b.
func (h *Held) grow(n *HolderNode, b *branch, o HolderOptions) {
	kids := slices.Clone(b.order)
	if b.own.blocks > 0 && len(kids) > 0 {
		kids = append(kids, &branch{name: "this line itself", total: b.own})
	}
	slices.SortFunc(kids, func(a, b *branch) int {
		return cmp.Or(cmp.Compare(b.total.bytes, a.total.bytes), cmp.Compare(a.name, b.name))
	})
	shown := 0
	for top := o.top(len(kids)); shown < top && h.shareOf(kids[shown].total.bytes) >= o.MinShare; shown++ {
		n.Children = append(n.Children, h.node(kids[shown], o))
	}
	if rest := kids[shown:]; len(rest) > 0 && shown > 0 {
		n.Children = append(n.Children, h.restOf(rest))
	}
}

func (h *Held) leaf(name string, a amount) *HolderNode {
	return &HolderNode{Name: name, Bytes: a.bytes, Blocks: a.blocks, Share: h.shareOf(a.bytes)}
}

func (h *Held) restOf(list []*branch) *HolderNode {
	var sum amount
	for _, b := range list {
		sum.add(b.total)
	}
	n := h.leaf(otherName(len(list), "branch", "branches"), sum)
	n.Rest = len(list)
	return n
}

func otherName(n int, one, many string) string {
	if n == 1 {
		return "other (1 " + one + ")"
	}
	return "other (" + strconv.Itoa(n) + " " + many + ")"
}

// path returns the frames of a stack that are levels of the tree, outermost first:
// the user's own, those of other libraries than torch, and the operator.
func (s *Sites) path(id snapshot.StackID) []snapshot.FrameID {
	ids, site := s.rec.Stacks.Frames(id), s.At(id)
	var path []snapshot.FrameID
	for i := len(ids) - 1; i >= 0; i-- {
		f := s.frame(ids[i])
		if f.whose == Users || i == site.Op || f.whose == Library && !f.plumbing && !isTorch(f.pkg) {
			path = append(path, ids[i])
		}
	}
	if len(path) > treePath {
		path = append(path[:treePath/2:treePath/2], path[len(path)-treePath/2:]...)
	}
	return path
}

// level names a frame of path: torch's by the operator, others by position and name.
func (s *Sites) level(f snapshot.FrameID) string {
	if isTorch(s.frame(f).pkg) {
		return s.opName(f)
	}
	return s.short(f) + " " + s.rec.Frames[f].Name
}

func isTorch(pkg string) bool { return pkg == "torch" || pkg == "torch.compile" || pkg == "torch.fx" }

// Module returns the call of a module that a stack is in: the innermost one that is
// not a layer of torch.nn itself, by the line that calls it. Frames do not name
// classes, but a line that calls a module calls always the same one or its siblings.
func (s *Sites) Module(id snapshot.StackID) string {
	ids, site := s.rec.Stacks.Frames(id), s.At(id)
	if !site.marks.has(inModule) {
		return s.Line(id)
	}
	callee := -1 // innermost frame so far that is not torch's
	for i, f := range ids {
		facts := s.frame(f)
		if facts.whose == Noise || facts.whose == Native || isTorch(facts.pkg) || facts.plumbing {
			continue
		}
		if callee >= 0 && s.callsModule(ids[callee+1:i]) {
			return s.short(f) + " → " + s.opOrName(ids[callee])
		}
		callee = i
	}
	return s.Line(id)
}

// callsModule tells whether the frames between a caller and its callee are those of
// torch.nn.Module's call.
func (s *Sites) callsModule(between []snapshot.FrameID) bool {
	for _, f := range between {
		if s.rec.Frames[f].Name == "_call_impl" && isTorch(s.frame(f).pkg) {
			return true
		}
	}
	return false
}

// opOrName names a function of the user's or of a library with its file.
func (s *Sites) opOrName(id snapshot.FrameID) string {
	facts := s.frame(id)
	if facts.whose == Users {
		return s.Path(id) + " " + s.rec.Frames[id].Name
	}
	return s.opName(id)
}
