package pyscope

import (
	"slices"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// maxStores is how many stores to a place are followed: generated code has places with thousands.
const maxStores = 200

// StoresAt returns the stores that may have given a place the value that it has at a node, and
// whether they are all that may: if not, the value may also be from before the function runs, or from
// another one.
//
// Order is taken from the blocks: a store counts until one after it that is sure to be passed,
// and those of both branches of an if hide what was before it. A loop's later stores
// reach its beginning. A name of an outer function may have been given any of its values.
func (m *Module) StoresAt(n syntax.Node) (found []*Ref, all bool) {
	p := m.Place(n)
	if p == nil {
		return nil, false
	}
	code := m.Scope(n).Code()
	var here, others []*Ref
	for _, r := range p.Stores() {
		if r.Scope.Code() == code && p.Scope.Kind != ComprehensionScope {
			here = append(here, r)
		} else {
			others = append(others, r)
		}
	}
	if len(here) > maxStores || len(others) > maxStores {
		return nil, false
	}
	local := p.Base == nil && p.Class == nil && p.Scope == code
	f := flow{m: m, use: n, stores: here}
	found, all = f.reach()
	switch {
	case all:
	case local:
		return found, true
	default: // what any call left behind, this function's too
		found = append(here, others...)
	}
	return found, all || p.Base == nil && p.Class == nil
}

// flow finds which of the stores in one function reach a use there.
type flow struct {
	m      *Module
	use    syntax.Node
	stores []*Ref
}

// reach goes back from the use to the nearest store that is passed for sure. It reports whether
// there is one.
func (f *flow) reach() (found []*Ref, sure bool) {
	order := slices.Clone(f.stores)
	slices.SortStableFunc(order, func(a, b *Ref) int { return b.at - a.at })
	var last *Ref // passed for sure
	for k, r := range order {
		if r.at > f.use.Start() || !f.forward(r) {
			continue
		}
		found = append(found, r)
		if f.use.In(r.block()) || f.covered(r, order[k:]) {
			last = r
			break
		}
	}
	for _, r := range order {
		if !slices.Contains(found, r) && f.around(r, last) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *Ref) int { return a.at - b.at })
	return found, last != nil
}

// block returns the part of the function in which a store is sure to have happened, once it
// is past: the block that it stands in, and through with and try the one around.
func (r *Ref) block() syntax.Node {
	n := r.Node
	switch r.How {
	case ByParam:
		return n.Enclosing("function_definition", "lambda").Field("body")
	case ByFor:
		if loop := n.Enclosing("for_statement"); loop.Ok() && !n.In(loop.Field("body")) {
			return loop.Field("body")
		}
	case ByExcept:
		for c := range n.Enclosing("except_clause", "except_group_clause").Children() {
			if c.Is("block") {
				return c
			}
		}
	}
	return openBlock(n)
}

func openBlock(n syntax.Node) syntax.Node {
	b := n
	for {
		b = b.Enclosing("block", "module", "lambda")
		above := b.Parent()
		passed := above.Is("with_statement", "finally_clause") ||
			above.Is("try_statement") && b.FieldName() == "body" ||
			above.Is("while_statement") && above.Field("condition").Text() == "True"
		if !passed {
			return b
		}
	}
}

// forward reports whether a store that stands before the use can reach it without a loop:
// they are not in two branches of which only one runs, and nothing leaves in between.
func (f *flow) forward(r *Ref) bool {
	child := r.Node
	for p := range r.Node.Ancestors() {
		if f.use.In(p) {
			return !f.apart(p, child)
		}
		if p.Is("block") && leaves(p) {
			return false
		}
		child = p
	}
	return true
}

// apart reports whether a branch of a statement, in which the store is, excludes the use,
// which is in another part of the statement.
func (f *flow) apart(p, child syntax.Node) bool {
	switch p.Kind() {
	case "if_statement":
		return child.FieldName() != "condition" && child.Is("block", "elif_clause", "else_clause")
	case "try_statement":
		return child.Is("except_clause", "except_group_clause") && !f.use.In(finally(p))
	case "block":
		return child.Is("case_clause")
	}
	return false
}

func finally(try syntax.Node) syntax.Node {
	for c := range try.Children() {
		if c.Is("finally_clause") {
			return c
		}
	}
	return syntax.Node{}
}

// leaves reports whether a block ends by leaving it for good.
func leaves(block syntax.Node) bool {
	var last syntax.Node
	for c := range block.Children() {
		last = c
	}
	return last.Is("return_statement", "raise_statement", "continue_statement", "break_statement")
}

// returns reports whether a block ends by leaving the function.
func returns(block syntax.Node) bool {
	var last syntax.Node
	for c := range block.Children() {
		last = c
	}
	return last.Is("return_statement", "raise_statement")
}

// covered reports whether the store is in an if each branch of which stores too, or leaves.
func (f *flow) covered(r *Ref, earlier []*Ref) bool {
	var top syntax.Node // the outermost statement with branches that has the store, not the use
	for p := range r.Node.Ancestors() {
		if f.use.In(p) {
			break
		}
		top = p
	}
	if !top.Is("if_statement") {
		return false
	}
	if f.m.asksType(top.Field("condition"), r.Place) && r.block() == top.Field("consequence") {
		return true
	}
	hasElse := false
	for c := range top.Children() {
		block := c
		switch {
		case c.Is("elif_clause"):
			block = c.Field("consequence")
		case c.Is("else_clause"):
			block, hasElse = c.Field("body"), true
		case !c.Is("block"):
			continue
		}
		if !leaves(block) && !slices.ContainsFunc(earlier, func(e *Ref) bool { return e.Node.In(block) && e.block() == block }) {
			return false
		}
	}
	return hasElse
}

// around reports whether a store reaches the use through the next iteration of a loop that has
// both, with nothing in between that is passed for sure.
func (f *flow) around(r, last *Ref) bool {
	for p := range r.Node.Ancestors() {
		if p.Is("block") && returns(p) && !f.use.In(p) {
			return false
		}
		l := f.m.loopAt[p.Index()]
		if l == nil || !f.use.In(p) {
			continue
		}
		if l.Has(f.use) && l.Has(r.Node) && (last == nil || !last.Node.In(p) || last.at > f.use.Start()) {
			return true
		}
	}
	return false
}

// asksType reports whether a condition asks whether a place holds a tensor, or one with a graph:
// if isinstance(x, torch.Tensor): x = x.detach() leaves no graph.
func (m *Module) asksType(condition syntax.Node, p *Place) bool {
	for n := range condition.Descendants() {
		switch {
		case n.Is("call"):
			switch c := m.Call(n); lastPart(c.Callee.Text()) {
			case "isinstance", "is_tensor", "hasattr":
				if args := c.Args(); len(args) > 0 && m.Place(args[0]) == p {
					return true
				}
			}
		case n.Is("attribute") && m.Place(n.Field("object")) == p:
			if name := n.Field("attribute").Text(); name == "requires_grad" || name == "grad_fn" {
				return true
			}
		}
	}
	return false
}
