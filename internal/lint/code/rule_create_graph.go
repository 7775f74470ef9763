package code

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkCreateGraph looks for backward(create_graph=True): gradients with a graph in .grad make
// a cycle with the parameters. Where .grad is set to None in the same function, the cycle is cut, and
// what is left is a higher peak.
func checkCreateGraph(p *pass) {
	var judged tally
	for _, c := range p.Calls {
		if !isBackward(c) || !backwardFlag(c, 2, "create_graph").Is("true") || judged.over() || p.Grad(c.Node).Mode == pyscope.GradOff {
			continue
		}
		m := rules.Mistake{
			Rule: "leak/create-graph", Severity: rules.Warning, Confidence: rules.High,
			Message: fmt.Sprintf("%s with create_graph=True leaves gradients that refer to their own graph, in a cycle with the parameters", short(c.Callee)),
			Remedy:  "take the gradients with torch.autograd.grad(…, create_graph=True), so that they never land in .grad; or set every .grad to None at the end of the step",
		}
		if input := p.inputGrad(c.Node); input.Ok() {
			m.Related = append(m.Related, related(input, "the gradient of an input: no optimizer clears it, and the cycle runs through C++, where no collector sees it"))
		} else if clear := p.gradsCleared(c.Node); clear.none.Ok() {
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

// inputGrad returns where the gradient of an input is used that the same function made to need one;
// none where it is set to None there.
func (p *pass) inputGrad(n syntax.Node) syntax.Node {
	f := p.Function(n)
	if f == nil {
		return syntax.Node{}
	}
	var used syntax.Node
	for d := range f.Node.Descendants() {
		if !d.Is("attribute") || d.Field("attribute").Text() != "grad" || !d.Field("object").Is("identifier") {
			continue
		}
		if d.Parent().Is("assignment") && d.FieldName() == "left" || d.Parent().Is("delete_statement") {
			return syntax.Node{}
		}
		name := d.Field("object").Text()
		if strings.Contains(f.Node.Text(), name+".requires_grad_(") || strings.Contains(f.Node.Text(), name+".requires_grad = True") {
			used = d
		}
	}
	return used
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
