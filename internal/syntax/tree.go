package syntax

import (
	"context"
	"encoding/binary"
	"iter"
	"slices"
)

// Flags of a node; wasm/shim.c has the same.
const (
	named = 1 << iota
	isError
	missing
	extra
	hasError
)

// node is one row of a tree in pre-order: what is in a node follows it.
type node struct {
	kind       uint16
	field      uint8
	flags      uint8
	start, end uint32 // offsets in the text
	parent     int32  // -1 for the root
	next       int32  // the first node that is not in this one
}

// readNodes copies what a parse left in the module's memory.
func (i *instance) readNodes(ctx context.Context, count uint32) ([]node, bool) {
	at, err := i.call(ctx, "nodes")
	if err != nil {
		return nil, false
	}
	raw, ok := i.mod.Memory().Read(at, count*recordBytes)
	if !ok {
		return nil, false
	}
	nodes := make([]node, count)
	for k := range nodes {
		r := raw[k*recordBytes:][:recordBytes]
		nodes[k] = node{
			kind: binary.LittleEndian.Uint16(r), field: r[2], flags: r[3],
			start: binary.LittleEndian.Uint32(r[4:]), end: binary.LittleEndian.Uint32(r[8:]),
			parent: int32(binary.LittleEndian.Uint32(r[12:])), next: int32(k + 1),
		}
	}
	nodes[0].parent = -1
	for k := len(nodes) - 1; k > 0; k-- {
		above := &nodes[nodes[k].parent]
		above.next = max(above.next, nodes[k].next)
	}
	return nodes, true
}

// Tree is the syntax of a source. It does not change.
type Tree struct {
	Source  *Source
	grammar *grammar
	nodes   []node
}

// Root returns the node that all others are in, of kind module.
func (t *Tree) Root() Node { return Node{t, 0} }

// Len returns the number of nodes.
func (t *Tree) Len() int { return len(t.nodes) }

// At returns the node with an index, as Node.Index gave it.
func (t *Tree) At(index int) Node { return Node{t, int32(index)} }

// Errors returns the nodes that stand for what is not Python, outermost only: text that fits
// nowhere, or of no length where something is missing.
func (t *Tree) Errors() []Node {
	var found []Node
	for k := 0; k < len(t.nodes); {
		n := &t.nodes[k]
		switch {
		case n.flags&(isError|missing) != 0:
			found = append(found, Node{t, int32(k)})
			k = int(n.next)
		case n.flags&hasError == 0:
			k = int(n.next)
		default:
			k++
		}
	}
	return found
}

// Covering returns the smallest named node that has the bytes from start to end in it; the
// root where none has.
func (t *Tree) Covering(start, end int) Node {
	found := t.Root()
	for k := int32(0); int(k) < len(t.nodes); {
		n := &t.nodes[k]
		if int(n.start) > start || int(n.end) < end {
			k = max(n.next, k+1)
			continue
		}
		if n.flags&named != 0 {
			found = Node{t, k}
		}
		k++
	}
	return found
}

// Node is a node of a tree. The zero Node is none: it has no kind, text or children, so that
// a path of fields can be followed and only its end be looked at.
type Node struct {
	tree  *Tree
	index int32
}

// Ok reports whether there is a node.
func (n Node) Ok() bool { return n.tree != nil }

// Index returns the place of the node among all of its tree, in pre-order.
func (n Node) Index() int { return int(n.index) }

// Tree returns the tree that the node is in.
func (n Node) Tree() *Tree { return n.tree }

func (n Node) row() node {
	if n.tree == nil {
		return node{}
	}
	return n.tree.nodes[n.index]
}

// Kind returns what the node is, as "call"; keywords and punctuation are their own kind.
func (n Node) Kind() string {
	switch {
	case n.tree == nil:
		return ""
	case n.row().flags&isError != 0:
		return "ERROR"
	}
	return n.tree.grammar.kinds[n.row().kind]
}

// Is reports whether the node is of one of the kinds.
func (n Node) Is(kinds ...string) bool { return n.Ok() && slices.Contains(kinds, n.Kind()) }

// Named reports whether the node is more than a keyword or punctuation.
func (n Node) Named() bool { return n.row().flags&named != 0 }

// Extra reports whether the node may stand anywhere: a comment, or a line's continuation.
func (n Node) Extra() bool { return n.row().flags&extra != 0 }

// Missing reports whether the node has no text because something should be there.
func (n Node) Missing() bool { return n.row().flags&missing != 0 }

// HasError reports whether something in the node is not Python.
func (n Node) HasError() bool { return n.row().flags&(isError|missing|hasError) != 0 }

// Start returns the offset of the node's first byte in the source's text.
func (n Node) Start() int { return int(n.row().start) }

// End returns the offset behind the node's last byte.
func (n Node) End() int { return int(n.row().end) }

// Text returns the node's piece of the source.
func (n Node) Text() string {
	if n.tree == nil {
		return ""
	}
	return string(n.tree.Source.Text[n.Start():n.End()])
}

// Position returns where the node begins.
func (n Node) Position() Position {
	if n.tree == nil {
		return Position{}
	}
	return n.tree.Source.Position(n.Start())
}

// Parent returns the node that this one is in; none for the root.
func (n Node) Parent() Node {
	if p := n.row().parent; n.tree != nil && p >= 0 {
		return Node{n.tree, p}
	}
	return Node{}
}

// Ancestors yields the parent, its parent, and so on.
func (n Node) Ancestors() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for p := n.Parent(); p.Ok() && yield(p); p = p.Parent() {
		}
	}
}

// Enclosing returns the nearest ancestor of one of the kinds.
func (n Node) Enclosing(kinds ...string) Node {
	for p := range n.Ancestors() {
		if p.Is(kinds...) {
			return p
		}
	}
	return Node{}
}

// In reports whether other is this node or has it in it.
func (n Node) In(other Node) bool {
	return n.Ok() && n.tree == other.tree && n.index >= other.index && n.index < other.row().next
}

// AllChildren yields everything right below the node, punctuation and comments too.
func (n Node) AllChildren() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for k, end := n.index+1, n.row().next; k < end; k = n.tree.nodes[k].next {
			if !yield(Node{n.tree, k}) {
				return
			}
		}
	}
}

// Children yields the named nodes right below the node, without comments.
func (n Node) Children() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for c := range n.AllChildren() {
			if c.Named() && !c.Extra() && !yield(c) {
				return
			}
		}
	}
}

// Child returns the named child with a number, from 0, without comments.
func (n Node) Child(number int) Node {
	for c := range n.Children() {
		if number == 0 {
			return c
		}
		number--
	}
	return Node{}
}

// Field returns the first child under a field's name.
func (n Node) Field(name string) Node {
	for c := range n.Fields(name) {
		return c
	}
	return Node{}
}

// Fields yields the children under a field's name: an import has several names.
func (n Node) Fields(name string) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if n.tree == nil {
			return
		}
		id, known := n.tree.grammar.field[name]
		for c := range n.AllChildren() {
			if known && c.row().field == id && !c.Extra() && !yield(c) {
				return
			}
		}
	}
}

// FieldName returns the name of the field that the node is in its parent, if any.
func (n Node) FieldName() string {
	if n.tree == nil {
		return ""
	}
	return n.tree.grammar.fields[n.row().field]
}

// Descendants yields the node and all named nodes in it, in the order of the source.
func (n Node) Descendants() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for k, end := n.index, n.row().next; k < end; k++ {
			if n.tree.nodes[k].flags&named != 0 && !yield(Node{n.tree, k}) {
				return
			}
		}
	}
}
