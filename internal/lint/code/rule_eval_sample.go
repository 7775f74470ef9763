package code

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// samples matches the names of functions that draw from a generative model in many steps.
var samples = regexp.MustCompile(`^_?((p|ddim|ddpm|plms|dpm|euler|heun)_)?sampl(e|ing)(_(loop|images|batch|from_noise))?$|^_?(denoise|diffuse)_loop$`)

// checkEvalSample looks for the loops of such functions in which a model is given what came of its last
// result, with autograd on: the graph of all steps is kept until the last, hundreds of forwards at once.
// What goes back through the samples needs that graph, and keeps the rule silent.
func checkEvalSample(p *pass) {
	var judged tally
	for _, f := range p.Functions {
		if !samples.MatchString(f.Name) || judged.over() || p.wantsWithin(f.Node.Start(), f.Node.End()) || p.callersWant(f) {
			continue
		}
		for _, run := range f.Calls {
			if state := p.stepsOn(run, f); state.Ok() && p.Grad(run.Node).Mode == pyscope.GradOn {
				p.reportSample(f, run, state)
				break
			}
		}
	}
}

// callersWant reports whether gradients are wanted of what a function returns, as far as its calls in the module show.
func (p *pass) callersWant(f *pyscope.Function) bool {
	for _, c := range p.Calls {
		if c.Target != f && (c.Target != nil || c.Method != f.Name) || p.Grad(c.Node).Mode == pyscope.GradOff {
			continue
		}
		result, g := p.storedIn(c.Node), p.Function(c.Node)
		if result != nil && len(p.Fate(result).Backward) > 0 || result == nil && g != nil && p.wantsWithin(g.Node.Start(), g.Node.End()) {
			return true
		}
	}
	return false
}

// stepsOn returns the argument of a model's run that the loop around it makes anew of the result; none where it does
// not, or where the graph is cut.
func (p *pass) stepsOn(run *pyscope.Call, f *pyscope.Function) syntax.Node {
	l, result := p.Loop(run.Node), p.storedIn(run.Node)
	if l == nil || l.Small() || result == nil || !p.ownOrGiven(run.Callee, f) {
		return syntax.Node{}
	}
	for _, arg := range run.Args() {
		if place := p.Place(arg); place != nil && p.madeAnew(place, result, l) {
			return arg
		}
	}
	return syntax.Node{}
}

// ownOrGiven reports whether a function gets what is called as a model: as a parameter, or in its object.
func (p *pass) ownOrGiven(callee syntax.Node, f *pyscope.Function) bool {
	return p.givenModel(callee, f) || callee.Is("attribute") && p.Value(callee).Has(pyscope.NetModule)
}

// madeAnew reports whether a loop stores in a place what is made of the place itself and of a result, by arithmetic
// or by a scheduler's step.
func (p *pass) madeAnew(place, result *pyscope.Place, l *pyscope.Loop) bool {
	anew := false
	for _, r := range place.Stores() {
		if !l.Has(r.Node) {
			continue
		}
		if text := r.Value.Text(); strings.Contains(text, "detach") || strings.Contains(text, ".data") || !p.steps(r.Value) {
			return false
		}
		anew = anew || p.mentions(r.Value, place) && p.mentions(r.Value, result)
	}
	return anew
}

func (p *pass) steps(n syntax.Node) bool {
	if n.Is("attribute") { // scheduler.step(noise, t, x).prev_sample
		n = n.Field("object")
	}
	c := p.Call(n)
	return n.Is("binary_operator") || c != nil && c.Method == "step"
}

func (p *pass) reportSample(f *pyscope.Function, run *pyscope.Call, state syntax.Node) {
	p.report(run.Node, rules.Mistake{
		Rule: "leak/eval-without-no-grad", Severity: rules.Warning, Confidence: rules.Medium,
		Message: fmt.Sprintf("%s runs %s with autograd on, each step on what came of the last: the graph of all steps is kept", f.Name, short(run.Callee)),
		Remedy:  "decorate " + f.Name + " with @torch.no_grad()",
		Related: []rules.Related{
			related(state, "made of the result of the step before"),
			related(p.Loop(run.Node).Node.Child(0), "for each round of this loop"),
		},
	})
}
