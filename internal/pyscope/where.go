package pyscope

import (
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// MainGuard returns the statement if __name__ == "__main__" that a node is in; none outside. Code in
// a function is not in it, wherever the function is called.
func (m *Module) MainGuard(n syntax.Node) syntax.Node {
	for p := range n.Ancestors() {
		switch {
		case p.Is("function_definition", "class_definition"):
			return syntax.Node{}
		case p.Is("if_statement") && strings.Contains(p.Field("condition").Text(), "__name__"):
			return p
		}
	}
	return syntax.Node{}
}

// AtImport reports whether a node runs when the module is imported: at module level or in the body
// of a class, and not behind the main guard.
func (m *Module) AtImport(n syntax.Node) bool {
	s := m.Scope(n).Code()
	for s.Kind == ClassScope {
		s = s.Parent
	}
	return s.Kind == ModuleScope && !m.MainGuard(n).Ok()
}

// Handler returns the except clause that a node is in, in the same function; none outside.
func (m *Module) Handler(n syntax.Node) syntax.Node {
	return m.within(n, "except_clause", "except_group_clause")
}

// Try returns the try statement in whose body a node is, in the same function; none outside.
func (m *Module) Try(n syntax.Node) syntax.Node {
	child := n
	for p := range n.Ancestors() {
		switch {
		case p.Is("try_statement") && child.FieldName() == "body":
			return p
		case p.Is("function_definition", "lambda", "class_definition"):
			return syntax.Node{}
		}
		child = p
	}
	return syntax.Node{}
}

// Finally returns the clause finally of a try statement; none where it has none.
func Finally(try syntax.Node) syntax.Node { return finally(try) }

func (m *Module) within(n syntax.Node, kinds ...string) syntax.Node {
	for p := range n.Ancestors() {
		if p.Is(kinds...) {
			return p
		}
		if p.Is("function_definition", "lambda", "class_definition") {
			return syntax.Node{}
		}
	}
	return syntax.Node{}
}

// Withs returns the expressions of the with statements that a node is in, in the same function,
// innermost first: open(p) of with open(p) as f.
func (m *Module) Withs(n syntax.Node) []syntax.Node {
	var found []syntax.Node
	child := n
	for p := range n.Ancestors() {
		if p.Is("function_definition", "lambda", "class_definition") {
			break
		}
		if p.Is("with_statement") && child.FieldName() == "body" {
			found = append(found, entered(p)...)
		}
		child = p
	}
	return found
}

// entered returns the expressions of a with statement.
func entered(with syntax.Node) []syntax.Node {
	var found []syntax.Node
	for c := range with.Children() {
		if !c.Is("with_clause") {
			continue
		}
		for item := range c.Children() {
			value := item.Field("value")
			if value.Is("as_pattern") {
				value = value.Child(0)
			}
			found = append(found, value)
		}
	}
	return found
}

// Imports reports whether the module imports a package, or something from it.
func (m *Module) Imports(pkg string) bool {
	for _, i := range m.Imported {
		if i == pkg || strings.HasPrefix(i, pkg+".") {
			return true
		}
	}
	return false
}

// InWorker reports whether a node runs in a DataLoader's worker processes: in __getitem__ or __iter__
// of a dataset, in a function given as collate_fn or worker_init_fn, or in a method or function
// that only those call.
func (m *Module) InWorker(n syntax.Node) (why string, ok bool) {
	f := m.Function(n)
	for range 4 {
		if f == nil {
			return "", false
		}
		if why, ok := m.workerFunction(f); ok {
			return why, true
		}
		if len(f.Callers) == 0 || len(f.Escapes) > 0 || !m.oneCaller(f) {
			return "", false
		}
		f = m.Function(f.Callers[0].Node)
	}
	return "", false
}

// oneCaller reports whether all calls of a function are in one other function.
func (m *Module) oneCaller(f *Function) bool {
	by := m.Function(f.Callers[0].Node)
	for _, c := range f.Callers {
		if m.Function(c.Node) != by {
			return false
		}
	}
	return by != f
}

func (m *Module) workerFunction(f *Function) (string, bool) {
	if f.Class != nil && f.Class.IsDataset() && (f.Name == "__getitem__" || f.Name == "__getitems__" || f.Name == "__iter__") {
		return f.Name + " of the dataset " + f.Class.Name, true
	}
	if f.Name == "collate_fn" || f.Class != nil && strings.Contains(strings.ToLower(f.Class.Name), "collat") && f.Name == "__call__" {
		return f.Name + ", which the loader calls", true
	}
	for _, use := range f.Escapes {
		if k := use.Parent(); k.Is("keyword_argument") {
			switch name := k.Field("name").Text(); name {
			case "collate_fn", "worker_init_fn":
				return "given as " + name, true
			}
		}
	}
	return "", false
}
