package pyscope

import "github.com/ullage-dev/ullage/internal/syntax"

// Varies reports whether an expression depends on the iteration of a loop: it uses what the loop's
// for takes in turn, or what is assigned in the loop from such.
func (l *Loop) Varies(n syntax.Node) bool { return l.varies(n, map[*Place]bool{}) }

func (l *Loop) varies(n syntax.Node, seen map[*Place]bool) bool {
	for c := range n.Descendants() {
		p := l.m.Place(c)
		if p == nil || seen[p] {
			continue
		}
		seen[p] = true
		for _, r := range p.Refs {
			if r.Kind == Load || r.Kind == Delete || r.Kind == Shrink {
				continue
			}
			if r.How == ByFor && r.Node.In(l.Node) && !l.Has(r.Node) || l.Has(r.Node) && (r.How == ByFor || l.varies(r.Value, seen)) {
				return true
			}
		}
	}
	return false
}
