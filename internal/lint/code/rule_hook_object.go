package code

import (
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// hookOfObjects reports a hook that objects of a class add to a module that they are given when they are made: where
// objects are made again and again for the same module, each leaves its hook, and with it what the hook keeps.
func (p *pass) hookOfObjects(c *pyscope.Call) {
	maker := p.Function(c.Node)
	if maker == nil || maker.Class == nil || maker.Name != "__init__" {
		return
	}
	at, param := p.hooked(c.Object, maker)
	if at < 0 {
		return
	}
	for _, made := range p.Calls {
		if made.Class != maker.Class || made.Open() {
			continue
		}
		if loop := p.sameEachRound(made, made.Arg(at, param), 0); loop != nil {
			p.report(c.Node, rules.Mistake{
				Rule: "leak/hook-cache", Severity: rules.Warning, Confidence: rules.Medium,
				Message: fmt.Sprintf("every %s adds one more hook to the %s that it is given, and none is removed", maker.Class.Name, param),
				Remedy:  "keep the handle, and call remove() when the object is done with",
				Related: []rules.Related{related(made.Node, "objects are made here"), related(loop.Node.Child(0), "for each round of this loop")},
			})
			return
		}
	}
}

// hooked returns which argument of an __init__ a hook is added to, or to a part of: encoder.get_submodule(name), or
// self.encoder where that was assigned the argument; -1 where it is none.
func (p *pass) hooked(object syntax.Node, maker *pyscope.Function) (at int, name string) {
	if place := p.Place(object); place != nil && place.Class == maker.Class && len(place.Stores()) == 1 {
		object = place.Stores()[0].Value
	}
	at = slices.IndexFunc(maker.Params, func(q pyscope.Param) bool {
		place := p.Place(q.Node)
		return q.Name != selfName(maker) && place != nil && p.mentions(baseOfParts(object), place)
	})
	if at < 0 {
		return at, ""
	}
	return at - 1, maker.Params[at].Name
}

// baseOfParts returns what an expression takes a part of: encoder of encoder.get_submodule(name).layers[0].
func baseOfParts(n syntax.Node) syntax.Node {
	for {
		switch n.Kind() {
		case "call":
			n = n.Field("function")
		case "attribute":
			n = n.Field("object")
		case "subscript":
			n = n.Field("value")
		default:
			return n
		}
	}
}

// sameEachRound returns the loop around a call, or around all calls of its function, in which an argument of it is
// the same in each round; nil where there is none.
func (p *pass) sameEachRound(c *pyscope.Call, arg syntax.Node, depth int) *pyscope.Loop {
	if !arg.Ok() || depth > 2 {
		return nil
	}
	if l := p.Loop(c.Node); l != nil {
		if l.Small() || p.setInLoop(arg, l) {
			return nil
		}
		return l
	}
	f := p.Function(c.Node)
	if f == nil || !arg.Is("identifier") || !isParam(f, arg) || len(f.Callers) == 0 || len(f.Callers) > mostCallers {
		return nil
	}
	at := slices.IndexFunc(f.Params, func(q pyscope.Param) bool { return q.Name == arg.Text() })
	if f.Method() {
		at--
	}
	var loop *pyscope.Loop
	for _, caller := range f.Callers {
		if caller.Open() {
			return nil
		}
		if loop = p.sameEachRound(caller, caller.Arg(at, arg.Text()), depth+1); loop == nil {
			return nil
		}
	}
	return loop
}
