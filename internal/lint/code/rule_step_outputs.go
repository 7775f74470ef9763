package code

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// stepHooks matches what Lightning calls for every batch.
var stepHooks = regexp.MustCompile(`^(training|validation|test|predict|shared|_shared)(_eval)?_step$|^_?(shared_)?step$|^on_(train|validation|test|predict)_batch_(start|end)$`)

// checkStepOutputs looks at what LightningModules and callbacks keep of each step in themselves:
// with a graph it is a step's memory until the list is emptied, and where nothing empties it,
// it grows over the epochs.
func checkStepOutputs(p *pass) {
	for _, class := range p.Classes {
		if !class.IsLightning() && !isCallback(class) {
			continue
		}
		for _, f := range class.Methods {
			if !stepHooks.MatchString(f.Name) {
				continue
			}
			k := p.stepCarrier(f)
			p.stepReturns(f)
			for _, c := range f.Calls {
				if c.Method == "append" || c.Method == "extend" {
					p.stepKeeps(f, c, k)
				}
			}
		}
	}
}

// isLightningStep reports whether a node is in what Lightning calls for a batch; what is kept there is
// judged here.
func (p *pass) isLightningStep(n syntax.Node) bool {
	f := p.Function(n)
	return f != nil && f.Class != nil && stepHooks.MatchString(f.Name) && (f.Class.IsLightning() || isCallback(f.Class))
}

// isCallback reports whether a class is a callback of Lightning, by its bases.
func isCallback(class *pyscope.Class) bool {
	for _, k := range class.Lineage() {
		for _, b := range k.Bases {
			if strings.HasSuffix(b, "Callback") && strings.Contains(b, "lightning") {
				return true
			}
		}
	}
	return false
}

// stepCarrier tells what values in a step are tensors: the batch and outputs that it is given,
// and what the module's calls return, with a graph in a training step.
func (p *pass) stepCarrier(f *pyscope.Function) carrier {
	grads := p.Grad(f.Body()).Mode != pyscope.GradOff && !isCallback(f.Class)
	self := selfName(f)
	return carrier{p: p, leaf: func(n syntax.Node) (carry, bool) {
		if n.Is("identifier") && (n.Text() == "batch" || n.Text() == "outputs") && isParam(f, n) {
			return carriesTensor, true
		}
		if c := p.Call(n); c != nil && runsPart.MatchString(strings.TrimPrefix(c.Callee.Text(), self)) && strings.HasPrefix(c.Callee.Text(), self) && !isLogging(c) {
			return p.resultOf(c, grads), true
		}
		return carriesNothing, false
	}}
}

// runsPart matches what is called of a module: itself, one of its parts or methods, or the generate of one.
var runsPart = regexp.MustCompile(`^(\.\w+)?(\.(forward|generate|encode|sample|loss))?$`)

// resultOf is what a call of the module, or of one of its parts, returns.
func (p *pass) resultOf(c *pyscope.Call, grads bool) carry {
	v := p.Value(c.Node)
	if v.Only(pyscope.Plain) {
		return carriesNothing
	}
	if grads && !v.Only(pyscope.Plain|pyscope.Tensor) {
		return carriesGraph
	}
	return carriesTensor
}

// isLogging reports whether a method of the module returns no tensor, by its name.
func isLogging(c *pyscope.Call) bool {
	return strings.HasPrefix(c.Method, "log") || strings.HasPrefix(c.Method, "print") || strings.HasPrefix(c.Method, "save") || strings.HasPrefix(c.Method, "is_") || strings.HasPrefix(c.Method, "get_") || strings.HasPrefix(c.Method, "decode")
}

func isParam(f *pyscope.Function, n syntax.Node) bool {
	_, ok := f.Param(n.Text())
	return ok
}

// stepKeeps judges an append in a step.
func (p *pass) stepKeeps(f *pyscope.Function, c *pyscope.Call, k carrier) {
	place := p.Place(container(c.Object))
	kept := k.of(c.Arg(0, ""))
	if place == nil || place.Class == nil || kept == carriesNothing || p.bounded(place) {
		return
	}
	emptied := p.emptied(place)
	m := rules.Mistake{Rule: "leak/step-outputs", Severity: rules.Warning, Confidence: rules.High}
	switch {
	case emptied == nil:
		m.Message = fmt.Sprintf("%s keeps %s of every step of every epoch, and nothing in %s empties it", place, kept, f.Class.Name)
		m.Remedy = fmt.Sprintf("call %s.clear() at the end of the epoch, and append x.detach().cpu()", place)
		if kept == carriesHost {
			m.Severity = rules.Info
		}
	case kept == carriesGraph:
		m.Confidence = rules.Medium
		m.Message = fmt.Sprintf("%s keeps %s of every step until the end of the epoch", place, kept)
		m.Remedy = "append a detached tensor on the CPU: x.detach().cpu()"
	case kept == carriesTensor:
		m.Severity, m.Confidence = rules.Info, rules.Medium
		m.Message = fmt.Sprintf("%s keeps %s of every step on the GPU until it is emptied", place, kept)
		m.Remedy = "append x.cpu()"
	default:
		return
	}
	if emptied != nil {
		m.Related = append(m.Related, related(emptied.Node, "emptied here"))
	}
	p.report(c.Node, m)
}
