package pyscope

import "github.com/ullage-dev/ullage/internal/syntax"

func (b *builder) decorated(n syntax.Node, s *Scope) {
	var nodes []syntax.Node
	for c := range n.Children() {
		if c.Is("decorator") {
			nodes = append(nodes, c.Child(0))
			b.visit(c.Child(0), s)
		}
	}
	definition := n.Field("definition")
	if definition.Is("class_definition") {
		b.classDefinition(definition, s)
		return
	}
	b.function(definition, nodes, s)
}

func (b *builder) function(n syntax.Node, decorators []syntax.Node, s *Scope) {
	name := n.Field("name")
	f := &Function{Node: n, Name: name.Text(), Class: b.class, Outer: b.fn}
	for _, d := range decorators {
		f.Decorators = append(f.Decorators, Decorator{Node: d})
	}
	f.Scope = b.m.open(FunctionScope, n, s)
	f.Scope.Function = f
	b.m.Functions = append(b.m.Functions, f)
	if b.class != nil {
		b.class.Methods = append(b.class.Methods, f)
	}
	place := s.declare(name.Text())
	if place != nil {
		place.function = f
	}
	b.ref(Ref{Kind: Store, How: ByDef, Node: name, Scope: s, Part: -1, at: n.End()})
	b.params(f, n.Field("parameters"), s)
	b.visit(n.Field("return_type"), s)
	b.inside(f, nil, func() { b.visit(n.Field("body"), f.Scope) })
}

func (b *builder) lambda(n syntax.Node, s *Scope) {
	f := &Function{Node: n, Outer: b.fn, Returns: []syntax.Node{n.Field("body")}}
	f.Scope = b.m.open(LambdaScope, n, s)
	f.Scope.Function = f
	b.m.Functions = append(b.m.Functions, f)
	b.params(f, n.Field("parameters"), s)
	b.inside(f, nil, func() { b.visit(n.Field("body"), f.Scope) })
}

// inside visits the body of a function or class: the loops around it are not around its code.
func (b *builder) inside(f *Function, c *Class, body func()) {
	fn, class, loop := b.fn, b.class, b.loop
	b.fn, b.class, b.loop = f, c, nil
	body()
	b.fn, b.class, b.loop = fn, class, loop
}

func (b *builder) params(f *Function, list syntax.Node, s *Scope) {
	keyOnly := false
	for c := range list.Children() {
		p := Param{Name: c.Text(), Node: c, KeyOnly: keyOnly}
		switch c.Kind() {
		case "keyword_separator":
			keyOnly = true
			continue
		case "default_parameter", "typed_default_parameter":
			p.Node, p.Default, p.Type = c.Field("name"), c.Field("value"), c.Field("type")
		case "typed_parameter":
			p.Node, p.Type = c.Child(0), c.Field("type")
		}
		if p.Node.Is("list_splat_pattern", "dictionary_splat_pattern") {
			p.Star = map[bool]string{true: "*", false: "**"}[p.Node.Is("list_splat_pattern")]
			p.Node, keyOnly = p.Node.Child(0), true
		}
		if !p.Node.Is("identifier") {
			continue
		}
		p.Name = p.Node.Text()
		f.Params = append(f.Params, p)
		b.visit(p.Default, s)
		b.visit(p.Type, s)
		b.store(p.Node, f.Scope, Ref{Kind: Store, How: ByParam, Value: p.Default, Part: -1, at: p.Node.Start()})
	}
}

func (b *builder) classDefinition(n syntax.Node, s *Scope) {
	name := n.Field("name")
	c := &Class{Node: n, Name: name.Text(), stored: map[string]bool{}, attrs: map[string]*Place{}, outer: s}
	c.Scope = b.m.open(ClassScope, n, s)
	c.Scope.Class = c
	b.m.Classes = append(b.m.Classes, c)
	if place := s.declare(name.Text()); place != nil {
		place.class = c
	}
	b.ref(Ref{Kind: Store, How: ByDef, Node: name, Scope: s, Part: -1, at: n.End()})
	b.visit(n.Field("superclasses"), s)
	b.inside(b.fn, c, func() { b.visit(n.Field("body"), c.Scope) })
}

// comprehension visits the clauses before the body, as Python runs them. All of it but the
// first iterable is a loop.
func (b *builder) comprehension(n syntax.Node, s *Scope) {
	inner := b.m.open(ComprehensionScope, n, s)
	outer := b.loop
	first := true
	for c := range n.Children() {
		switch {
		case c.Is("for_in_clause"):
			if first {
				b.visit(c.Field("right"), s)
				b.openLoop(n)
			} else {
				b.visit(c.Field("right"), inner)
			}
			first = false
			b.store(c.Field("left"), inner, Ref{Kind: Store, How: ByFor, Value: c.Field("right"), Part: -1, at: n.Start()})
		case c.Is("if_clause"):
			b.visitAll(c, inner)
		}
	}
	b.visit(n.Field("body"), inner)
	b.loop = outer
}

func (b *builder) call(n syntax.Node, s *Scope) {
	callee := n.Field("function")
	c := &Call{Node: n, Callee: callee, Scope: s}
	if callee.Is("attribute") {
		c.Method, c.Object = callee.Field("attribute").Text(), callee.Field("object")
	}
	b.m.Calls = append(b.m.Calls, c)
	b.m.callAt[n.Index()] = c
	b.visit(callee, s)
	b.visit(n.Field("arguments"), s)
	switch {
	case c.Method == "detach_" && n.Parent().Is("expression_statement"): // as x = x.detach()
		b.store(c.Object, s, Ref{Kind: Store, How: ByAssign, Value: n, Part: -1, at: n.End()})
	case grows[c.Method]:
		for _, a := range c.Args() {
			b.ref(Ref{Kind: Mutate, Node: c.Object, Value: a, Part: -1, Method: c.Method, Scope: s, at: n.End()})
		}
	case shrinks[c.Method]:
		b.ref(Ref{Kind: Shrink, Node: c.Object, Part: -1, Method: c.Method, Scope: s, at: n.End()})
	}
}

// grows are the methods by which a container takes something in.
var grows = map[string]bool{
	"append": true, "extend": true, "add": true, "add_": true, "update": true, "insert": true, "appendleft": true,
	"put": true, "put_nowait": true, "setdefault": true, "push": true, "enqueue": true,
}

// shrinks are the methods by which a container, or a metric, lets go of what it holds.
var shrinks = map[string]bool{
	"clear": true, "pop": true, "popleft": true, "popitem": true, "remove": true, "discard": true,
	"reset": true, "zero_": true,
}

// visitRest visits the calls and lambdas that stand where Python has none, as among parameters, so
// that every one is known whatever the source is.
func (b *builder) visitRest() {
	for n := range b.m.Tree.Root().Descendants() {
		if n.Is("call") && b.m.callAt[n.Index()] == nil || n.Is("lambda") && b.m.scopeAt[n.Index()] == nil {
			b.visit(n, b.m.Top)
		}
	}
}
