package code

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// answers matches the names of methods that answer a request with a model, as a handler of a server or
// a wrapper for users has them.
var answers = regexp.MustCompile(`^_?(predict|inference|infer|handle|serve|classify|detect|segment|transcribe|translate|synthesize|upscale|enhance|embed)(_(batch|one|image|images|text|texts|step))?$`)

// checkEvalHandler looks at objects that put a model into evaluation mode when they are made, and run
// it later to answer someone. Each answer has the memory of a forward that is kept for a backward: a
// peak, not a leak, for the graph goes with the answer. Who calls them may have switched autograd off.
func checkEvalHandler(p *pass) {
	var switches tally
	for _, class := range p.Classes {
		if class.IsModule() || isCallback(class) {
			continue
		}
		for _, c := range p.Calls {
			if c.Method == "eval" && len(c.Args()) == 0 && p.Class(c.Node) == class && !switches.over() {
				p.evalHandler(class, c)
			}
		}
	}
}

// evalHandler reports the methods of a class that run what one of its methods put into evaluation mode.
func (p *pass) evalHandler(class *pyscope.Class, switched *pyscope.Call) {
	model := p.evaluated(switched)
	place, maker := p.Place(model), p.Function(switched.Node)
	if place == nil || place.Class != class || maker == nil || answers.MatchString(maker.Name) {
		return
	}
	for _, run := range p.Calls {
		f := p.Function(run.Node)
		if f == nil || f.Class != class || f == maker || p.Place(run.Callee) != place && !runsPartOf(run, model) {
			continue
		}
		if !answers.MatchString(f.Name) && !p.again(run).Ok() {
			continue
		}
		if p.Grad(run.Node).Mode == pyscope.GradOn && !p.wantsWithin(class.Node.Start(), class.Node.End()) && !p.frozen() {
			p.reportAnswer(f, run, switched, model)
		}
	}
}

func (p *pass) reportAnswer(f *pyscope.Function, run, switched *pyscope.Call, model syntax.Node) {
	m := rules.Mistake{
		Rule: "leak/eval-without-no-grad", Severity: rules.Info, Confidence: rules.Medium,
		Message: fmt.Sprintf("%s answers with %s while autograd records what it computes", f.Name, short(model)),
		Remedy:  "decorate " + f.Name + " with @torch.inference_mode()",
		Related: []rules.Related{related(switched.Node, "eval() switches dropout and batch norm, not autograd")},
	}
	if loop := p.again(run); loop.Ok() {
		m.Severity = rules.Warning
		m.Related = append(m.Related, related(loop.Child(0), "for each round of this loop"))
	} else if isHandler(f.Class) {
		m.Severity = rules.Warning
	}
	p.report(run.Node, m)
}

// isHandler reports whether a class is one that a server calls for each request, by what it is derived from: what it
// overrides there had autograd off.
func isHandler(class *pyscope.Class) bool {
	return slices.ContainsFunc(class.Bases, func(base string) bool { return strings.HasSuffix(base, "Handler") })
}
