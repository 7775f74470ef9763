package code

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// registersHook are the methods of a module that take a hook for its calls.
var registersHook = map[string]bool{
	"register_forward_hook": true, "register_forward_pre_hook": true, "register_full_backward_hook": true,
	"register_backward_hook": true, "register_full_backward_pre_hook": true,
}

// checkHookCache looks at hooks: at those that keep what they are given, once for each call,
// and at those that are added anew in each round of a loop.
func checkHookCache(p *pass) {
	var judged tally
	seen := map[*pyscope.Function]bool{}
	for _, c := range p.Calls {
		if !registersHook[c.Method] || judged.over() || !p.hookStays(c) {
			continue
		}
		for _, h := range p.hooksOf(c.Arg(0, "hook")) {
			if !seen[h.f] {
				seen[h.f] = true
				p.hookStores(c, h)
			}
		}
		p.hookAddedAgain(c)
		p.hookOfObjects(c)
	}
}

// hookStays reports whether nothing takes a hook away again: its handle is thrown away, or
// kept in a source that never calls remove().
func (p *pass) hookStays(c *pyscope.Call) bool {
	parent := c.Node.Parent()
	if parent.Is("with_item") || parent.Is("as_pattern") {
		return false
	}
	if parent.Is("expression_statement") {
		return true
	}
	for _, other := range p.Calls {
		if other.Method == "remove" && len(other.Args()) == 0 {
			return false
		}
	}
	return !parent.Is("return_statement", "yield") && !parent.Parent().Is("return_statement")
}

// hook is a function that is registered, and what of its parameters are tensors.
type hook struct {
	f       *pyscope.Function
	tensors []pyscope.Param
}

// hooksOf returns the functions that an argument of register_forward_hook is, as far as the
// source shows: a lambda, a function, a method, the function that a call returns.
func (p *pass) hooksOf(n syntax.Node) []hook {
	skip := 0
	if c := p.Call(n); c != nil {
		if c.Name == "functools.partial" {
			skip, n = len(c.Args())-1, c.Arg(0, "")
		} else {
			return p.hooksReturned(c)
		}
	}
	f := p.functionOf(n)
	if f == nil {
		return nil
	}
	if selfName(f) != "" {
		skip++
	}
	return oneHook(f, skip)
}

// oneHook drops the parameters that are bound already, and the module in front.
func oneHook(f *pyscope.Function, skip int) []hook {
	if len(f.Params) <= skip+1 {
		return nil
	}
	given := slices.DeleteFunc(slices.Clone(f.Params[skip+1:]), hasOwnValue)
	return []hook{{f, given}}
}

// hasOwnValue reports whether a parameter has a value from where the hook was made, as in
// lambda module, inputs, name=name: the module passes none for it.
func hasOwnValue(p pyscope.Param) bool { return p.Default.Ok() && !p.Default.Is("none") }

// hooksReturned is for register_forward_hook(make_hook(name)).
func (p *pass) hooksReturned(c *pyscope.Call) []hook {
	if c.Target == nil || c.Class != nil {
		return nil
	}
	var found []hook
	for _, r := range c.Target.Returns {
		if f := p.functionOf(r); f != nil {
			found = append(found, oneHook(f, 0)...)
		}
	}
	return found
}

// functionOf returns the function of the module that an expression is: a lambda, a name, self.method.
func (p *pass) functionOf(n syntax.Node) *pyscope.Function {
	for _, f := range p.Functions {
		if f.Node == n {
			return f
		}
	}
	if n.Is("attribute") {
		if class := p.ObjectClass(n.Field("object")); class != nil {
			return class.Method(n.Field("attribute").Text())
		}
		return nil
	}
	place := p.Place(n)
	if place == nil {
		return nil
	}
	for _, f := range p.Functions {
		if f.Name != "" && p.Place(f.Node.Field("name")) == place {
			return f
		}
	}
	return nil
}

// carrier tells what values in a hook carry: its tensors come with their graph.
func (h hook) carrier(p *pass) carrier {
	return carrier{p: p, leaf: func(n syntax.Node) (carry, bool) {
		if !n.Is("identifier") {
			return carriesNothing, false
		}
		place := p.Place(n)
		for _, param := range h.tensors {
			if place != nil && place == p.Place(param.Node) && len(place.Stores()) == 1 {
				return carriesGraph, true
			}
		}
		return carriesNothing, false
	}}
}

// hookStores reports what a hook keeps.
func (p *pass) hookStores(c *pyscope.Call, h hook) {
	k := h.carrier(p)
	for d := range h.f.Body().Descendants() {
		if p.Function(d) != h.f {
			continue
		}
		switch {
		case d.Is("call"):
			p.hookAppends(c, h, p.Call(d), k)
		case d.Is("assignment") && h.outlives(p, d.Field("left")) && k.of(d.Field("right")) == carriesGraph:
			p.report(d, rules.Mistake{
				Rule: "leak/hook-cache", Severity: rules.Info, Confidence: rules.Medium,
				Message: fmt.Sprintf("the hook keeps %s in %s with its graph until the next call", short(d.Field("right")), short(d.Field("left"))),
				Remedy:  fmt.Sprintf("store %s.detach()", short(d.Field("right"))),
				Related: []rules.Related{related(c.Node, "the hook is registered here")},
			})
		}
	}
}

// outlives reports whether a target is something that is there after the hook: an attribute or item,
// and not of the arguments that the hook changes.
func (h hook) outlives(p *pass, target syntax.Node) bool {
	if !target.Is("attribute", "subscript") {
		return false
	}
	place := p.Place(container(target))
	for place != nil && place.Base != nil {
		place = place.Base
	}
	for _, param := range h.tensors {
		if place != nil && place == p.Place(param.Node) {
			return false
		}
	}
	return true
}

// hookAppends reports a hook that appends a tensor to something that is never emptied.
func (p *pass) hookAppends(register *pyscope.Call, h hook, c *pyscope.Call, k carrier) {
	if c == nil || c.Method != "append" && c.Method != "extend" && c.Method != "appendleft" {
		return
	}
	kept := k.of(c.Arg(0, ""))
	place := p.Place(container(c.Object))
	if kept < carriesTensor || place == nil || place.Scope == h.f.Scope || p.bounded(place) || p.emptied(place) != nil {
		return
	}
	remedy := fmt.Sprintf("keep the handle and call remove() when %s is read, and empty it", place)
	if kept == carriesGraph {
		remedy = fmt.Sprintf("append %s.detach(), ", short(c.Arg(0, ""))) + remedy
	}
	p.report(c.Node, rules.Mistake{
		Rule: "leak/hook-cache", Severity: rules.Warning, Confidence: rules.Medium,
		Message: fmt.Sprintf("the hook appends %s to %s in every forward, and nothing empties it", kept, place),
		Remedy:  remedy,
		Related: []rules.Related{related(register.Node, "the hook is registered here, and its handle is not used to remove it")},
	})
}

// container returns what holds the list that something is appended to: features of
// features[name], values of values.setdefault(name, []).
func container(n syntax.Node) syntax.Node {
	for {
		switch {
		case n.Is("subscript"):
			n = n.Field("value")
		case n.Is("call") && n.Field("function").Is("attribute") && n.Field("function").Field("attribute").Text() == "setdefault":
			n = n.Field("function").Field("object")
		default:
			return n
		}
	}
}

// bounded reports whether a container is a deque with a length.
func (p *pass) bounded(place *pyscope.Place) bool {
	for _, r := range place.Stores() {
		if strings.Contains(r.Value.Text(), "maxlen") {
			return true
		}
	}
	return false
}

// hookAddedAgain reports a hook that a loop adds to the same module in each round.
func (p *pass) hookAddedAgain(c *pyscope.Call) {
	loop := p.loopStatement(c.Node)
	if loop == nil || loop.Small() || p.setInLoop(c.Object, loop) || p.overHooks(c.Arg(0, "hook"), loop) {
		return
	}
	p.report(c.Node, rules.Mistake{
		Rule: "leak/hook-cache", Severity: rules.Warning, Confidence: rules.Medium,
		Message: fmt.Sprintf("every round of the loop adds one more hook to %s, and none is removed", short(c.Object)),
		Remedy:  "register the hook once before the loop, or keep its handle and call remove() at the end of the round",
		Related: []rules.Related{related(loop.Node.Child(0), "the loop")},
	})
}

// overHooks reports whether a loop goes over hooks, to give each to another module.
func (p *pass) overHooks(callback syntax.Node, loop *pyscope.Loop) bool {
	if strings.Contains(loop.Over().Text(), "hook") {
		return true
	}
	place := p.Place(callback)
	return place != nil && len(place.Stores()) > 0 && place.Stores()[0].How == pyscope.ByFor
}

// setInLoop reports whether an expression may be another thing in each round of a loop: it uses
// what the loop, or a loop in it, sets.
func (p *pass) setInLoop(n syntax.Node, loop *pyscope.Loop) bool {
	for d := range n.Descendants() {
		place := p.Place(d)
		if place == nil {
			continue
		}
		for _, r := range place.Root().Stores() {
			if r.Node.In(loop.Node) && !r.Node.In(loop.Over()) {
				return true
			}
		}
	}
	return false
}
