package code

import (
	"fmt"
	"regexp"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkEvalFlag looks for functions that train or evaluate by a parameter, def epoch(loader, train=True) with
// if train: loss.backward(), and run the model with autograd on in both cases, where a call in the module asks for the
// evaluation.
func checkEvalFlag(p *pass) {
	for _, f := range p.Functions {
		if f.Class != nil && f.Class.IsModule() { // a part of what is trained
			continue
		}
		for k, param := range f.Params {
			back := p.guardedBackward(f, param)
			if !back.Ok() {
				continue
			}
			if call, run := p.callWithout(f, k), p.runBefore(f, back); call.Ok() && run != nil && p.Grad(run.Node).Mode == pyscope.GradOn && !p.frozen() {
				p.reportFlag(f, param, run, call)
			}
		}
	}
}

// guardedBackward returns the backward of a function, if all that it has run on one condition only, which is that a
// parameter is given.
func (p *pass) guardedBackward(f *pyscope.Function, param pyscope.Param) syntax.Node {
	var found syntax.Node
	for _, c := range f.Calls {
		switch {
		case c.Name == "torch.autograd.grad":
			return syntax.Node{}
		case !isBackward(c):
		case !p.onlyIf(c.Node, f, param.Name):
			return syntax.Node{}
		case !found.Ok():
			found = c.Node
		}
	}
	return found
}

func (p *pass) onlyIf(n syntax.Node, f *pyscope.Function, name string) bool {
	for _, c := range conditions(n, f.Node) {
		if text := c.Text(); !c.negated && (text == name || text == name+" is not None") {
			return true
		}
	}
	return false
}

// callWithout returns a call of a function in which a parameter is False or None, with autograd on.
func (p *pass) callWithout(f *pyscope.Function, k int) syntax.Node {
	position, param := k, f.Params[k]
	if f.Method() {
		position--
	}
	for _, c := range f.Callers {
		given := c.Arg(position, param.Name)
		if !given.Ok() && !c.Open() {
			given = param.Default
		}
		if given.Is("false", "none") && p.Grad(c.Node).Mode == pyscope.GradOn {
			return c.Node
		}
	}
	return syntax.Node{}
}

// runBefore returns the first run of a model in the loop that goes back through it.
func (p *pass) runBefore(f *pyscope.Function, back syntax.Node) *pyscope.Call {
	l := p.Loop(back)
	if l == nil || l.Small() {
		return nil
	}
	for _, c := range f.Calls {
		callee := c.Callee
		if c.Method == "forward" {
			callee = c.Object
		}
		if l.Has(c.Node) && c.Node.Start() < back.Start() && p.ownOrGiven(callee, f) && !lossNames.MatchString(callee.Text()) {
			return c
		}
	}
	return nil
}

// lossNames matches what people call the modules that compare a model's result with what it should be.
var lossNames = regexp.MustCompile(`(?i)loss|criterion|entropy`)

func (p *pass) reportFlag(f *pyscope.Function, param pyscope.Param, run *pyscope.Call, call syntax.Node) {
	p.report(run.Node, rules.Mistake{
		Rule: "leak/eval-without-no-grad", Severity: rules.Warning, Confidence: rules.Medium,
		Message: fmt.Sprintf("%s runs %s with autograd on whether it trains or not", f.Name, short(run.Callee)),
		Remedy:  fmt.Sprintf("run it under torch.set_grad_enabled(…), which is given whether %s asks for training", param.Name),
		Related: []rules.Related{related(call, "evaluates: no backward follows")},
	})
}
