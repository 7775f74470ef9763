package pyscope

import (
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// noteBackward remembers the places whose value a call runs backward on: loss.backward(),
// (a + b).mean().backward(), scaler.scale(loss).backward(), accelerator.backward(loss),
// torch.autograd.backward(loss).
func (m *Module) noteBackward(c *Call) {
	switch {
	case c.Method == "backward" && len(c.Args()) == 0:
		m.backwardOn(c.Object, c.Node, 0)
	case c.Method == "backward" && c.Object.Is("call", "parenthesized_expression"), c.Method == "backward" && !m.helper(c):
		m.backwardOn(c.Object, c.Node, 0)
	case c.Method == "backward", c.Method == "manual_backward":
		m.backwardOn(c.Arg(0, "loss"), c.Node, 0)
	}
}

// helper reports whether backward is a method of something that takes the loss: an accelerator, a
// fabric, an engine, torch.autograd; not of a tensor, which may be given its gradient.
func (m *Module) helper(c *Call) bool {
	if c.Name == "torch.autograd.backward" {
		return true
	}
	if c.Args()[0].Is("keyword_argument") {
		return false
	}
	name := strings.ToLower(lastPart(c.Object.Text()))
	return takesLoss[strings.TrimLeft(name, "_")] || strings.HasSuffix(name, "engine") || strings.HasSuffix(name, "optimizer") ||
		strings.Contains(strings.ToLower(lastPart(c.Args()[0].Text())), "loss") && !strings.Contains(name, "loss")
}

// takesLoss are what people call the helpers.
var takesLoss = set("accelerator", "fabric", "engine", "strategy", "self", "trainer", "amp", "booster", "model_engine", "precision_plugin", "backend")

func (m *Module) backwardOn(n, at syntax.Node, depth int) {
	if p := m.Place(n); p != nil {
		m.backwarded[p] = append(m.backwarded[p], at)
		return
	}
	if depth > 8 {
		return
	}
	switch n.Kind() {
	case "list", "tuple":
		for c := range n.Children() {
			m.backwardOn(c, at, depth+1)
		}
	case "binary_operator":
		m.backwardOn(n.Field("left"), at, depth+1)
		m.backwardOn(n.Field("right"), at, depth+1)
	case "unary_operator":
		m.backwardOn(n.Field("argument"), at, depth+1)
	case "parenthesized_expression":
		m.backwardOn(n.Child(0), at, depth+1)
	case "subscript": // losses[-1].backward()
		m.backwardOn(n.Field("value"), at, depth+1)
	case "call":
		m.backwardOnCall(m.Call(n), at, depth)
	}
}

func (m *Module) backwardOnCall(c *Call, at syntax.Node, depth int) {
	switch {
	case c == nil:
	case c.Target != nil && c.Class == nil:
		for _, r := range c.Target.Returns {
			m.backwardOn(r, at, depth+1)
		}
	case c.Method == "scale" || c.Name == "sum" || strings.HasPrefix(c.Name, "torch."):
		for _, a := range c.Args() {
			m.backwardOn(a, at, depth+1)
		}
	case c.Method != "":
		m.backwardOn(c.Object, at, depth+1)
	}
}

// Backward returns where backward() is called on the value of a place, in any function.
func (m *Module) Backward(p *Place) []syntax.Node { return m.backwarded[p] }
