package pyscope

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// Repeat is what makes code run again and again.
type Repeat struct {
	Loop *Loop       // in the same function; nil where the function is called again and again
	Node syntax.Node // the loop, or what else says so
	Why  string      // "the loop in line 12"
}

// Repeated tells whether a node runs again and again, and what makes it: a loop around it
// that is not sure to be short, in its function or around the calls of it; or, where the
// module does not show the calls, the function being one that is called for each step
// by its name or its parameters. A nil answer is "not that the module shows".
func (m *Module) Repeated(n syntax.Node) *Repeat { return m.repeated(n, 0) }

func (m *Module) repeated(n syntax.Node, depth int) *Repeat {
	for l := m.Loop(n); l != nil; l = l.Outer {
		if !l.Small() {
			r := m.ofLoop(l)
			return &r
		}
	}
	f := m.Function(n)
	if f == nil {
		return nil
	}
	return m.calledAgain(f, depth)
}

func (m *Module) ofLoop(l *Loop) Repeat {
	return Repeat{Loop: l, Node: l.Node, Why: fmt.Sprintf("the loop in line %d", m.Line(l.Node))}
}

// calledAgain tells whether a function is called again and again.
func (m *Module) calledAgain(f *Function, depth int) *Repeat {
	if depth > 5 {
		return nil
	}
	r, known := m.repeats[f]
	if !known {
		m.repeats[f] = nil // while it is being found
		r = m.functionRepeated(f, depth)
		m.repeats[f] = r
	}
	return r
}

func (m *Module) functionRepeated(f *Function, depth int) *Repeat {
	for _, c := range f.Callers {
		if r := m.repeated(c.Node, depth+1); r != nil && m.Function(c.Node) != f {
			return &Repeat{Node: r.Node, Why: "called from " + strings.TrimPrefix(r.Why, "called from ")}
		}
	}
	if why, ok := m.stepFunction(f); ok {
		return &Repeat{Node: f.Node.Field("name"), Why: why}
	}
	return nil
}

// stepFunction reports whether a function is called for each step by those who call it: by its
// name, its being a hook or callback of a framework, or its being given to something.
func (m *Module) stepFunction(f *Function) (string, bool) {
	name := strings.TrimLeft(f.Name, "_")
	if stepNames[name] || strings.HasSuffix(name, "_step") || strings.HasSuffix(name, "_batch") || strings.HasPrefix(name, "on_") && strings.Contains(name, "_batch_") {
		return f.Name + ", which is called for each step", true
	}
	return "", false
}

var stepNames = set("step", "training_step", "validation_step", "test_step", "train_step", "eval_step", "closure", "train_one_step",
	"compute_loss", "optimize_parameters", "forward_backward", "train_on_batch", "train_batch", "run_step", "process_batch", "one_step", "update", "iteration",
	"handle", "inference", "infer", "predict", "__call__") // once for each request
