package code

import (
	"slices"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// Whether something happens once or again and again decides whether it is a leak.

// repeats reports whether a node runs again and again, and what makes it.
func (p *pass) repeats(n syntax.Node) (rules.Related, bool) {
	r := p.Repeated(n)
	if r == nil {
		return rules.Related{}, false
	}
	at := r.Node
	if at.Is("for_statement", "while_statement") { // its head: the whole of it is many lines
		at = at.Child(0)
	}
	return related(at, "this makes it run again and again"), true
}

// mostJudged is how many candidates of one rule are looked at in a source. The rules go over
// all calls for each; a source with more is made by a program, if not to be slow to check.
const mostJudged = 300

// tally counts candidates.
type tally int

// over counts one more, and reports whether they are too many.
func (t *tally) over() bool {
	*t++
	return *t > mostJudged
}

// madeInLoop returns a call that makes objects of a class, or of one derived from it, in a for
// or while: a sweep, folds, one for each batch. Layers that a module makes of
// itself are parts of it and do not count.
func (p *pass) madeInLoop(class *pyscope.Class) *pyscope.Call {
	for _, c := range p.Calls {
		if c.Class == nil || !slices.Contains(c.Class.Lineage(), class) {
			continue
		}
		if in := p.Class(c.Node); in != nil && (in.IsModule() || in == class) {
			continue
		}
		if l := p.Loop(c.Node); l != nil && l.Node.Is("for_statement", "while_statement") && !p.keptInList(c.Node) {
			return c
		}
		if l := p.Loop(c.Node); l == nil && p.calledInLoop(c.Node) {
			return c
		}
	}
	return nil
}

// keptInList reports whether the value of a call goes into a list at once: such objects live on
// whether or not they refer to themselves.
func (p *pass) keptInList(call syntax.Node) bool {
	parent := call.Parent()
	return parent.Is("argument_list") && p.Call(parent.Parent()) != nil && p.Call(parent.Parent()).Method == "append"
}

// calledInLoop reports whether all that is known of who runs a node is that a loop does.
func (p *pass) calledInLoop(n syntax.Node) bool {
	f := p.Function(n)
	if f == nil {
		return false
	}
	for _, c := range f.Callers {
		if l := p.Loop(c.Node); l != nil && l.Node.Is("for_statement", "while_statement") {
			return true
		}
	}
	return false
}

// emptied returns what makes a place that is filled empty again: a clear, a delete, or a
// store outside of the function that makes the object; nil where nothing does.
func (p *pass) emptied(place *pyscope.Place) *pyscope.Ref {
	for _, r := range place.Refs {
		switch {
		case r.Kind == pyscope.Shrink, r.Kind == pyscope.Delete:
			return r
		case r.Kind == pyscope.Store && r.How == pyscope.ByAssign && !p.creates(r):
			return r
		}
	}
	return nil
}

// creates reports whether a store is the one that makes a container: in __init__ for an
// attribute, at the level where the name lives for others.
func (p *pass) creates(r *pyscope.Ref) bool {
	if r.Place.Class == nil {
		first := r.Place.Stores()[0]
		return r == first
	}
	f := p.Function(r.Node)
	return f == nil || f.Name == "__init__" || f.Name == "__post_init__" || f.Name == "setup"
}

// inside reports whether a node is in the body of a function, or of one within it.
func inside(n syntax.Node, f *pyscope.Function) bool { return f != nil && n.In(f.Node) }

// outermost returns the function around a node that no other is around; nil at module level.
func (p *pass) outermost(n syntax.Node) *pyscope.Function {
	f := p.Function(n)
	for f != nil && f.Outer != nil {
		f = f.Outer
	}
	return f
}
