package pyscope

import (
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// builder goes over a tree twice: the first time it opens scopes, declares what is assigned
// in them and notes every reference; then, when all names are known, it gives each reference its
// place. In Python a name that is assigned anywhere in a function is the function's everywhere.
type builder struct {
	m       *Module
	pending []*Ref
	class   *Class    // whose body is visited
	fn      *Function // in whose body is visited
	loop    *Loop
}

// visit is for what is evaluated: statements, and expressions whose value is used.
func (b *builder) visit(n syntax.Node, s *Scope) {
	switch n.Kind() {
	case "identifier":
		b.ref(Ref{Kind: Load, Node: n, Scope: s})
	case "attribute":
		b.visit(n.Field("object"), s)
		b.ref(Ref{Kind: Load, Node: n, Scope: s})
	case "subscript":
		b.visitAll(n, s)
		b.ref(Ref{Kind: Load, Node: n, Scope: s})
	case "call":
		b.call(n, s)
	case "keyword_argument":
		b.visit(n.Field("value"), s)
	case "named_expression":
		b.visit(n.Field("value"), s)
		b.store(n.Field("name"), s.Code(), Ref{Kind: Store, How: ByWalrus, Value: n.Field("value"), Part: -1, at: n.End()})
	case "lambda":
		b.lambda(n, s)
	case "list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression":
		b.comprehension(n, s)
	case "yield", "return_statement":
		b.result(n)
		b.visitAll(n, s)
	default:
		b.statement(n, s)
	}
}

func (b *builder) statement(n syntax.Node, s *Scope) {
	switch n.Kind() {
	case "assignment":
		b.assignment(n, s)
	case "augmented_assignment":
		b.visit(n.Field("right"), s)
		b.store(n.Field("left"), s, Ref{Kind: Augment, Value: n.Field("right"), Part: -1, at: n.End()})
	case "for_statement", "while_statement":
		b.loopStatement(n, s)
	case "with_item":
		b.withItem(n, s)
	case "except_clause", "except_group_clause":
		b.except(n, s)
	case "function_definition":
		b.function(n, nil, s)
	case "class_definition":
		b.classDefinition(n, s)
	case "decorated_definition":
		b.decorated(n, s)
	case "import_statement", "import_from_statement", "future_import_statement":
		b.imports(n, s)
	case "global_statement":
		s.declareOuter(n, ModuleScope)
	case "nonlocal_statement":
		s.declareOuter(n, FunctionScope)
	case "delete_statement":
		b.store(n.Child(0), s, Ref{Kind: Delete, Part: -1, at: n.End()})
	case "case_pattern":
		b.pattern(n, s)
	default:
		b.visitAll(n, s)
	}
}

func (b *builder) visitAll(n syntax.Node, s *Scope) {
	for c := range n.Children() {
		b.visit(c, s)
	}
}

// ref notes a reference, to be given its place later.
func (b *builder) ref(r Ref) *Ref {
	if r.at == 0 {
		r.at = r.Node.Start()
	}
	if r.Kind == Load {
		r.Part = -1
	}
	b.pending = append(b.pending, &r)
	return &r
}

func (b *builder) assignment(n syntax.Node, s *Scope) {
	right := n.Field("right")
	b.visit(n.Field("type"), s)
	b.visit(right, s)
	value := right
	for value.Is("assignment") { // a = b = v
		value = value.Field("right")
	}
	if !right.Ok() { // x: int declares and stores nothing
		b.declare(n.Field("left"), s)
		return
	}
	b.store(n.Field("left"), s, Ref{Kind: Store, Value: value, Part: -1, at: n.End()})
}

// declare makes a name the scope's although nothing is stored.
func (b *builder) declare(target syntax.Node, s *Scope) {
	if target.Is("identifier") {
		s.declare(target.Text())
		return
	}
	b.visit(target, s)
}

// store is for a target: what is assigned, deleted, or bound by a for or with.
func (b *builder) store(target syntax.Node, s *Scope, how Ref) {
	switch target.Kind() {
	case "identifier":
		s.declare(target.Text())
	case "attribute":
		b.visit(target.Field("object"), s)
		b.storedAttribute(target)
	case "subscript":
		b.visitAll(target, s)
		b.mutate(target, how, s)
		if !constantKey(target) {
			return
		}
	case "pattern_list", "tuple_pattern", "list_pattern", "expression_list", "tuple", "list":
		b.unpack(target, s, how)
		return
	case "list_splat_pattern", "list_splat", "parenthesized_expression", "as_pattern_target":
		b.store(target.Child(0), s, how)
		return
	default:
		b.visit(target, s)
		return
	}
	how.Node, how.Scope = target, s
	b.ref(how)
}

// mutate is x[k] = v: x keeps its value, and holds v besides, or no longer what it held.
func (b *builder) mutate(target syntax.Node, how Ref, s *Scope) {
	kind := Mutate
	if key := target.Field("subscript"); how.Kind == Delete || key.Is("slice") && !key.Child(0).Ok() {
		kind = Shrink
	}
	how.Kind, how.Node, how.Scope = kind, target.Field("value"), s
	b.ref(how)
}

// unpack pairs the targets with the values where both are written out, and numbers them
// otherwise.
func (b *builder) unpack(target syntax.Node, s *Scope, how Ref) {
	values := elements(how.Value)
	targets := elements(target)
	paired := len(values) == len(targets) && how.How == ByAssign && how.Part < 0 && !hasSplat(values) && !hasSplat(targets)
	for k, t := range targets {
		one := how
		if paired {
			one.Value = values[k]
		} else if how.Part < 0 {
			one.Part = k
		}
		b.store(t, s, one)
	}
}

func elements(n syntax.Node) []syntax.Node {
	if !n.Is("pattern_list", "tuple_pattern", "list_pattern", "expression_list", "tuple", "list") {
		return nil
	}
	var all []syntax.Node
	for c := range n.Children() {
		all = append(all, c)
	}
	return all
}

func hasSplat(nodes []syntax.Node) bool {
	for _, n := range nodes {
		if n.Is("list_splat_pattern", "list_splat") {
			return true
		}
	}
	return false
}

func (b *builder) loopStatement(n syntax.Node, s *Scope) {
	b.visit(n.Field("right"), s)
	outer := b.loop
	b.openLoop(n)
	b.visit(n.Field("condition"), s)
	if left := n.Field("left"); left.Ok() {
		b.store(left, s, Ref{Kind: Store, How: ByFor, Value: n.Field("right"), Part: -1, at: n.Field("body").Start()})
	}
	b.visit(n.Field("body"), s)
	b.loop = outer
	b.visit(n.Field("alternative"), s)
}

func (b *builder) openLoop(n syntax.Node) {
	b.loop = &Loop{Node: n, Outer: b.loop, Function: b.fn, m: b.m}
	b.m.Loops = append(b.m.Loops, b.loop)
	b.m.loopAt[n.Index()] = b.loop
}

func (b *builder) withItem(n syntax.Node, s *Scope) {
	value := n.Field("value")
	if !value.Is("as_pattern") {
		b.visit(value, s)
		return
	}
	b.visit(value.Child(0), s)
	b.store(value.Field("alias"), s, Ref{Kind: Store, How: ByWith, Value: value.Child(0), Part: -1, at: n.End()})
}

func (b *builder) except(n syntax.Node, s *Scope) {
	for c := range n.Children() {
		if c.Is("as_pattern") {
			b.visit(c.Child(0), s)
			b.store(c.Field("alias"), s, Ref{Kind: Store, How: ByExcept, Value: c.Child(0), Part: -1, at: c.End()})
			continue
		}
		if c.FieldName() == "alias" {
			b.store(c, s, Ref{Kind: Store, How: ByExcept, Value: n.Field("value"), Part: -1, at: c.End()})
			continue
		}
		b.visit(c, s)
	}
}

// pattern binds the names in a pattern of a case: a name alone is bound, a dotted one is used.
func (b *builder) pattern(n syntax.Node, s *Scope) {
	for c := range n.Descendants() {
		switch {
		case c.Is("dotted_name") && c.Child(0).Ok() && !c.Child(1).Ok() && !c.Parent().Is("class_pattern"):
			b.store(c.Child(0), s, Ref{Kind: Store, How: ByPattern, Part: -1, at: c.End()})
		case c.Is("as_pattern"):
			b.store(c.Field("alias"), s, Ref{Kind: Store, How: ByPattern, Part: -1, at: c.End()})
		}
	}
}

func (b *builder) result(n syntax.Node) {
	if b.fn == nil || b.fn.Scope.Kind != FunctionScope {
		return
	}
	value := n.Child(0)
	switch {
	case !value.Ok():
	case n.Is("yield"):
		b.fn.Yields = append(b.fn.Yields, value)
	default:
		b.fn.Returns = append(b.fn.Returns, value)
	}
}

// storedAttribute notes an attribute that is assigned through self.
func (b *builder) storedAttribute(target syntax.Node) {
	object := target.Field("object")
	if !object.Is("identifier") {
		return
	}
	for f := b.fn; f != nil; f = f.Outer {
		if f.Class != nil && f.self() == object.Text() {
			f.Class.stored[target.Field("attribute").Text()] = true
			return
		}
	}
}

// constantKey reports whether a subscript has one key that is a number or text, as in acc["loss"].
func constantKey(n syntax.Node) bool {
	key := n.Field("subscript")
	if key.Is("string") {
		return !strings.Contains(key.Text(), "{") || !strings.HasPrefix(strings.ToLower(key.Text()), "f")
	}
	return key.Is("integer")
}
