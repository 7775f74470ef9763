package pyscope

import (
	"maps"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// Fate is what becomes of a place's value, as a tensor: what ends in a number is not followed.
type Fate struct {
	Backward []syntax.Node // where backward() runs on it, or on something made of it
	Leaves   syntax.Node   // where it leaves the module's sight: returned to unknown callers, given to an unknown function
}

// Fate follows the value of a place through assignments, loops, containers and the module's own
// functions.
func (m *Module) Fate(p *Place) Fate {
	if known, ok := m.fates[p]; ok {
		return known
	}
	f := fates{m: m, seen: map[*Place]bool{}, climbed: map[int]bool{}}
	f.place(p)
	m.fates[p] = f.Fate
	return f.Fate
}

const (
	maxFates    = 500 // places and expressions that are followed
	maxBackward = 16  // calls of backward that are told
)

type fates struct {
	Fate
	m       *Module
	seen    map[*Place]bool
	climbed map[int]bool
}

func (f *fates) place(p *Place) {
	if p == nil || f.seen[p] || len(f.seen) > maxFates {
		return
	}
	f.seen[p] = true
	if at := f.m.backwarded[p]; len(f.Backward) < maxBackward {
		f.Backward = append(f.Backward, at...)
	}
	for _, r := range p.Refs {
		if r.Kind == Load {
			f.climb(r.Node)
		}
	}
	if p.Base != nil && p.item() { // what holds it
		f.place(p.Base)
	}
	for _, name := range slices.Sorted(maps.Keys(p.parts)) { // what it holds
		if isItem(name) {
			f.place(p.parts[name])
		}
	}
}

// climb follows an expression's value to the statement that it ends in.
func (f *fates) climb(n syntax.Node) {
	if f.climbed[n.Index()] || len(f.climbed) > maxFates {
		return
	}
	f.climbed[n.Index()] = true
	child := n
	for up := range n.Ancestors() {
		if f.arrives(up, child) || !f.passes(up, child) {
			return
		}
		child = up
	}
}

// arrives sees to a statement, or a call of the module's own function, that takes the value on.
func (f *fates) arrives(up, child syntax.Node) bool {
	switch up.Kind() {
	case "assignment", "augmented_assignment", "named_expression":
		if name := child.FieldName(); name == "right" || name == "value" {
			f.targets(up.Field("left"))
			f.targets(up.Field("name"))
		}
		return !up.Is("named_expression")
	case "for_statement", "for_in_clause":
		if child.FieldName() == "right" {
			f.targets(up.Field("left"))
		}
		return true
	case "return_statement", "yield":
		f.returned(up)
		return true
	case "lambda":
		f.leaves(up)
		return true
	}
	return false
}

// targets follows what is assigned.
func (f *fates) targets(n syntax.Node) {
	if !n.Ok() {
		return
	}
	if all := elements(n); all != nil {
		for _, t := range all {
			f.targets(t)
		}
		return
	}
	f.place(f.m.Place(n))
	if n.Is("subscript") {
		f.place(f.m.Place(n.Field("value")))
	}
	if n.Is("attribute") && f.m.Place(n) == nil {
		f.leaves(n)
	}
}

func (f *fates) returned(n syntax.Node) {
	fn := f.m.Function(n)
	if fn == nil {
		return
	}
	if len(fn.Callers) == 0 || len(fn.Escapes) > 0 {
		f.leaves(n)
	}
	for _, c := range fn.Callers {
		f.climb(c.Node)
	}
}

func (f *fates) leaves(n syntax.Node) {
	if !f.Leaves.Ok() {
		f.Leaves = n
	}
}

// passes reports whether the value of a child may be a part of the value of what is around it.
func (f *fates) passes(up, child syntax.Node) bool {
	switch up.Kind() {
	case "attribute":
		name := up.Field("attribute").Text()
		return !plainAttributes[name] && !detachedAttributes[name] && !plainMethods[name] && !endMethods[name]
	case "comparison_operator", "not_operator", "assert_statement", "block", "module", "interpolation", "print_statement",
		"if_statement", "while_statement", "expression_statement", "format_expression":
		return false
	case "subscript":
		return child.FieldName() == "value"
	case "conditional_expression":
		return child.Index() != up.Child(1).Index()
	case "call":
		return f.throughCall(f.m.Call(up), child)
	}
	return true
}

// throughCall follows the value into a call: into what takes it in, the parameter of an own
// function, or out with the result.
func (f *fates) throughCall(c *Call, child syntax.Node) bool {
	if child.FieldName() == "function" {
		return true
	}
	switch {
	case plainCalls[c.Name] || plainMethods[c.Method] && !grows[c.Method]:
		return false
	case grows[c.Method]:
		f.place(f.m.Place(c.Object))
		return false
	case writesDown(c.Name):
		return false
	case c.Target != nil:
		f.intoFunction(c)
	case c.Node.Parent().Is("expression_statement") && !isLogger(c.Method):
		f.leaves(c.Node)
	}
	return true
}

// writesDown reports whether a function of another module puts values in a file, or makes numbers
// of them.
func writesDown(name string) bool {
	top, _, _ := strings.Cut(name, ".")
	return name == "torch.save" || top == "pickle" || top == "joblib" || top == "torchvision" && strings.HasSuffix(name, "save_image") || plainPackages[top]
}

// isLogger reports whether a method is one by which people write things down.
func isLogger(method string) bool {
	switch method {
	case "add_scalar", "add_scalars", "log", "log_metrics", "info", "debug", "warning", "set_postfix", "set_description", "log_dict", "write":
		return true
	}
	return false
}

// intoFunction follows every argument: which one the value is in is not worth telling apart.
func (f *fates) intoFunction(c *Call) {
	for a := range c.Node.Field("arguments").Children() {
		value := a
		if a.Is("keyword_argument") {
			value = a.Field("value")
		}
		if !f.climbedIn(value) {
			continue
		}
		for k, p := range c.Target.Params {
			if given, ok := f.argument(c, k); ok && given == value {
				f.place(f.m.Place(p.Node))
			}
		}
	}
}

func (f *fates) argument(c *Call, k int) (syntax.Node, bool) {
	e := evaluator{m: f.m}
	n := e.argument(c, c.Target, k)
	return n, n.Ok()
}

// climbedIn reports whether the value that is followed just now is in an argument.
func (f *fates) climbedIn(n syntax.Node) bool {
	for c := range n.Descendants() {
		if f.climbed[c.Index()] || f.seen[f.m.Place(c)] {
			return true
		}
	}
	return false
}
