package code

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// A hot loop is one whose iterations are steps: a batch, a sample, a token at a time. An epoch
// is a phase with steps inside it, not a step.

// loopStatement returns the innermost for or while around a node, comprehensions left out.
func (p *pass) loopStatement(n syntax.Node) *pyscope.Loop {
	l := p.Loop(n)
	for l != nil && !l.Node.Is("for_statement", "while_statement") {
		l = l.Outer
	}
	return l
}

var (
	// loaders matches what yields batches, by its name.
	loaders = regexp.MustCompile(`(?i)(loader|batches|batch_iter|data_iter|prefetcher|(test|val|train|valid|eval)_dl\b|range\(0,.*batch_size\))`)
	// batches matches what takes a batch, by its name.
	batches = regexp.MustCompile(`(?i)(^|\W)(batch|minibatch|mini_batch|\w+_batch|batch_data)\b`)
)

// yieldsBatches reports whether a loop goes over batches, by the names in its head.
func yieldsBatches(l *pyscope.Loop) bool {
	return !l.Small() && (loaders.MatchString(l.Over().Text()) || batches.MatchString(l.Node.Field("left").Text()))
}

// callsIn returns the calls that each iteration of a loop makes by itself, not in loops within it.
func (p *pass) callsIn(l *pyscope.Loop) []*pyscope.Call {
	return memo(&p.facts.callsIn, func() map[*pyscope.Loop][]*pyscope.Call {
		all := map[*pyscope.Loop][]*pyscope.Call{}
		for _, c := range p.Calls {
			if around := p.loopStatement(c.Node); around != nil {
				all[around] = append(all[around], c)
			}
		}
		return all
	})[l]
}

// step is why a loop is hot.
type step struct {
	trains    bool        // makes gradients
	runs      bool        // runs a model
	generates bool        // has it produce something, one token or frame after the other
	node      syntax.Node // that shows it
}

func (s step) hot() bool { return s.trains || s.runs }

// stepOf tells what each iteration of a loop does by itself, not by loops within it.
func (p *pass) stepOf(l *pyscope.Loop) step {
	var s step
	if l == nil {
		return s
	}
	for _, c := range p.callsIn(l) {
		switch {
		case p.isUpdate(c) || c.Target != nil && c.Class == nil && p.updatesOnce(c.Target):
			if !s.trains {
				s.trains, s.node = true, c.Node
			}
		case p.isForward(c, l):
			s.generates = s.generates || c.Method == "generate"
			if !s.hot() {
				s.node = c.Node
			}
			s.runs = true
		}
	}
	if !s.hot() && yieldsBatches(l) {
		s = step{runs: true, node: l.Over()}
	}
	return s
}

// isForward reports whether a call runs a model, by its name: model(x), model.generate(…). A model that the
// loop itself makes is another one each time.
func (p *pass) isForward(c *pyscope.Call, l *pyscope.Loop) bool {
	model := c.Callee
	if c.Method == "generate" {
		model = c.Object
	} else if !wholeModel.MatchString(c.Callee.Text()) {
		return false
	}
	place := p.Place(model)
	return place == nil || !slices.ContainsFunc(place.Stores(), func(r *pyscope.Ref) bool { return p.loopStatement(r.Node) == l })
}

// updatesOnce reports whether a function makes one update, outside of loops.
func (p *pass) updatesOnce(f *pyscope.Function) bool {
	return slices.ContainsFunc(f.Calls, func(c *pyscope.Call) bool { return p.isUpdate(c) && p.loopStatement(c.Node) == nil })
}

// isUpdate reports whether a call makes gradients or uses them: loss.backward(), optimizer.step().
func (p *pass) isUpdate(c *pyscope.Call) bool {
	switch c.Method {
	case "backward":
		return c.Name != "torch.autograd.backward" || len(c.Args()) > 0
	case "step":
		return p.isOptimizer(c.Object) || strings.Contains(strings.ToLower(c.Object.Text()), "scaler")
	case "manual_backward":
		return true
	}
	return false
}

func (p *pass) isOptimizer(n syntax.Node) bool {
	name := lastName(n)
	return strings.HasPrefix(p.Type(n), "torch.optim.") && !strings.Contains(p.Type(n), "lr_scheduler") ||
		strings.HasPrefix(name, "opt") || strings.HasSuffix(name, "opt") || strings.Contains(name, "optim")
}

// stepMethods are what frameworks call for every batch.
var stepMethods = []string{
	"training_step", "validation_step", "test_step", "predict_step", "train_step", "forward", "compute_loss",
	"on_train_batch_start", "on_train_batch_end", "on_step_begin", "on_step_end", "on_before_zero_grad", "optimizer_step",
}

// inStepMethod returns the method around a node that a framework calls for every batch; nil where there is none.
func (p *pass) inStepMethod(n syntax.Node) *pyscope.Function {
	f := p.Function(n)
	if f == nil || f.Class == nil || !slices.Contains(stepMethods, f.Name) {
		return nil
	}
	if f.Name == "forward" && !f.Class.IsModule() {
		return nil
	}
	return f
}

// trainsLater returns the first loop behind a node, in the same code, whose iterations train or
// run a model, or a call of a function of the module that has such a loop.
func (p *pass) trainsLater(n syntax.Node) (syntax.Node, bool) {
	f := p.Function(n)
	for _, l := range p.Loops {
		if l.Node.Start() > n.Start() && p.Function(l.Node) == f && p.stepOf(l).hot() && !exclusive(l.Node, n) {
			return l.Node, true
		}
	}
	for _, c := range p.Calls {
		if c.Node.Start() > n.Start() && p.Function(c.Node) == f && c.Target != nil && c.Class == nil && p.trainsInLoop(c.Target) && !exclusive(c.Node, n) {
			return c.Node, true
		}
	}
	return syntax.Node{}, false
}

// trainsInLoop reports whether a function has a loop whose iterations make updates, or trains
// by its name and what it does.
func (p *pass) trainsInLoop(f *pyscope.Function) bool {
	for _, l := range p.Loops {
		if p.Function(l.Node) == f && p.stepOf(l).trains {
			return true
		}
	}
	return slices.ContainsFunc(f.Calls, p.isUpdate)
}
