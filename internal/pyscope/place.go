package pyscope

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// Place is something that can be assigned to: a name of a scope, an attribute of one, or an
// item under a constant key, as self.total and acc["loss"]. An attribute of self is one place
// in all methods of its class, and the same as the name in the class's body.
type Place struct {
	Name  string // the last part: a name, or a key as it is written
	Base  *Place // of which it is an attribute or item; nil for a name, and for an attribute of self
	Class *Class // whose attribute it is; nil for others
	Scope *Scope // in which it lives, or its outermost base does
	Refs  []*Ref // in the order of the source

	parts         map[string]*Place
	stores        []*Ref // what Stores found among the first storesOf references
	storesOf      int
	imported      string // qualified name of what an import puts here
	class         *Class
	function      *Function
	qualified     string
	qualifiedDone bool
}

// RefKind is what happens to a place at a reference.
type RefKind uint8

// Kinds of reference.
const (
	Load    RefKind = iota // its value is used
	Store                  // it gets another value
	Augment                // x += v
	Delete                 // del x
	Mutate                 // it holds something more: x.append(v), x[k] = v
	Shrink                 // it holds something less: x.clear(), x.pop(), del x[k], x[:] = v
)

// How is the way in which a Store comes about.
type How uint8

// Ways of storing.
const (
	ByAssign  How = iota // x = v, x: T = v
	ByWalrus             // x := v
	ByFor                // for x in v, in comprehensions too
	ByWith               // with v as x
	ByImport             // import x, from v import x
	ByDef                // def x, class x
	ByParam              // a parameter; Value is its default
	ByExcept             // except v as x
	ByPattern            // in a case
)

// Ref is one reference to a place.
type Ref struct {
	Kind   RefKind
	How    How         // of a Store
	Node   syntax.Node // the name, attribute or item as it is written
	Value  syntax.Node // what is stored or added; may be none
	Part   int         // which part of Value is taken when it is unpacked; -1 for the whole
	Method string      // of a Mutate: append, update, …; empty for an item that is set
	Place  *Place
	Scope  *Scope // in which the reference stands

	at int // offset from which on it has happened
}

// Stores returns the references that give the place another value: stores and augments. The
// slice is kept, and must not be changed.
func (p *Place) Stores() []*Ref {
	if p.storesOf != len(p.Refs) {
		p.stores, p.storesOf = slices.Clip(p.kinds(Store, Augment)), len(p.Refs)
	}
	return p.stores
}

// Loads returns the references that use the place's value.
func (p *Place) Loads() []*Ref { return p.kinds(Load) }

// Mutations returns the references that change what the place holds.
func (p *Place) Mutations() []*Ref { return p.kinds(Mutate) }

func (p *Place) kinds(kinds ...RefKind) []*Ref {
	var found []*Ref
	for _, r := range p.Refs {
		for _, k := range kinds {
			if r.Kind == k {
				found = append(found, r)
			}
		}
	}
	return found
}

// String returns the place as it is written in a source: self.x for an attribute of self.
func (p *Place) String() string {
	switch {
	case p.Class != nil:
		return "self." + p.Name
	case p.Base == nil:
		return p.Name
	case p.item():
		return p.Base.String() + p.Name
	}
	return p.Base.String() + "." + p.Name
}

// Root returns the place at the beginning of a chain: acc of acc["loss"].
func (p *Place) Root() *Place {
	for p.Base != nil {
		p = p.Base
	}
	return p
}

// part returns the attribute or item of the place under a name, which it makes where there is none.
func (p *Place) part(name string) *Place {
	if q := p.parts[name]; q != nil {
		return q
	}
	q := &Place{Name: name, Base: p, Scope: p.Scope}
	if p.parts == nil {
		p.parts = map[string]*Place{}
	}
	p.parts[name] = q
	return q
}

// item reports whether the place is an item under a key, not a name or attribute.
func (p *Place) item() bool { return isItem(p.Name) }

func isItem(name string) bool { return strings.HasPrefix(name, "[") }
