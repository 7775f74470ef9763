package pyscope

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// Mode tells whether autograd records.
type Mode uint8

// Modes.
const (
	GradOn      Mode = iota // nothing in the module turns it off here
	GradUnknown             // it depends: on an argument, or on who calls
	GradOff
)

// Grad is the mode at a place, and why.
type Grad struct {
	Mode Mode
	Why  string      // "line 12: with torch.no_grad()"; empty for GradOn
	Node syntax.Node // that says so
}

// Grad tells whether autograd records where a node runs: with blocks and decorators around it,
// statements before it, what Lightning does around its hooks, and where all calls of the function
// in the module stand.
func (m *Module) Grad(n syntax.Node) Grad { return m.gradAt(n, 0) }

func (m *Module) gradAt(n syntax.Node, depth int) Grad {
	child := n
	for p := range n.Ancestors() {
		if p.Is("with_statement") && child.FieldName() == "body" {
			if g, ok := m.gradWith(p); ok {
				return g
			}
		}
		if s := m.scopeAt[p.Index()]; s != nil && s.Function != nil && insideScope(s, child) {
			return m.gradFunction(s.Function, n, depth)
		}
		child = p
	}
	g, _ := m.gradStatement(m.Top, n)
	return g
}

// gradEverywhere is for a function of which nothing else is known: what the module sets for good.
func (m *Module) gradEverywhere() Grad {
	for _, c := range m.switchStatements {
		if c.Scope == m.Top && c.Node.Parent().Parent().Is("module") {
			if mode, ok := m.switchCall(c); ok {
				return m.because(mode, c.Node, oneLine(c.Node))
			}
		}
	}
	return Grad{}
}

func (m *Module) gradWith(with syntax.Node) (Grad, bool) {
	for _, value := range entered(with) {
		if mode, ok := m.switches(value, 0); ok {
			return m.because(mode, value, "with "+oneLine(value)), true
		}
	}
	return Grad{}, false
}

func (m *Module) because(mode Mode, n syntax.Node, what string) Grad {
	return Grad{Mode: mode, Node: n, Why: fmt.Sprintf("line %d: %s", m.Line(n), what)}
}

// Line returns the line of the text on which a node begins.
func (m *Module) Line(n syntax.Node) int { return m.Tree.Source.TextLine(n.Start()) }

// oneLine returns the text of a node without line ends, cut where it is long.
func oneLine(n syntax.Node) string {
	s := strings.Join(strings.Fields(n.Text()), " ")
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:57], "") + "…"
	}
	return s
}

// switches reports what an expression does to autograd when it is entered or called.
func (m *Module) switches(n syntax.Node, depth int) (Mode, bool) {
	if depth > 4 {
		return GradUnknown, false
	}
	switch n.Kind() {
	case "call":
		return m.switchCall(m.Call(n))
	case "conditional_expression":
		for c := range n.Children() {
			if _, ok := m.switches(c, depth+1); ok {
				return GradUnknown, true
			}
		}
	case "parenthesized_expression":
		return m.switches(n.Child(0), depth+1)
	case "identifier", "attribute":
		return m.switchName(n, depth)
	}
	return GradUnknown, false
}

func (m *Module) switchCall(c *Call) (Mode, bool) {
	if c.Name == "torch.set_grad_enabled" {
		switch c.Arg(0, "mode").Kind() {
		case "false":
			return GradOff, true
		case "true":
			return GradOn, true
		}
		return GradUnknown, true
	}
	if c.Name == "torch.inference_mode" {
		switch arg := c.Arg(0, "mode"); {
		case !arg.Ok(), arg.Is("true"):
			return GradOff, true
		case arg.Is("false"):
			return GradUnknown, false
		}
		return GradUnknown, true
	}
	return switchNamed(c.Name, c.Callee)
}

// switchNamed is for a context manager or decorator by name.
func switchNamed(name string, n syntax.Node) (Mode, bool) {
	switch name {
	case "torch.no_grad", "torch.inference_mode", "torch._C._AutoDispatchBelowAutograd":
		return GradOff, true
	case "torch.enable_grad":
		return GradOn, true
	}
	last := strings.ToLower(lastPart(n.Text()))
	if strings.Contains(last, "no_grad") || strings.Contains(last, "nograd") || strings.Contains(last, "inference_mode") {
		return GradOff, true
	}
	return GradUnknown, false
}

// switchName looks at what a name is assigned: ctx = torch.no_grad() if … else nullcontext().
func (m *Module) switchName(n syntax.Node, depth int) (Mode, bool) {
	if mode, ok := switchNamed(m.Qualified(n), n); ok {
		return mode, true
	}
	p := m.Place(n)
	if p == nil {
		return GradUnknown, false
	}
	off, other := false, false
	for _, r := range p.Stores() {
		mode, ok := m.switches(r.Value, depth+1)
		off = off || ok && mode != GradOn
		other = other || !ok || mode != GradOff
	}
	switch {
	case off && other:
		return GradUnknown, true
	case off:
		return GradOff, true
	}
	return GradUnknown, false
}

// gradFunction is for the body of a function, without the with blocks in it.
func (m *Module) gradFunction(f *Function, n syntax.Node, depth int) Grad {
	for _, d := range f.Decorators {
		if mode, ok := m.switches(d.Node, 0); ok {
			return m.because(mode, d.Node, "@"+oneLine(d.Node))
		}
	}
	if g, ok := m.gradStatement(f.Scope, n); ok {
		return g
	}
	if g, ok := m.grads[f]; ok {
		return g
	}
	m.grads[f] = Grad{} // while it is being found: a function that calls itself says nothing
	g, ok := m.gradFramework(f)
	if !ok {
		g = m.gradCallers(f, depth)
	}
	m.grads[f] = g
	return g
}

// gradStatement looks for torch.set_grad_enabled(False) as a statement before a node, not in
// a branch that the node is not in.
func (m *Module) gradStatement(s *Scope, n syntax.Node) (Grad, bool) {
	for k := len(m.switchStatements) - 1; k >= 0; k-- {
		c := m.switchStatements[k]
		if c.Scope != s || c.Node.Start() >= n.Start() {
			continue
		}
		mode, ok := m.switchCall(c)
		if !ok {
			continue
		}
		if !n.In(c.Node.Parent().Parent()) {
			mode = GradUnknown
		}
		return m.because(mode, c.Node, oneLine(c.Node)), true
	}
	return Grad{}, false
}

// gradFramework knows what is called with gradients off by those who call it.
func (m *Module) gradFramework(f *Function) (Grad, bool) {
	if f.Class == nil {
		return Grad{}, false
	}
	switch {
	case (f.Class.hasLightningSteps() || f.Class.isCallback()) && lightningEval[f.Name]:
		return m.because(GradOff, f.Node, "Lightning calls "+f.Name+" with gradients off"), true
	case f.Class.IsFunction() && (f.Name == "forward" || f.Name == "backward"):
		return m.because(GradOff, f.Node, "autograd runs "+f.Name+" of a Function with gradients off"), true
	}
	return Grad{}, false
}

var lightningEval = map[string]bool{
	"validation_step": true, "test_step": true, "predict_step": true,
	"validation_epoch_end": true, "test_epoch_end": true, "on_validation_epoch_end": true, "on_test_epoch_end": true,
	"validation_step_end": true, "test_step_end": true, "on_predict_epoch_end": true,
	"on_validation_batch_end": true, "on_test_batch_end": true,
}

// gradCallers is for a function that says nothing itself: where its calls stand.
func (m *Module) gradCallers(f *Function, depth int) Grad {
	if depth > 6 {
		return Grad{Mode: GradUnknown, Why: "the calls that lead here are too many to follow"}
	}
	if len(f.Callers) == 0 {
		return m.gradEverywhere()
	}
	off, other := 0, Grad{}
	for _, c := range f.Callers {
		if c.Scope.Code().Function == f { // calls itself
			continue
		}
		g := m.gradAt(c.Node, depth+1)
		if g.Mode == GradOff {
			off++
		}
		if g.Mode != GradOn {
			other = g
		}
	}
	switch {
	case off == 0 && other.Mode == GradOn:
		return m.gradEverywhere()
	case off == len(f.Callers) && len(f.Escapes) == 0:
		other.Why = "all calls of " + f.Name + " are with gradients off, " + other.Why
		return other
	}
	other.Mode = GradUnknown
	other.Why = "some calls of " + f.Name + " are with gradients off, " + other.Why
	return other
}

// entered returns the expressions of a with statement.
func entered(with syntax.Node) []syntax.Node {
	var found []syntax.Node
	for c := range with.Children() {
		if !c.Is("with_clause") {
			continue
		}
		for item := range c.Children() {
			value := item.Field("value")
			if value.Is("as_pattern") {
				value = value.Child(0)
			}
			found = append(found, value)
		}
	}
	return found
}
