package code

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkReferenceCycle looks for cycles that are sure: an object that stores itself or its own
// method, one that is given to a part which keeps it, two that store each other. Trees and
// graphs are full of those; they cost GPU memory where objects with tensors are made again and again.
func checkReferenceCycle(p *pass) {
	var judged tally
	for _, class := range p.Classes {
		if class.IsModule() || class.IsFunction() {
			continue
		}
		for _, s := range p.cycleStores(class) {
			if judged.over() {
				return
			}
			m := p.selfReference(class, "leak/reference-cycle", s.what, "make one direction a weakref.ref, or hand the object in where it is used instead of storing it")
			if m.Severity == rules.Warning && !p.tensorsIn(class) {
				m.Severity = rules.Info
			}
			p.report(s.at, m)
		}
	}
	p.peers()
}

// cycleStores returns where objects of a class come to refer to themselves, each with the message
// of it.
func (p *pass) cycleStores(class *pyscope.Class) []selfStore {
	var found []selfStore
	for _, s := range p.selfStores(class) {
		found = append(found, selfStore{s.at, fmt.Sprintf("%s is stored in the %s itself: a cycle, which is not freed when it goes out of use", s.what, class.Name)})
	}
	for _, f := range class.Methods {
		self := selfName(f)
		if self == "" {
			continue
		}
		for d := range f.Body().Descendants() {
			if !d.Is("assignment") || !attributeOf(d.Field("left"), self) {
				continue
			}
			if d.Field("right").Text() == self {
				found = append(found, selfStore{d, fmt.Sprintf("%s is the object itself: a cycle, which is not freed when it goes out of use", d.Field("left").Text())})
			} else if part := p.partKeeps(p.Call(d.Field("right")), self); part != "" {
				found = append(found, selfStore{d, fmt.Sprintf("%s keeps the %s that keeps it, as its %s: a cycle, which is not freed when it goes out of use", d.Field("left").Text(), class.Name, part)})
			}
		}
	}
	return found
}

// partKeeps returns the attribute under which an object that a call makes keeps the one that is
// given to it; empty where it does not.
func (p *pass) partKeeps(c *pyscope.Call, self string) string {
	if c == nil || c.Class == nil || c.Target == nil {
		return ""
	}
	for i, param := range c.Target.Params[min(1, len(c.Target.Params)):] {
		if c.Arg(i, param.Name).Text() != self {
			continue
		}
		if kept := p.keepsParam(c.Class, param.Name); kept.Ok() {
			return kept.Field("left").Field("attribute").Text()
		}
	}
	return ""
}

// tensorsIn reports whether objects of a class have to do with tensors: they get or make some,
// or are made with some.
func (p *pass) tensorsIn(class *pyscope.Class) bool {
	if p.holdsTensors(class).Ok() {
		return true
	}
	for _, c := range p.Calls {
		if c.Class == class {
			for d := range c.Node.Field("arguments").Descendants() {
				if inner := p.Call(d); inner != nil && (inner.Method == "cuda" || madeByTorch(inner)) {
					return true
				}
			}
		}
	}
	return false
}

// peers reports two objects of a function that store each other, with tensors on one of them.
func (p *pass) peers() {
	stored := map[edge]bool{}
	for d := range p.Tree.Root().Descendants() {
		for _, e := range p.edges(d) {
			if e.from == nil || e.to == nil || e.from == e.to || e.from.Base != nil || e.from.Class != nil || e.from.Scope != e.to.Scope || !p.fresh(e.from) || !p.fresh(e.to) {
				continue
			}
			stored[e] = true
			if stored[edge{e.to, e.from}] {
				p.reportPeers(d, e.from, e.to)
				break
			}
		}
	}
}

// edge says that an object refers to another one.
type edge struct{ from, to *pyscope.Place }

// edges returns what a statement makes refer to each other: a.x = b, a.xs.append(b).
func (p *pass) edges(n syntax.Node) []edge {
	var found []edge
	switch {
	case n.Is("assignment"):
		targets, values := pairs(n.Field("left"), n.Field("right"))
		for i, target := range targets {
			if target.Is("attribute") && values[i].Is("identifier") {
				found = append(found, edge{p.Place(target.Field("object")), p.Place(values[i])})
			}
		}
	case p.Call(n) != nil && p.Call(n).Method == "append" && p.Call(n).Object.Is("attribute"):
		if arg := p.Call(n).Arg(0, ""); arg.Is("identifier") {
			found = append(found, edge{p.Place(p.Call(n).Object.Field("object")), p.Place(arg)})
		}
	}
	return found
}

// fresh reports whether a name of a function holds an object that is made there.
func (p *pass) fresh(place *pyscope.Place) bool {
	for _, r := range place.Stores() {
		value := r.Value
		if r.Part >= 0 && value.Is("expression_list", "tuple") {
			value = value.Child(r.Part)
		}
		if r.How != pyscope.ByAssign || p.Call(value) == nil {
			return false
		}
	}
	return len(place.Stores()) > 0 && place.Scope.Kind == pyscope.FunctionScope
}

func (p *pass) reportPeers(at syntax.Node, a, b *pyscope.Place) {
	m := rules.Mistake{
		Rule: "leak/reference-cycle", Severity: rules.Info, Confidence: rules.Medium,
		Message: fmt.Sprintf("%s and %s refer to each other: a cycle, which is not freed when both go out of use", a, b),
		Remedy:  "make one direction a weakref.ref, or set it to None at the end of the step",
	}
	if why, ok := p.repeats(at); ok {
		for _, place := range []*pyscope.Place{a, b} {
			if held := p.tensorPut(place); held.Ok() {
				m.Severity = rules.Warning
				m.Related = []rules.Related{why, related(held, "a tensor that the cycle holds")}
			}
		}
	}
	p.report(at, m)
}

// tensorPut returns where an attribute of an object is set to a tensor.
func (p *pass) tensorPut(place *pyscope.Place) syntax.Node {
	for _, r := range place.Refs {
		target := r.Node.Parent()
		assigned := target.Parent()
		if !target.Is("attribute") || !assigned.Is("assignment") || assigned.Field("left") != target {
			continue
		}
		if p.makesTensors(assigned.Field("right")) || p.Value(assigned.Field("right")).Has(pyscope.Graph|pyscope.Tensor) {
			return assigned
		}
	}
	return syntax.Node{}
}
