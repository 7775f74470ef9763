package code

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkNoZeroGrad looks for loops with backward() and optimizer.step() in which nothing clears the
// gradients: not in the loop, nor in what it calls. What is not in the module may do it as
// well, so any call that sounds like it keeps the rule silent.
func checkNoZeroGrad(p *pass) {
	var judged tally
	for _, c := range p.Calls {
		optimizer, ok := p.stepped(c)
		loop := p.loopStatement(c.Node)
		if !ok || loop == nil || judged.over() || p.startsAnew(optimizer, c.Node) || !p.makesGradients(loop, c) {
			continue
		}
		outside, cleared := p.zeroed(optimizer, loop, c)
		if cleared {
			continue
		}
		m := rules.Mistake{
			Rule: "leak/no-zero-grad", Severity: rules.Warning, Confidence: rules.Medium,
			Message: fmt.Sprintf("%s runs in the loop, and nothing in the loop clears the gradients that backward() adds to", short(c.Callee)),
			Remedy:  fmt.Sprintf("call %s.zero_grad() once in each iteration that calls %s", short(optimizer), short(c.Callee)),
			Related: []rules.Related{related(loop.Node.Child(0), "the loop")},
		}
		if outside.Ok() {
			m.Related = append(m.Related, related(outside, "the gradients are cleared here, outside of the loop"))
		}
		p.report(c.Node, m)
	}
}

// stepped returns the optimizer of optimizer.step() or scaler.step(optimizer).
func (p *pass) stepped(c *pyscope.Call) (syntax.Node, bool) {
	if c.Method != "step" {
		return syntax.Node{}, false
	}
	name := strings.ToLower(c.Object.Text())
	if strings.Contains(name, "scaler") {
		arg := c.Arg(0, "optimizer")
		return arg, arg.Ok() && p.namedOptimizer(arg)
	}
	return c.Object, len(c.Args()) == 0 && p.namedOptimizer(c.Object)
}

// namedOptimizer reports whether an expression is an optimizer by its type or name, and no
// scheduler or wrapper of another kind.
func (p *pass) namedOptimizer(n syntax.Node) bool {
	if !n.Is("identifier", "attribute") {
		return false
	}
	if t := p.Type(n); t != "" {
		return strings.HasPrefix(t, "torch.optim.") && !strings.Contains(t, "lr_scheduler")
	}
	last := lastName(n)
	return (strings.HasPrefix(last, "opt") || strings.Contains(last, "optim")) && !strings.Contains(last, "sched") && !strings.HasPrefix(last, "option")
}

// startsAnew reports whether an optimizer is made in the iteration: there are no gradients of
// the one before.
func (p *pass) startsAnew(optimizer, at syntax.Node) bool {
	place := p.Place(optimizer)
	if place == nil {
		return false
	}
	where, _ := p.Reset(place, at)
	return where == pyscope.Each
}

// makesGradients reports whether the loop makes gradients by itself: what calls backward() is not
// what has the step, as an engine that does both clears them itself.
func (p *pass) makesGradients(loop *pyscope.Loop, step *pyscope.Call) bool {
	return slices.ContainsFunc(p.Calls, func(c *pyscope.Call) bool {
		return (isBackward(c) || c.Method == "manual_backward") && loop.Has(c.Node) && c.Object.Text() != step.Object.Text() && !exclusive(c.Node, step.Node)
	})
}

// zeroed looks for what clears the gradients of an optimizer: in the loop, in what the loop
// calls, or in a way that cannot be followed. It returns also where it is done outside.
func (p *pass) zeroed(optimizer syntax.Node, loop *pyscope.Loop, step *pyscope.Call) (outside syntax.Node, ok bool) {
	f := p.Function(step.Node)
	for _, c := range p.Calls {
		if c.Method == "zero_grad" && !p.otherOptimizer(c.Object, optimizer) && (p.Function(c.Node) == f || p.near(c.Node, f)) {
			if loop.Has(c.Node) || p.Function(c.Node) != f {
				return outside, true
			}
			outside = c.Node
		}
		if loop.Has(c.Node) && (p.clears(c, 0) || c.Method == "zero_" && strings.Contains(c.Object.Text(), "grad")) {
			return outside, true
		}
	}
	return outside, p.setsGrads(loop.Node)
}

// near reports whether a node is in the same class as a function, or in a function around
// or within it: what runs it may run the loop as well.
func (p *pass) near(n syntax.Node, f *pyscope.Function) bool {
	if f == nil {
		return false
	}
	if f.Class != nil && p.Class(n) == f.Class {
		return true
	}
	return n.In(f.Node) || p.Function(n) != nil && inside(f.Node, p.Function(n))
}

// clearing are words in the names of functions that may clear gradients.
var clearing = []string{"zero_grad", "zero_gradients", "clear_grad", "reset_grad", "zerograd", "set_grad_to_none", "optimizer_step", "optimizer_zero"}

// clears reports whether a call may clear gradients, by its name or in what it runs of the module.
func (p *pass) clears(c *pyscope.Call, depth int) bool {
	name := strings.ToLower(c.Callee.Text())
	if c.Method != "zero_grad" && slices.ContainsFunc(clearing, func(w string) bool { return strings.Contains(name, w) }) {
		return true
	}
	if c.Target == nil || depth > 3 {
		return false
	}
	if p.setsGrads(c.Target.Node) {
		return true
	}
	return slices.ContainsFunc(c.Target.Calls, func(inner *pyscope.Call) bool {
		return inner.Method == "zero_grad" || inner.Method == "zero_" && strings.Contains(inner.Object.Text(), "grad") || p.clears(inner, depth+1)
	})
}

// setsGrads reports whether something assigns or deletes .grad.
func (p *pass) setsGrads(n syntax.Node) bool {
	for d := range n.Descendants() {
		target := d.Field("left")
		if d.Is("delete_statement") {
			target = d.Child(0)
		}
		if d.Is("assignment", "delete_statement") && target.Is("attribute") && target.Field("attribute").Text() == "grad" {
			return true
		}
	}
	return false
}

// otherOptimizer reports whether zero_grad is called on another optimizer than the one that steps.
// On a model, a list's element or anything else it may be the same parameters.
func (p *pass) otherOptimizer(object, optimizer syntax.Node) bool {
	if !p.namedOptimizer(object) || strings.TrimLeft(lastName(object), "_") == strings.TrimLeft(lastName(optimizer), "_") {
		return false // also self._optimizer, behind a property self.optimizer
	}
	a, b := p.Place(object), p.Place(optimizer)
	if a == nil || b == nil || !assignedOrGiven(a) || !assignedOrGiven(b) {
		return false
	}
	return true
}

// assignedOrGiven reports whether a place stands for one optimizer: a parameter, or the result of
// a call, not the element of a loop or an alias.
func assignedOrGiven(place *pyscope.Place) bool {
	for _, r := range place.Stores() {
		if r.How != pyscope.ByParam && !(r.How == pyscope.ByAssign && r.Value.Is("call")) {
			return false
		}
	}
	return len(place.Stores()) > 0
}
