package viewer

import (
	"math"
	"slices"

	"github.com/ullage-dev/ullage/internal/analyze"
)

// flameJSON is memory by stack. Bytes and blocks of a node are those of everything
// below it and its own.
type flameJSON struct {
	TotalBytes int64      `json:"total_bytes"`
	Blocks     int        `json:"blocks"`
	LeftOut    int        `json:"left_out"` // nodes that were cut: their bytes are their parents' own
	Nodes      flameNodes `json:"nodes"`
	Names      []string   `json:"names"`
}

// flameNodes are nodes depth first, the widest of siblings first.
type flameNodes struct {
	Parent []int               `json:"parent"` // -1 is the root
	Name   []int               `json:"name"`
	Bytes  []int64             `json:"bytes"`
	Blocks []int               `json:"blocks"`
	Kind   []analyze.FrameKind `json:"kind"` // "" for what stands for a stack without frames
}

// maxFlameNodes is how many nodes an answer has at the most: more than there are pixels.
// Where there would be more, the smallest are cut.
const maxFlameNodes = 20_000

// answerFlame answers with what is live after an event, or was allocated in a range, by stack.
func answerFlame(d *Device, q *query) (any, error) {
	opt := flameOptions{invert: q.flag("invert", false), library: q.flag("library", true), minBytes: int64(q.number("min", 0, 0, math.MaxInt))}
	event := q.event("event", d, d.TL.Peak.Allocated.Event)
	from := q.event("from", d, -1)
	to := q.event("to", d, d.Events()-1)
	isRange := q.has("from") || q.has("to")
	switch {
	case q.err != nil:
		return nil, q.err
	case isRange && q.has("event"):
		return nil, badRequestf("event is for what is live after it, from and to for what was allocated: only one of both")
	case from > to:
		return nil, badRequestf("from=%d is behind to=%d", from, to)
	}
	if isRange {
		return newFlameTree(d, d.LOD.FoldBorn(from, to+1, d.flameGroup), opt).json(), nil
	}
	return newFlameTree(d, d.LOD.FoldLive(event, d.flameGroup), opt).json(), nil
}

// json lists the nodes that are large enough, with the names that they use.
func (t *flameTree) json() *flameJSON {
	j := &flameJSON{TotalBytes: t.root.bytes, Blocks: t.root.blocks, Names: []string{}}
	j.Nodes = flameNodes{[]int{}, []int{}, []int64{}, []int{}, []analyze.FrameKind{}}
	l := flameLister{flameJSON: j, least: max(t.opt.minBytes, t.root.least(maxFlameNodes)), of: t.names, named: make(map[int]int)}
	l.list(&t.root, -1)
	return j
}

// least returns how large the nodes must be of which there are at most n.
func (n *flameNode) least(most int) int64 {
	if n.count() <= most {
		return 0
	}
	var sizes []int64
	var walk func(*flameNode)
	walk = func(n *flameNode) {
		for _, k := range n.kids {
			sizes = append(sizes, k.bytes)
			walk(k)
		}
	}
	walk(n)
	slices.Sort(sizes)
	return sizes[len(sizes)-most] + 1
}

type flameLister struct {
	*flameJSON
	least int64
	of    []string
	named map[int]int // names that are used: their place in Names
}

func (l *flameLister) list(n *flameNode, at int) {
	for _, k := range n.kids {
		if k.bytes < l.least {
			l.LeftOut += 1 + k.count()
			continue
		}
		place := len(l.Nodes.Parent)
		l.Nodes.Parent = append(l.Nodes.Parent, at)
		l.Nodes.Name = append(l.Nodes.Name, l.name(k.name))
		l.Nodes.Bytes = append(l.Nodes.Bytes, k.bytes)
		l.Nodes.Blocks = append(l.Nodes.Blocks, k.blocks)
		l.Nodes.Kind = append(l.Nodes.Kind, k.kind)
		l.list(k, place)
	}
}

func (l *flameLister) name(n int) int {
	place, ok := l.named[n]
	if !ok {
		place = len(l.Names)
		l.named[n] = place
		l.Names = append(l.Names, l.of[n])
	}
	return place
}
