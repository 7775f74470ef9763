package code

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkCreateGraph looks for backward(create_graph=True): gradients with a graph in .grad make
// a cycle with the parameters. Where .grad is set to None in the same function, the cycle is cut, and
// what is left is a higher peak.
func checkCreateGraph(p *pass) {
	for _, c := range p.Calls {
		if !isBackward(c) || !backwardFlag(c, 2, "create_graph").Is("true") || p.Grad(c.Node).Mode == pyscope.GradOff {
			continue
		}
		m := rules.Mistake{
			Rule: "leak/create-graph", Severity: rules.Warning, Confidence: rules.High,
			Message: fmt.Sprintf("%s with create_graph=True leaves gradients that refer to their own graph, in a cycle with the parameters", short(c.Callee)),
			Remedy:  "take the gradients with torch.autograd.grad(…, create_graph=True), so that they never land in .grad; or set every .grad to None at the end of the step",
		}
		if clear := p.gradsCleared(c.Node); clear.none.Ok() {
			m.Severity, m.Confidence = rules.Info, rules.Medium
			m.Related = append(m.Related, related(clear.none, "the gradients are set to None here, which cuts the cycle"))
		} else if clear.zero.Ok() {
			m.Related = append(m.Related, related(clear.zero, "set_to_none=False keeps the tensors, and their graph"))
		}
		p.report(c.Node, m)
	}
}

// isBackward reports whether a call is loss.backward(…) or torch.autograd.backward(…).
func isBackward(c *pyscope.Call) bool {
	return c.Method == "backward" || c.Name == "torch.autograd.backward"
}

// backwardFlag returns an argument of backward by its position in loss.backward, or by keyword.
// accelerator.backward(loss, …) and torch.autograd.backward(loss, …) have one more in front.
func backwardFlag(c *pyscope.Call, position int, keyword string) syntax.Node {
	if c.Name == "torch.autograd.backward" {
		position++
	}
	return c.Arg(position, keyword)
}

// cleared is where gradients are cleared: set to None, or only to zero.
type cleared struct{ none, zero syntax.Node }

// gradsCleared looks for what clears gradients in the function around a node, nested ones included.
func (p *pass) gradsCleared(n syntax.Node) cleared {
	around := p.Tree.Root()
	if f := p.outermost(n); f != nil {
		around = f.Node
	}
	var found cleared
	for _, c := range p.Calls {
		if c.Method != "zero_grad" || !c.Node.In(around) {
			continue
		}
		if c.Arg(0, "set_to_none").Is("false") {
			found.zero = c.Node
		} else {
			found.none = c.Node
		}
	}
	for d := range around.Descendants() {
		if d.Is("assignment") && d.Field("left").Is("attribute") && d.Field("left").Field("attribute").Text() == "grad" && d.Field("right").Is("none") {
			found.none = d
		}
	}
	return found
}
