package pyscope

import "github.com/ullage-dev/ullage/internal/syntax"

// Module is what is known of one source.
type Module struct {
	Tree      *syntax.Tree
	Top       *Scope
	Scopes    []*Scope
	Functions []*Function // defs and lambdas, in the order of the source, as everything here
	Classes   []*Class
	Calls     []*Call
	Loops     []*Loop
	Refs      []*Ref   // of all places
	Stars     []string // modules of which everything is imported

	refAt   []*Ref // by index of node
	scopeAt map[int]*Scope
	loopAt  map[int]*Loop
	callAt  map[int]*Call

	switchStatements []*Call                  // torch.set_grad_enabled(…) as a statement
	backwarded       map[*Place][]syntax.Node // places whose value backward() is called on, and where
	values           values
	grads            map[*Function]Grad
	repeats          map[*Function]*Repeat
	fates            map[*Place]Fate
	frozen           map[*Place]bool // places that requires_grad_(False) is called on
}

// New goes over a tree.
func New(tree *syntax.Tree) *Module {
	m := &Module{
		Tree: tree, refAt: make([]*Ref, tree.Len()),
		scopeAt: map[int]*Scope{}, loopAt: map[int]*Loop{}, callAt: map[int]*Call{},
		backwarded: map[*Place][]syntax.Node{}, grads: map[*Function]Grad{}, repeats: map[*Function]*Repeat{}, frozen: map[*Place]bool{}, fates: map[*Place]Fate{},
		values: values{done: map[question]answer{}, open: map[question]int{}},
	}
	m.Top = m.open(ModuleScope, tree.Root(), nil)
	b := &builder{m: m}
	b.visitAll(tree.Root(), m.Top)
	if tree.Root().HasError() {
		b.visitRest()
	}
	m.link(b.pending)
	return m
}

func (m *Module) open(kind ScopeKind, n syntax.Node, parent *Scope) *Scope {
	s := &Scope{Kind: kind, Node: n, Parent: parent}
	m.Scopes = append(m.Scopes, s)
	m.scopeAt[n.Index()] = s
	return s
}

// Ref returns what a name, attribute or item does to its place; nil for a name that the module does
// not bind, and for anything else.
func (m *Module) Ref(n syntax.Node) *Ref {
	if !n.Ok() {
		return nil
	}
	return m.refAt[n.Index()]
}

// Place returns the place of a name, attribute or item; nil as Ref does.
func (m *Module) Place(n syntax.Node) *Place {
	if r := m.Ref(n); r != nil {
		return r.Place
	}
	return nil
}

// Call returns the call that a node is; nil where it is none.
func (m *Module) Call(n syntax.Node) *Call {
	if !n.Ok() {
		return nil
	}
	return m.callAt[n.Index()]
}

// Scope returns the scope in which the code of a node runs. A default of a parameter
// and a decorator belong to the scope around the function.
func (m *Module) Scope(n syntax.Node) *Scope {
	child := n
	for p := range n.Ancestors() {
		if s := m.scopeAt[p.Index()]; s != nil && insideScope(s, child) {
			return s
		}
		child = p
	}
	return m.Top
}

// insideScope reports whether a direct child of a scope's node belongs to the scope.
func insideScope(s *Scope, child syntax.Node) bool {
	switch s.Kind {
	case FunctionScope, LambdaScope, ClassScope:
		return child.FieldName() == "body"
	}
	return true
}

// Function returns the function in whose body a node is, the innermost; nil at module level.
func (m *Module) Function(n syntax.Node) *Function {
	for s := m.Scope(n); s != nil; s = s.Parent {
		if s.Function != nil {
			return s.Function
		}
		if s.Kind == ClassScope || s.Kind == ModuleScope {
			return nil
		}
	}
	return nil
}

// Class returns the class in whose methods or body a node is, the innermost; nil outside.
func (m *Module) Class(n syntax.Node) *Class {
	for s := m.Scope(n); s != nil; s = s.Parent {
		if s.Class != nil {
			return s.Class
		}
		if s.Function != nil && s.Function.Class != nil {
			return s.Function.Class
		}
	}
	return nil
}
