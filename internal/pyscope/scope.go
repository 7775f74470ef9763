package pyscope

import "github.com/ullage-dev/ullage/internal/syntax"

// ScopeKind is what a scope belongs to.
type ScopeKind uint8

// Kinds of scope.
const (
	ModuleScope ScopeKind = iota
	ClassScope
	FunctionScope
	LambdaScope
	ComprehensionScope
)

// Scope is where names live.
type Scope struct {
	Kind     ScopeKind
	Node     syntax.Node
	Parent   *Scope
	Function *Function // of a function's or lambda's scope; nil otherwise
	Class    *Class    // of a class's scope; nil otherwise
	Names    map[string]*Place

	outer map[string]ScopeKind // names declared global (ModuleScope) or nonlocal (FunctionScope)
}

// bind returns the place of a name that is assigned in the scope.
func (s *Scope) bind(name string) *Place {
	if kind, ok := s.outer[name]; ok {
		return s.outerPlace(name, kind)
	}
	if p := s.Names[name]; p != nil {
		return p
	}
	p := &Place{Name: name, Scope: s, Class: s.Class}
	if s.Names == nil {
		s.Names = map[string]*Place{}
	}
	s.Names[name] = p
	return p
}

func (s *Scope) outerPlace(name string, kind ScopeKind) *Place {
	top := s.top()
	if kind == ModuleScope {
		return top.bind(name)
	}
	for o := s.Parent; o != nil && o != top; o = o.Parent {
		if p := o.Names[name]; p != nil && o.Kind != ClassScope {
			return p
		}
	}
	return top.bind(name)
}

// look returns the place that a name means in the scope; nil for a builtin or an unknown name.
func (s *Scope) look(name string) *Place {
	if kind, ok := s.outer[name]; ok {
		return s.outerPlace(name, kind)
	}
	for o := s; o != nil; o = o.Parent {
		if o.Kind == ClassScope && o != s && !s.directlyIn(o) {
			continue
		}
		if p := o.Names[name]; p != nil {
			return p
		}
	}
	return nil
}

// directlyIn reports whether only comprehensions stand between the scope and a class: Python
// lets the first iterable of one see the class's names, and telling it apart is not worth it.
func (s *Scope) directlyIn(class *Scope) bool {
	for s.Kind == ComprehensionScope {
		s = s.Parent
	}
	return s == class
}

func (s *Scope) top() *Scope {
	for s.Parent != nil {
		s = s.Parent
	}
	return s
}

// Code returns the scope whose code the scope's is part of: comprehensions are part of what
// is around them.
func (s *Scope) Code() *Scope {
	for s.Kind == ComprehensionScope {
		s = s.Parent
	}
	return s
}

// declare makes a name the scope's, unless it is declared global or nonlocal there, when what it
// means is found at the end.
func (s *Scope) declare(name string) *Place {
	if kind, ok := s.outer[name]; ok {
		if kind == ModuleScope {
			return s.top().bind(name)
		}
		return nil
	}
	return s.bind(name)
}

// declareOuter is global a, b and nonlocal a, b.
func (s *Scope) declareOuter(n syntax.Node, kind ScopeKind) {
	if s.Kind == ModuleScope {
		return
	}
	if s.outer == nil {
		s.outer = map[string]ScopeKind{}
	}
	for c := range n.Children() {
		s.outer[c.Text()] = kind
	}
}
