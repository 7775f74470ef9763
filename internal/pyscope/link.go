package pyscope

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// link gives every reference its place, now that all names are declared, and finds who calls
// whom.
func (m *Module) link(pending []*Ref) {
	for _, c := range m.Classes {
		c.Parents = parents(c)
	}
	for _, r := range pending {
		m.linkRef(r)
	}
	for _, c := range m.Classes {
		for base := range c.Node.Field("superclasses").Children() {
			if !base.Is("keyword_argument") {
				c.Bases = append(c.Bases, m.Qualified(subscripted(base)))
			}
		}
	}
	for _, f := range m.Functions {
		for k := range f.Decorators {
			f.Decorators[k].Name = m.Qualified(calledName(f.Decorators[k].Node))
		}
	}
	m.joinObjects()
	m.linkCalls()
	m.findFrozen()
}

// joinObjects makes t.losses the same place as self.losses of T, where t is only ever a T().
func (m *Module) joinObjects() {
	for _, s := range m.Scopes {
		for _, p := range s.Names {
			if len(p.parts) == 0 || selfClass(p) != nil {
				continue
			}
			if c := m.objectClass(p); c != nil {
				joinParts(p, c)
			}
		}
	}
}

func joinParts(p *Place, c *Class) {
	for name, part := range p.parts {
		if isItem(name) || c.Method(name) != nil {
			continue
		}
		own := c.attr(name)
		for _, r := range part.Refs {
			r.Place = own
		}
		own.Refs = append(own.Refs, part.Refs...)
		slices.SortStableFunc(own.Refs, func(a, b *Ref) int { return a.at - b.at })
		p.parts[name] = own
	}
}

// parents returns the bases of a class that are classes of the module.
func parents(c *Class) []*Class {
	var found []*Class
	for base := range c.Node.Field("superclasses").Children() {
		if base = subscripted(base); !base.Is("identifier") {
			continue
		}
		if p := c.outer.look(base.Text()); p != nil && p.class != nil && p.class != c {
			found = append(found, p.class)
		}
	}
	return found
}

// subscripted returns C of C[T].
func subscripted(n syntax.Node) syntax.Node {
	if n.Is("subscript") {
		return n.Field("value")
	}
	return n
}

// calledName returns what is called by a call, else the node.
func calledName(n syntax.Node) syntax.Node {
	if n.Is("call") {
		return n.Field("function")
	}
	return n
}

func (m *Module) linkRef(r *Ref) {
	place := m.resolve(r)
	if place == nil {
		return
	}
	r.Place = place
	m.Refs = append(m.Refs, r)
	place.Refs = append(place.Refs, r)
	if r.Kind != Mutate && r.Kind != Shrink {
		m.refAt[r.Node.Index()] = r
	}
}

// resolve finds the place of a reference. What it is a part of came before it.
func (m *Module) resolve(r *Ref) *Place {
	if r.Kind == Mutate || r.Kind == Shrink {
		return m.holder(r.Node)
	}
	switch r.Node.Kind() {
	case "identifier":
		return r.Scope.look(r.Node.Text())
	case "attribute":
		base := m.Place(r.Node.Field("object"))
		if base == nil {
			return nil
		}
		name := r.Node.Field("attribute").Text()
		if name == "" { // x. with nothing behind it
			return nil
		}
		if c := selfClass(base); c != nil {
			return c.attr(name)
		}
		return base.part(name)
	case "subscript":
		if base := m.Place(r.Node.Field("value")); base != nil && constantKey(r.Node) {
			return base.part("[" + strings.ReplaceAll(r.Node.Field("subscript").Text(), "'", `"`) + "]")
		}
	}
	return nil
}

// holder returns the place that holds what an expression means: logs of logs[name], and of
// logs.setdefault(name, []).
func (m *Module) holder(n syntax.Node) *Place {
	for n.Ok() {
		if p := m.Place(n); p != nil {
			return p
		}
		switch {
		case n.Is("subscript"):
			n = n.Field("value")
		case n.Is("call") && n.Field("function").Field("attribute").Text() == "setdefault":
			n = n.Field("function").Field("object")
		default:
			return nil
		}
	}
	return nil
}

// selfClass returns the class whose object a place holds, because it is the first parameter of a
// method.
func selfClass(p *Place) *Class {
	if p.Base != nil || p.Scope.Kind != FunctionScope {
		return nil
	}
	if f := p.Scope.Function; f.Method() && f.Params[0].Name == p.Name {
		return f.Class
	}
	return nil
}

func (m *Module) linkCalls() {
	called := map[int]bool{} // nodes that name the function of a call
	for _, c := range m.Calls {
		c.Name = m.Qualified(c.Callee)
		c.Target, c.Class = m.target(c)
		if c.Name == "torch.set_grad_enabled" && c.Node.Parent().Is("expression_statement") {
			m.switchStatements = append(m.switchStatements, c)
		}
		called[c.Callee.Index()] = true
		if c.Target != nil {
			c.Target.Callers = append(c.Target.Callers, c)
		}
		if s := c.Scope.Code(); s.Function != nil {
			s.Function.Calls = append(s.Function.Calls, c)
		}
	}
	for _, f := range m.Functions {
		m.findEscapes(f, called)
	}
	for _, c := range m.Calls {
		m.noteBackward(c)
	}
}

// target finds which function of the module a call runs.
func (m *Module) target(c *Call) (*Function, *Class) {
	if f, class := m.callable(c.Callee); f != nil || class != nil {
		return f, class
	}
	if c.Method == "" {
		return nil, nil
	}
	if class := m.ObjectClass(c.Object); class != nil {
		return class.Method(c.Method), nil
	}
	return nil, nil
}

// callable returns the function or class of the module that an expression means.
func (m *Module) callable(n syntax.Node) (*Function, *Class) {
	p := m.Place(n)
	if p == nil {
		return nil, nil
	}
	if selfClass(baseOf(m, n)) != nil {
		if f := selfClass(baseOf(m, n)).Method(p.Name); f != nil {
			return f, nil
		}
	}
	for range 4 { // aliases of aliases
		switch {
		case p.class != nil:
			return p.class.Method("__init__"), p.class
		case p.function != nil:
			return p.function, nil
		}
		stores := p.Stores()
		if len(stores) != 1 || stores[0].How != ByAssign || stores[0].Part >= 0 {
			return nil, nil
		}
		if stores[0].Value.Is("lambda") {
			return m.scopeAt[stores[0].Value.Index()].Function, nil
		}
		if p = m.Place(stores[0].Value); p == nil {
			return nil, nil
		}
	}
	return nil, nil
}

// noPlace stands where there is none.
var noPlace = &Place{Scope: &Scope{}}

func baseOf(m *Module, n syntax.Node) *Place {
	if p := m.Place(n.Field("object")); n.Is("attribute") && p != nil {
		return p
	}
	return noPlace
}

// ObjectClass returns the class of the module that an expression is an object of: self, or a
// place that is only ever assigned a call of that class.
func (m *Module) ObjectClass(n syntax.Node) *Class {
	if p := m.Place(n); p != nil {
		return m.objectClass(p)
	}
	if c := m.Call(stripped(n)); c != nil {
		_, class := m.callable(c.Callee)
		return class
	}
	return nil
}

func (m *Module) objectClass(p *Place) *Class {
	if c := selfClass(p); c != nil {
		return c
	}
	var class *Class
	for _, r := range p.Stores() {
		call := m.Call(stripped(r.Value))
		if call == nil || r.Kind != Store || r.How != ByAssign || r.Part >= 0 {
			return nil
		}
		_, c := m.callable(call.Callee)
		if c == nil || class != nil && c != class {
			return nil
		}
		class = c
	}
	return class
}

// stripped returns a call without the methods behind it that return the object itself:
// Net() of Net().to(device).eval().
func stripped(n syntax.Node) syntax.Node {
	for n.Is("call") && n.Field("function").Is("attribute") {
		switch n.Field("function").Field("attribute").Text() {
		case "to", "cuda", "cpu", "eval", "train", "half", "bfloat16", "float", "double", "requires_grad_", "apply", "share_memory", "compile":
			n = n.Field("function").Field("object")
		default:
			return n
		}
	}
	return n
}

// findEscapes notes where a function is used other than by calling it.
func (m *Module) findEscapes(f *Function, called map[int]bool) {
	if f.Name == "" {
		f.escapesAsLambda()
		return
	}
	p := m.Place(f.Node.Field("name"))
	if p == nil {
		return
	}
	for _, r := range p.Refs {
		if r.Kind == Load && !called[r.Node.Index()] {
			f.Escapes = append(f.Escapes, r.Node)
		}
	}
}

// escapesAsLambda: a lambda is a value, unless it is assigned to a name, whose calls are known.
func (f *Function) escapesAsLambda() {
	if !f.Node.Parent().Is("assignment") {
		f.Escapes = append(f.Escapes, f.Node)
	}
}
