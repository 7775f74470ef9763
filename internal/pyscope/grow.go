package pyscope

import "github.com/ullage-dev/ullage/internal/syntax"

// Where tells where a place starts anew, as seen from something that happens to it in a loop.
type Where uint8

// Places of a new start, from the one that ends least to the one that ends most.
const (
	Never     Where = iota // nowhere in the module
	Elsewhere              // in another function, whenever that runs
	Before                 // before all loops, in the function around, or in __init__: it grows as long as they run
	Outer                  // in a loop around the innermost: it grows for one run of that
	Sometimes              // in some iterations, on a condition
	Each                   // in each iteration
)

// Reset returns the nearest new start of a place as seen from a node: a store of something that is
// not made of it, a delete, a clear(); how near it is, and the reference.
func (m *Module) Reset(p *Place, n syntax.Node) (Where, *Ref) {
	best, found := Never, (*Ref)(nil)
	for q := p; q != nil; q = q.Base { // acc = {} starts acc["loss"] anew
		for k, r := range q.Refs {
			if k > 10*maxStores {
				break
			}
			if !m.startsAnew(r, q) || r.Node == n {
				continue
			}
			if w := m.where(r, n); w > best {
				best, found = w, r
			}
		}
	}
	return best, found
}

func (m *Module) startsAnew(r *Ref, p *Place) bool {
	switch r.Kind {
	case Store:
		return r.How != ByDef && !m.mentions(r.Value, p)
	case Delete, Shrink:
		return true
	}
	return false
}

func (m *Module) where(r *Ref, n syntax.Node) Where {
	if code := m.Scope(n).Code(); r.Scope.Code() != code {
		if m.Loop(r.Node) == nil && (r.Scope.Code().around(code) || r.initial()) {
			return Before
		}
		return Elsewhere
	}
	inner := m.Loop(n)
	for k := inner; k != nil; k = k.Outer {
		switch {
		case !k.Has(r.Node) && !k.takes(r):
		case k != inner:
			return Outer
		case n.In(r.block()):
			return Each
		default:
			return Sometimes
		}
	}
	return Before
}

// around reports whether a scope's code is around another's.
func (s *Scope) around(inner *Scope) bool {
	for ; inner != nil; inner = inner.Parent {
		if inner == s {
			return true
		}
	}
	return false
}

// initial reports whether a store is in __init__, or in a class's body.
func (r *Ref) initial() bool {
	s := r.Scope.Code()
	return s.Kind == ClassScope || s.Function != nil && s.Function.Class != nil && s.Function.Name == "__init__"
}

// takes reports whether a store is the target of the loop's own for.
func (l *Loop) takes(r *Ref) bool {
	return r.How == ByFor && (r.Node.Enclosing("for_statement") == l.Node || r.Node.Enclosing("for_in_clause").Parent() == l.Node)
}

// mentions reports whether an expression uses a place.
func (m *Module) mentions(n syntax.Node, p *Place) bool {
	if !n.Ok() {
		return false
	}
	for c := range n.Descendants() {
		if r := m.Ref(c); r != nil && r.Place == p {
			return true
		}
	}
	return false
}

// Growth is a place that more and more is added to.
type Growth struct {
	Repeat Repeat // what makes the addition run again and again
	Where  Where  // the nearest new start: never Each
	Reset  *Ref   // that start; may be nil
}

// Grows tells whether what a node adds to a place, by +=, append or the like, adds up: the node is
// repeated, and the place outlives the repetition. It looks at the loops within which the place
// does not start anew; if there is none, and the place is not the function's own, at the function
// being called again and again. Nil is "not that the module shows".
func (m *Module) Grows(p *Place, n syntax.Node) *Growth {
	where, reset := m.Reset(p, n)
	if where == Each {
		return nil
	}
	for l := m.Loop(n); l != nil; l = l.Outer {
		if reset != nil && (l.Has(reset.Node) || l.takes(reset)) && where != Sometimes {
			return nil
		}
		if !l.Small() {
			return &Growth{m.ofLoop(l), where, reset}
		}
	}
	if m.local(p, n) || reset != nil && reset.Scope.Code() == m.Scope(n).Code() {
		return nil
	}
	f := m.Function(n)
	if f == nil {
		return nil
	}
	if r := m.calledAgain(f, 0); r != nil {
		return &Growth{*r, where, reset}
	}
	return nil
}

// local reports whether a place lives no longer than one call of the function that a node is
// in: a name of the function itself, and not a parameter that brings an object along.
func (m *Module) local(p *Place, n syntax.Node) bool {
	root := p.Root()
	if root.Class != nil || root.Scope != m.Scope(n).Code() || root.Scope.Kind == ModuleScope {
		return false
	}
	for _, r := range root.Refs {
		if r.How == ByParam {
			return p == root && len(p.Mutations()) == 0
		}
	}
	return true
}

// Container reports whether a place is sure to hold a list, dict, set or deque at some time.
func (p *Place) Container() bool {
	for k, r := range p.Refs {
		if k > maxStores {
			break
		}
		if r.Kind == Store && isContainer(r) {
			return true
		}
	}
	return false
}
