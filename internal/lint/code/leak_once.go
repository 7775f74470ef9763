package code

import (
	"fmt"
	"regexp"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// Whether something happens once or again and again decides whether it is a leak.

// perStep matches the names of functions that are called for each batch, by people's own
// loops and by frameworks.
var perStep = regexp.MustCompile(`^(_?((train|training|optimi[sz]e|update|run|do|fit|learn|inner)_)?(one_)?(step|batch|iter|iteration)(_fn)?|closure|learn|optimize_parameters|optimi[sz]e_model|backward_pass|update_(model|network|networks|policy|actor|critic|parameters|weights|params|generator|discriminator)|train_on_batch|on_train_batch_(start|end))$`)

// repeats reports whether a node runs again and again, and why: in a loop, in a function
// that is named for a step, or called in a loop.
func (p *pass) repeats(n syntax.Node) (string, bool) { return p.repeatsAt(n, 0) }

func (p *pass) repeatsAt(n syntax.Node, depth int) (string, bool) {
	if l := p.loopStatement(n); l != nil {
		return fmt.Sprintf("line %d: the loop", p.Line(l.Node)), true
	}
	f := p.Function(n)
	if f == nil || depth > 3 {
		return "", false
	}
	if perStep.MatchString(f.Name) {
		return fmt.Sprintf("line %d: %s runs once a step", p.Line(f.Node), f.Name), true
	}
	for _, c := range f.Callers {
		if why, ok := p.repeatsAt(c.Node, depth+1); ok && p.Function(c.Node) != f {
			if depth == 0 && p.loopStatement(c.Node) != nil {
				why = fmt.Sprintf("line %d: %s is called in a loop", p.Line(c.Node), f.Name)
			}
			return why, true
		}
	}
	return "", false
}

// madeInLoop returns a call that makes objects of a class, or of one derived from it, in a for
// or while: a sweep, folds, one for each batch. Layers that a module makes of
// itself are parts of it and do not count.
func (p *pass) madeInLoop(class *pyscope.Class) *pyscope.Call {
	for _, c := range p.Calls {
		if c.Class == nil || !derives(c.Class, class) {
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

func derives(class, base *pyscope.Class) bool {
	for _, k := range class.Lineage() {
		if k == base {
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
