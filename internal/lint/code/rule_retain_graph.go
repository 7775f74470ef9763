package code

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkRetainGraph looks for backward(retain_graph=True) where nothing goes back through the
// graph again in the same step. The flag is right for all but the last of several losses of
// one forward, so a later backward or grad in the iteration keeps the rule silent, and so does
// a loss whose forward ran outside of the loop.
func checkRetainGraph(p *pass) {
	var judged tally
	for _, c := range p.Calls {
		if !isBackward(c) || !backwardFlag(c, 1, "retain_graph").Is("true") || backwardFlag(c, 2, "create_graph").Is("true") {
			continue
		}
		if judged.over() || p.Grad(c.Node).Mode == pyscope.GradOff || p.graphUsedAgain(c) {
			continue
		}
		m := rules.Mistake{
			Rule: "leak/retain-graph", Severity: rules.Warning, Confidence: rules.Low,
			Message: fmt.Sprintf("%s keeps the graph with retain_graph=True, and nothing goes back through it afterwards", short(c.Callee)),
			Remedy:  "remove retain_graph=True; if \"backward through the graph a second time\" comes back, detach what the loss takes from the step before",
		}
		if why, ok := p.repeats(c.Node); ok {
			m.Confidence = rules.Medium
			m.Related = append(m.Related, why)
		}
		p.report(c.Node, m)
	}
}

// graphUsedAgain reports whether something may go back through the graph of a backward after
// it: another use of a graph further on in the iteration, or the next iteration of a loop
// that the forward is not in.
func (p *pass) graphUsedAgain(c *pyscope.Call) bool {
	loop := p.loopStatement(c.Node)
	if loop != nil && p.forwardOutside(c, loop) {
		return true
	}
	f := p.Function(c.Node)
	for _, u := range p.Calls {
		if u == c || u.Node.Start() < c.Node.Start() || p.Function(u.Node) != f || exclusive(u.Node, c.Node) || returnsBetween(c.Node, u.Node) {
			continue
		}
		if p.usesGraph(u, 0) {
			return true
		}
	}
	return false
}

// returnsBetween reports whether the block of a node ends in a return or the like before
// another node that is outside of the block.
func returnsBetween(n, later syntax.Node) bool {
	for a := range n.Ancestors() {
		if a.Is("function_definition", "lambda") {
			return false
		}
		if !a.Is("block") || later.In(a) {
			continue
		}
		for s := range a.Children() {
			if s.Is("return_statement", "raise_statement", "continue_statement", "break_statement") && s.Start() > n.Start() {
				return true
			}
		}
	}
	return false
}

// graphUsers are functions that go back through a graph.
var graphUsers = []string{"torch.autograd.backward", "torch.autograd.grad", "torch.autograd.functional.jacobian", "torch.autograd.functional.hessian"}

// usesGraph reports whether a call goes back through a graph, itself or in what it runs of the module.
func (p *pass) usesGraph(c *pyscope.Call, depth int) bool {
	if isBackward(c) || c.Method == "manual_backward" || strings.HasPrefix(c.Name, "torch.autograd.grad") {
		return true
	}
	if c.Keyword("retain_graph").Ok() || c.Method == "step" && strings.Contains(c.Arg(0, "").Text(), "loss") { // an optimizer that does the backward
		return true
	}
	for _, name := range graphUsers {
		if c.Name == name {
			return true
		}
	}
	last := strings.ToLower(c.Callee.Text())
	if strings.Contains(last, "backward") || strings.HasSuffix(last, "autograd.grad") || strings.HasSuffix(last, "jacobian") {
		return true
	}
	if c.Target == nil || depth > 3 {
		return false
	}
	for _, inner := range c.Target.Calls {
		if p.usesGraph(inner, depth+1) {
			return true
		}
	}
	return false
}

// forwardOutside reports whether a loss may come from a graph that was built before the loop:
// it, or something that it is made of, was set by a call out there.
func (p *pass) forwardOutside(c *pyscope.Call, loop *pyscope.Loop) bool {
	value := c.Object
	if loss := p.loss(c); loss.Ok() {
		value = loss
	}
	return p.setBefore(value, loop) || p.reachesOutside(value, loop, map[*pyscope.Place]bool{})
}

// setBefore reports whether a name gets no value in the loop: what it stands for was there before,
// and each iteration goes back through it.
func (p *pass) setBefore(n syntax.Node, loop *pyscope.Loop) bool {
	place := p.Place(n)
	if place == nil || !n.Is("identifier") {
		return false
	}
	for _, r := range place.Stores() {
		if r.Node.In(loop.Node) {
			return false
		}
	}
	return true
}

// loss returns the argument of accelerator.backward(loss) and the like; none for loss.backward().
func (p *pass) loss(c *pyscope.Call) syntax.Node {
	if c.Name == "torch.autograd.backward" {
		return c.Arg(0, "tensors")
	}
	args := c.Args()
	if len(args) == 0 || !args[0].Is("identifier", "attribute", "binary_operator", "call", "subscript") {
		return syntax.Node{}
	}
	if name := strings.ToLower(args[0].Text()); strings.Contains(name, "loss") {
		return args[0]
	}
	return syntax.Node{}
}

func (p *pass) reachesOutside(n syntax.Node, loop *pyscope.Loop, seen map[*pyscope.Place]bool) bool {
	if !n.Ok() {
		return false
	}
	for d := range n.Descendants() {
		place := p.Place(d)
		if place == nil || seen[place] || isCallee(d) && !isElement(place, loop) {
			continue
		}
		seen[place] = true
		for _, r := range place.Stores() {
			in := r.Node.In(loop.Node)
			switch {
			case in && r.How == pyscope.ByFor && r.Node.In(loop.Node.Field("left")):
				if p.graphIterable(loop.Over()) {
					return true
				}
			case in && p.reachesOutside(r.Value, loop, seen):
				return true
			case !in && r.How == pyscope.ByAssign && (p.mayHaveGraph(r.Value) || isPart(r.Value) && p.reachesOutside(r.Value, loop, seen)):
				return true
			}
		}
	}
	return false
}

// isElement reports whether a name stands for what a loop goes over.
func isElement(place *pyscope.Place, loop *pyscope.Loop) bool {
	return slices.ContainsFunc(place.Stores(), func(r *pyscope.Ref) bool {
		return r.How == pyscope.ByFor && r.Node.In(loop.Node.Field("left"))
	})
}

// isPart reports whether an expression is a part of something else, as outputs[-1].
func isPart(n syntax.Node) bool {
	return n.Is("subscript", "attribute", "identifier", "conditional_expression")
}

// isCallee reports whether a node is what a call calls, or a part of its name.
func isCallee(n syntax.Node) bool {
	for n.Parent().Is("attribute") {
		n = n.Parent()
	}
	return n.FieldName() == "function" && n.Parent().Is("call")
}

// graphIterable reports whether a loop goes over losses, outputs and the like that exist already.
func (p *pass) graphIterable(n syntax.Node) bool {
	text := strings.ToLower(n.Text())
	for _, word := range []string{"loss", "output", "outs", "leaves", "grad"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// mayHaveGraph reports whether an expression may be the result of a forward: a call that is
// not known to make something else.
func (p *pass) mayHaveGraph(n syntax.Node) bool {
	v := p.Value(n)
	if v.Has(pyscope.Graph) {
		return true
	}
	if v.Only(pyscope.Plain | pyscope.Tensor | pyscope.NetModule | pyscope.Object) {
		return false
	}
	c := p.Call(n)
	if c == nil {
		return n.Is("list_comprehension", "binary_operator")
	}
	return !strings.HasPrefix(c.Name, "torch.") && c.Class == nil && !startsUpper(c.Callee.Text())
}
