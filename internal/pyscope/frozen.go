package pyscope

import "github.com/ullage-dev/ullage/internal/syntax"

// Frozen reports whether a place is a module none of whose parameters require gradients, as far as
// the file shows: by requires_grad_(False), or a loop over its parameters, and no new part
// since.
func (m *Module) Frozen(p *Place) bool {
	if p == nil || !m.frozen[p] {
		return false
	}
	for _, part := range p.parts {
		if len(part.Stores()) > 0 {
			return false
		}
	}
	return true
}

// findFrozen notes what requires_grad_(False) is called on.
func (m *Module) findFrozen() {
	for _, c := range m.Calls {
		if c.Method == "requires_grad_" && c.Arg(0, "requires_grad").Is("false") {
			m.freeze(c.Object)
		}
	}
	for _, r := range m.Refs {
		if r.Kind == Store && r.How == ByAssign && r.Place.Name == "requires_grad" && r.Value.Is("false") {
			m.freeze(r.Node.Field("object"))
		}
	}
}

// freeze is for a module, or one parameter of all in a loop over P.parameters() that has no condition.
func (m *Module) freeze(n syntax.Node) {
	p := m.Place(n)
	if p == nil {
		return
	}
	m.frozen[p] = true
	l := m.Loop(n)
	if l == nil || !n.In(l.Node.Field("body")) || openBlock(n) != l.Node.Field("body") {
		return
	}
	if c := m.Call(l.Over()); c != nil && (c.Method == "parameters" || c.Method == "named_parameters") {
		if module := m.Place(c.Object); module != nil {
			m.frozen[module] = true
		}
	}
}
