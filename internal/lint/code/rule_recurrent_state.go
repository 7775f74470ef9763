package code

import (
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkRecurrentState looks for a state that a module takes and returns, out, h = rnn(x, h), and that
// is carried with its graph from one backward to the next.
func checkRecurrentState(p *pass) {
	for _, r := range p.Refs {
		if r.Kind != pyscope.Store || r.How != pyscope.ByAssign || r.Node.FieldName() != "left" && !r.Node.Parent().Is("pattern_list", "tuple_pattern") {
			continue
		}
		if c := p.Call(p.unindexed(r.Value)); c != nil && p.takesState(c, r.Place) {
			p.carriesState(r)
		} else if c == nil && r.Place.Class != nil && p.mixesState(r) {
			p.carriesState(r)
		}
	}
}

// unindexed returns the call that a value is a part of: rnn(x, h) of rnn(x, h)[1], and of
// out.state where out is assigned that call.
func (p *pass) unindexed(n syntax.Node) syntax.Node {
	part := false
	for n.Is("subscript", "attribute") {
		if n.Is("subscript") {
			n = n.Field("value")
		} else {
			n = n.Field("object")
		}
		part = true
	}
	if stores, _ := p.StoresAt(n); part && n.Is("identifier") && len(stores) == 1 && stores[0].Part < 0 {
		return stores[0].Value
	}
	return n
}

// takesState reports whether a module is given the place's value with its graph, alone or as part of a
// tuple.
func (p *pass) takesState(c *pyscope.Call, state *pyscope.Place) bool {
	if !p.Value(c.Node).Has(pyscope.Graph) || c.Target == nil && !p.Value(c.Callee).Has(pyscope.NetModule) || p.isLayer(c) {
		return false
	}
	for a := range c.Node.Field("arguments").Children() {
		if a.Is("keyword_argument") {
			a = a.Field("value")
		}
		parts := []syntax.Node{a}
		if a.Is("tuple", "list") {
			parts = slices.Collect(a.Children())
		}
		for _, n := range parts {
			if p.Place(n) == state && p.Value(n).Has(pyscope.Graph) {
				return true
			}
		}
	}
	return false
}

// mixesState reports whether a forward makes the next state of the last one by arithmetic:
// self.memory = 0.9 * self.memory + self.write(x).
func (p *pass) mixesState(r *pyscope.Ref) bool {
	f := p.Function(r.Node)
	return f != nil && f.Name == "forward" && r.Value.Is("binary_operator") && p.mentions(r.Value, r.Place) && p.Value(r.Value).Has(pyscope.Graph) && p.feeds(r)
}

// feeds reports whether the state goes into its next value with its graph.
func (p *pass) feeds(r *pyscope.Ref) bool {
	for n := range r.Value.Descendants() {
		if p.Place(n) == r.Place && n.Parent().Is("binary_operator") && p.Value(n).Has(pyscope.Graph) {
			return true
		}
	}
	return false
}

// isLayer reports whether what is called is taken from a loop: x = layer(x) goes through layers, not
// through time.
func (p *pass) isLayer(c *pyscope.Call) bool {
	place := p.Place(c.Callee)
	return place != nil && slices.ContainsFunc(place.Stores(), func(r *pyscope.Ref) bool { return r.How == pyscope.ByFor })
}

// chain is what a state is carried through.
type chain struct {
	again    pyscope.Repeat
	backward *pyscope.Call // in each round; nil where there is none
	carried  bool          // from one forward to the next, wherever backward runs
	cut      *pyscope.Ref  // where a round may cut it, on a condition
}

func (p *pass) carriesState(r *pyscope.Ref) {
	ch, ok := p.chainOf(r)
	if !ok {
		return
	}
	m := rules.Mistake{
		Rule: "leak/recurrent-state", Severity: rules.Warning, Confidence: rules.Medium,
		Message:  fmt.Sprintf("%s goes into the next round with the graph of all rounds before", r.Place),
		Evidence: []string{"it runs again and again: " + ch.again.Why},
		Remedy:   fmt.Sprintf("cut the graph between rounds: %s = %[1]s.detach(), and of a tuple each part", short(r.Node)),
	}
	switch {
	case ch.cut != nil:
		m.Confidence = rules.Low
		m.Related = append(m.Related, related(ch.cut.Node, "cut here, on a condition"))
	case ch.carried:
		m.Message = fmt.Sprintf("%s goes from one forward to the next with the graph of all before, and nothing cuts it", r.Place)
	case ch.backward == nil:
		if !p.Value(r.Value).Sure {
			m.Confidence = rules.Low
		}
		m.Message = fmt.Sprintf("%s collects the graph of every round, and no backward in the loop uses it", r.Place)
		m.Remedy = "run it under torch.no_grad() where no gradient is wanted; else " + m.Remedy
	case backwardFlag(ch.backward, 1, "retain_graph").Is("true"):
		m.Confidence = rules.High
		m.Related = append(m.Related, related(ch.backward.Node, "goes back through all of them, for which retain_graph=True keeps them"))
	default:
		m.Related = append(m.Related, related(ch.backward.Node, "goes back through all of them"))
	}
	p.report(statementOf(r.Node), m)
}

// chainOf finds the loop, or the function that is called for each step, in which backward runs in
// each round, and the state is not cut.
func (p *pass) chainOf(r *pyscope.Ref) (chain, bool) {
	growth := p.Grows(r.Place, r.Node)
	if growth == nil {
		return p.chainOfForward(r)
	}
	ch := chain{again: growth.Repeat}
	for l := p.loopStatement(r.Node); l != nil; l = l.Outer {
		cut := p.cutIn(r, func(n syntax.Node) bool { return l.Has(n) })
		if cut != nil && !sometimes(cut.Node, l.Node) {
			return chain{}, false
		}
		ch.cut = cut
		if ch.backward = p.backwardIn(func(n syntax.Node) bool { return l.Has(n) }); ch.backward != nil && !l.Small() {
			ch.again = pyscope.Repeat{Loop: l, Node: l.Node, Why: fmt.Sprintf("the loop in line %d", p.Line(l.Node))}
			return ch, true
		}
	}
	if growth.Repeat.Loop != nil {
		return ch, p.Grad(r.Node).Mode == pyscope.GradOn && !p.inForward(r.Node) && len(p.Fate(r.Place).Backward) == 0 && !p.hasBackward(r.Node) &&
			p.uncut(adding{at: r.Node, place: r.Place, kept: p.Value(r.Value), growth: *growth})
	}
	return p.chainOfStep(r, ch)
}

// uncut reports whether a state that no backward uses is carried over data, or in a file without
// any backward.
func (p *pass) uncut(a adding) bool {
	return p.overBatches(a) || !p.goesBack() && !p.ofUnknownClass(a.at) && !p.Fate(a.place).Leaves.Is("return_statement", "yield")
}

// chainOfStep is for an attribute that each call of a method carries on to the next.
func (p *pass) chainOfStep(r *pyscope.Ref, ch chain) (chain, bool) {
	if r.Place.Class == nil || p.cutOutside(r) {
		return chain{}, false
	}
	f := p.Function(r.Node)
	ch.backward = p.backwardIn(func(n syntax.Node) bool { return p.Function(n) == f })
	return ch, ch.backward != nil
}

// chainOfForward is for an attribute that each forward of a module carries on to the next, and that
// nothing in the class, or in those that use it here, begins anew.
func (p *pass) chainOfForward(r *pyscope.Ref) (chain, bool) {
	f := p.Function(r.Node)
	if f == nil || f.Name != "forward" || f.Class == nil || r.Place.Class == nil || p.Loop(r.Node) != nil || p.cutOutside(r) || p.Grad(r.Node).Mode != pyscope.GradOn {
		return chain{}, false
	}
	return chain{again: pyscope.Repeat{Node: f.Node, Why: "forward is called for each batch"}, carried: true}, true
}

// cutOutside reports whether the state gets a value without a graph anywhere but where the
// object is made.
func (p *pass) cutOutside(r *pyscope.Ref) bool {
	return p.cutIn(r, func(n syntax.Node) bool { return p.Function(n) == nil || p.Function(n).Name != "__init__" }) != nil
}

// cutIn returns a store to the state without a graph in a part of the source, by detach or
// another beginning.
func (p *pass) cutIn(r *pyscope.Ref, in func(syntax.Node) bool) *pyscope.Ref {
	var found *pyscope.Ref
	for _, s := range r.Place.Stores() {
		if s == r || !in(s.Node) || s.Kind != pyscope.Store || s.Value.Ok() && p.Value(s.Value).Has(pyscope.Graph) {
			continue
		}
		if found = s; !sometimes(s.Node, r.Node) {
			break
		}
	}
	return found
}

// sometimes reports whether a node runs in some rounds of a loop only.
func sometimes(n, loop syntax.Node) bool {
	for a := range n.Ancestors() {
		if a == loop {
			return false
		}
		if a.Is("if_statement", "except_clause") {
			return true
		}
	}
	return false
}

// backwardIn returns a call of backward in a part of the source.
func (p *pass) backwardIn(in func(syntax.Node) bool) *pyscope.Call {
	for _, c := range p.Calls {
		if isBackward(c) && in(c.Node) {
			return c
		}
	}
	return nil
}

// hasBackward reports whether the function that a node is in runs backward.
func (p *pass) hasBackward(n syntax.Node) bool {
	f := p.Function(n)
	return p.backwardIn(func(b syntax.Node) bool { return p.Function(b) == f }) != nil
}
