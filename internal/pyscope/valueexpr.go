package pyscope

import "github.com/ullage-dev/ullage/internal/syntax"

// expression evaluates by what is written.
func (e *evaluator) expression(n syntax.Node) Value {
	switch n.Kind() {
	case "integer", "float", "string", "concatenated_string", "true", "false", "none", "not_operator", "ellipsis", "slice":
		return Value{May: Plain}
	case "identifier":
		return e.name(n)
	case "attribute":
		return e.attribute(n)
	case "subscript":
		return e.subscript(n)
	case "call":
		return e.call(e.m.Call(n))
	case "lambda":
		return Value{May: Object}
	case "binary_operator":
		return e.operation(n, n.Field("left"), n.Field("right"))
	case "unary_operator":
		return e.operation(n, n.Field("argument"))
	case "comparison_operator":
		return e.comparison(n)
	case "conditional_expression":
		return e.value(n.Child(0)).and(e.value(n.Child(2)))
	case "boolean_operator":
		return e.value(n.Field("left")).and(e.value(n.Field("right")))
	case "named_expression":
		return e.value(n.Field("value"))
	case "parenthesized_expression", "await", "list_splat":
		return e.value(n.Child(0))
	}
	return e.container(n)
}

// container is a literal: what it holds.
func (e *evaluator) container(n syntax.Node) Value {
	switch n.Kind() {
	case "list", "tuple", "set", "expression_list":
		v := Value{May: Plain}
		for c := range n.Children() {
			v = v.and(e.value(c))
		}
		return v
	case "dictionary":
		v := Value{May: Plain}
		for c := range n.Children() {
			if c.Is("pair") {
				v = v.and(e.value(c.Field("value")))
			} else {
				v = v.and(e.value(c.Child(0)))
			}
		}
		return v
	case "list_comprehension", "set_comprehension", "generator_expression":
		return e.value(n.Field("body"))
	case "dictionary_comprehension":
		return e.value(n.Field("body").Field("value"))
	}
	return Value{May: Unknown}
}

// operation is arithmetic: one part with a graph gives the result one, where autograd records.
func (e *evaluator) operation(n syntax.Node, parts ...syntax.Node) Value {
	var v Value
	for _, p := range parts {
		v = combine(v, e.value(p))
	}
	return e.recorded(n, v)
}

// combine is the value of an operation on two others.
func combine(a, b Value) Value {
	if a.Only(Graph) || b.Only(Graph) { // whatever the other one is
		a = a.and(b)
		a.May = Graph
		return a
	}
	a = a.and(b)
	if a.May&^Plain != 0 && !a.Has(Unknown) {
		a.May &^= Plain // a number and a tensor is a tensor
	}
	return a
}

// recorded is the result of an operation: that on a leaf has a graph, and without autograd
// nothing has.
func (e *evaluator) recorded(n syntax.Node, v Value) Value {
	v.Type = ""
	if !v.Has(Graph | Leaf) {
		return v
	}
	switch e.m.Grad(n).Mode {
	case GradOff:
		return v.without()
	case GradUnknown:
		v.May |= Tensor
	}
	if v.Has(Leaf) {
		if !v.Has(Graph) {
			g := e.graph(n, true, "the result of "+oneLine(n))
			g.May |= v.May
			v = g
		}
		v.May = v.May&^Leaf | Graph
	}
	return v
}

// comparison gives truth values, of which a tensor of them has no graph.
func (e *evaluator) comparison(n syntax.Node) Value {
	v := Value{}
	for c := range n.Children() {
		v = v.and(e.value(c))
	}
	if v.Only(Plain) {
		return v
	}
	return Value{May: Plain | Tensor}
}

// attribute is a place, if there is a store to it, or a part of the object.
func (e *evaluator) attribute(n syntax.Node) Value {
	name := n.Field("attribute").Text()
	if p := e.m.Place(n); p != nil && len(p.Refs) > 0 && len(p.Stores()) > 0 {
		return e.stored(n, p)
	}
	v := e.value(n.Field("object"))
	switch {
	case plainAttributes[name]:
		return Value{May: Plain}
	case detachedAttributes[name]:
		return Value{May: Tensor}
	case v.Has(Graph) || v.Only(Plain|Tensor):
		v.Type = ""
		return v
	case v.Only(NetModule) && e.soundsLikeModule(n):
		return Value{May: NetModule}
	}
	if e.soundsLikeModule(n) {
		return Value{May: NetModule | Unknown}
	}
	return Value{May: Unknown}
}

// subscript is a place under a constant key, the key of a literal, or a part of what is subscripted.
func (e *evaluator) subscript(n syntax.Node) Value {
	object, key := n.Field("value"), n.Field("subscript")
	if p := e.m.Place(n); p != nil && len(p.Stores()) > 0 {
		v := e.stored(n, p)
		if _, all := e.m.StoresAt(n); !all {
			v = v.and(e.item(object, key))
		}
		return v
	}
	if constantKey(n) {
		return e.item(object, key)
	}
	v := e.value(object)
	if v.Has(NetModule) { // of a ModuleList
		return v
	}
	v.Type = ""
	return v
}
