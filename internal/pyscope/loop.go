package pyscope

import (
	"strconv"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// Loop is a for, a while or a comprehension.
type Loop struct {
	Node     syntax.Node
	Outer    *Loop // around it in the same function
	Function *Function

	m *Module
}

// Loop returns the innermost loop that runs a node again and again, in the same function. What
// a for iterates over is outside of it.
func (m *Module) Loop(n syntax.Node) *Loop {
	child := n
	for p := range n.Ancestors() {
		if l := m.loopAt[p.Index()]; l != nil && l.repeats(child) {
			return l
		}
		if s := m.scopeAt[p.Index()]; s != nil && s.Kind != ComprehensionScope && insideScope(s, child) {
			return nil
		}
		child = p
	}
	return nil
}

// repeats reports whether a direct child of the loop's node runs in each iteration.
func (l *Loop) repeats(child syntax.Node) bool {
	switch child.FieldName() {
	case "alternative":
		return false
	case "right":
		return false
	}
	if child.Is("for_in_clause") { // the first iterable, and targets; near enough
		return false
	}
	return true
}

// Has reports whether a node runs in each iteration of the loop, or of one within it.
func (l *Loop) Has(n syntax.Node) bool {
	for k := l.m.Loop(n); k != nil; k = k.Outer {
		if k == l {
			return true
		}
	}
	return false
}

// Over returns what a for iterates over; none for a while.
func (l *Loop) Over() syntax.Node {
	if l.Node.Is("for_statement") {
		return l.Node.Field("right")
	}
	for c := range l.Node.Children() {
		if c.Is("for_in_clause") {
			return c.Field("right")
		}
	}
	return syntax.Node{}
}

// small is how many iterations do no harm: as many layers, phases or folds as people write out.
const small = 16

// Small reports whether the loop is sure to end after a few iterations: over a literal, or a
// range of at most 16.
func (l *Loop) Small() bool { return l.m.smallIterable(l.Over(), 0) }

func (m *Module) smallIterable(n syntax.Node, depth int) bool {
	if depth > 4 {
		return false
	}
	switch n.Kind() {
	case "list", "tuple", "set", "dictionary", "expression_list":
		return !hasSplat(elements(n))
	case "call":
		return m.smallCall(m.Call(n), depth)
	case "identifier":
		if p := m.Place(n); p != nil && len(p.Stores()) == 1 && len(p.Mutations()) == 0 {
			r := p.Stores()[0]
			return r.How == ByAssign && r.Part < 0 && m.smallIterable(r.Value, depth+1)
		}
	}
	return false
}

func (m *Module) smallCall(c *Call, depth int) bool {
	args := c.Args()
	if len(args) == 0 {
		return c.Method == "items" && m.smallIterable(c.Object, depth+1)
	}
	switch c.Name {
	case "range":
		if len(args) == 3 && args[2].Is("unary_operator") { // range(1000, 0, -1) counts down from its start
			args = args[:1]
		}
		n, ok := m.Int(args[min(1, len(args)-1)])
		return ok && n <= small
	case "enumerate", "reversed", "sorted", "list", "tuple", "zip", "tqdm.tqdm":
		for _, a := range args {
			if m.smallIterable(a, depth+1) {
				return true
			}
		}
	}
	return false
}

// Int returns the integer that an expression is: written out, or a name that is only ever
// assigned one.
func (m *Module) Int(n syntax.Node) (int, bool) {
	if p := m.Place(n); p != nil && n.Is("identifier") {
		stores := p.Stores()
		if len(stores) != 1 || stores[0].Kind != Store || stores[0].How != ByAssign || stores[0].Part >= 0 {
			return 0, false
		}
		n = stores[0].Value
	}
	if !n.Is("integer") {
		return 0, false
	}
	v, err := strconv.Atoi(n.Text())
	return v, err == nil
}
