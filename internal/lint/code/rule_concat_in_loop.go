package code

import (
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// concatenates are the functions that copy their inputs into one larger tensor.
var concatenates = []string{"torch.cat", "torch.hstack", "torch.vstack", "torch.dstack", "torch.stack", "torch.row_stack", "torch.column_stack"}

// checkConcatInLoop looks for tensors that grow by x = torch.cat([x, y]). With gradients all of
// them stay; without, each is a size that the allocator has not seen before.
func checkConcatInLoop(p *pass) {
	for _, r := range p.Refs {
		if r.Kind != pyscope.Store || r.How != pyscope.ByAssign || r.Part >= 0 || r.Node.FieldName() != "left" {
			continue
		}
		if more, ok := p.concatenated(r); ok {
			p.growsByConcat(r, more)
		}
	}
}

// concatenated returns what a store concatenates its place with.
func (p *pass) concatenated(r *pyscope.Ref) (more []syntax.Node, ok bool) {
	c := p.Call(unwrapped(r.Value))
	if c == nil || !slices.Contains(concatenates, c.Name) {
		return nil, false
	}
	for part := range c.Arg(0, "tensors").Children() {
		if p.Place(part) == r.Place {
			ok = true
		} else {
			more = append(more, part)
		}
	}
	return more, ok && len(more) > 0
}

// unwrapped returns a call without what keeps its size behind it: torch.cat(…) of
// torch.cat(…).detach().
func unwrapped(n syntax.Node) syntax.Node {
	for n.Is("call") && n.Field("function").Is("attribute") {
		switch n.Field("function").Field("attribute").Text() {
		case "detach", "cpu", "contiguous", "clone", "to", "cuda":
			n = n.Field("function").Field("object")
		default:
			return n
		}
	}
	return n
}

func (p *pass) growsByConcat(r *pyscope.Ref, more []syntax.Node) {
	at := statementOf(r.Node)
	growth := p.Grows(r.Place, at)
	if growth == nil || p.trimmed(r.Place, growth.Repeat) || p.onHost(more) {
		return
	}
	v := pyscope.Value{}
	for _, n := range more {
		if one := p.Value(n); one.Has(pyscope.Graph) {
			v = one
		}
	}
	m := rules.Mistake{
		Rule: "leak/concat-in-loop", Severity: rules.Info, Confidence: rules.Medium,
		Message: fmt.Sprintf("%s is copied into a larger tensor each time, of a size that is new to the allocator", r.Place),
		Remedy:  fmt.Sprintf("append %s to a list and concatenate once after the loop, or allocate %s once and write into it", short(more[0]), r.Place),
		Related: startOf(adding{place: r.Place, growth: *growth}),
	}
	m.Evidence = []string{"it runs again and again: " + growth.Repeat.Why}
	switch {
	case p.fedBack(r, growth.Repeat):
		m.Confidence = rules.Low
	case v.Has(pyscope.Graph) && p.Grad(at).Mode == pyscope.GradOn && len(p.Fate(r.Place).Backward) == 0 && !p.inForward(at):
		p.concatWithGraph(&m, r, v, growth)
	}
	p.report(at, m)
}

// concatWithGraph is for results with a graph, of which every copy stays.
func (p *pass) concatWithGraph(m *rules.Mistake, r *pyscope.Ref, v pyscope.Value, growth *pyscope.Growth) {
	if !p.overBatches(adding{at: r.Node, place: r.Place, kept: v, growth: *growth}) {
		return
	}
	m.Severity = rules.Warning
	m.Message = fmt.Sprintf("%s is copied into a larger tensor each time, and through its graph every copy stays", r.Place)
	m.Remedy = "under torch.inference_mode(), " + m.Remedy
	if v.Why != "" {
		m.Evidence = append(m.Evidence, "its graph comes from: "+v.Why)
	}
}

// trimmed reports whether a place is cut to a length, as a window is: x = x[-n:].
func (p *pass) trimmed(place *pyscope.Place, again pyscope.Repeat) bool {
	for _, r := range place.Stores() {
		if !p.mentions(r.Value, place) || again.Loop != nil && !again.Loop.Has(r.Node) {
			continue
		}
		for d := range r.Value.Descendants() {
			if d.Is("subscript") && p.mentions(d.Field("value"), place) {
				return true
			}
		}
	}
	return false
}

// onHost reports whether what is added is known to be in main memory.
func (p *pass) onHost(more []syntax.Node) bool {
	for _, n := range more {
		if answer, _ := p.OnCUDA(n); answer != pyscope.No {
			return false
		}
	}
	return true
}

// fedBack reports whether the grown tensor is used in the loop itself, as the tokens of a text
// that is being generated are: it has to grow.
func (p *pass) fedBack(r *pyscope.Ref, again pyscope.Repeat) bool {
	if again.Loop == nil {
		return false
	}
	for _, load := range r.Place.Loads() {
		if again.Loop.Has(load.Node) && !load.Node.In(r.Value) && !plainUse(load.Node) {
			return true
		}
	}
	return false
}

// plainUse reports whether a name is only looked at: is it None, how long is it.
func plainUse(n syntax.Node) bool {
	up := n.Parent()
	return up.Is("comparison_operator", "if_statement", "not_operator") || up.Is("attribute") && up.Field("attribute").Text() == "shape" ||
		up.Is("argument_list") && up.Parent().Field("function").Text() == "len"
}
