package pyscope

import (
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// Answer is what is known of a yes or no.
type Answer uint8

// Answers.
const (
	NotKnown Answer = iota
	No
	Yes
)

// OnCUDA tells whether an expression's value lives on a GPU, and why: by .cuda(), by .to(device) or
// device= where the device is known to be one, or through names that are assigned so. A device that
// is "cuda" where there is one counts.
func (m *Module) OnCUDA(n syntax.Node) (Answer, string) { return m.onCUDA(n, 0) }

func (m *Module) onCUDA(n syntax.Node, depth int) (Answer, string) {
	if depth > 12 {
		return NotKnown, ""
	}
	switch n.Kind() {
	case "call":
		return m.callOnCUDA(m.Call(n), depth)
	case "identifier":
		return m.nameOnCUDA(n, depth)
	case "attribute":
		if p := m.Place(n); p != nil && len(p.Stores()) > 0 {
			return m.nameOnCUDA(n, depth)
		}
		return m.onCUDA(n.Field("object"), depth+1)
	case "subscript":
		return m.onCUDA(n.Field("value"), depth+1)
	case "parenthesized_expression", "await":
		return m.onCUDA(n.Child(0), depth+1)
	case "list_comprehension", "generator_expression":
		return m.onCUDA(n.Field("body"), depth+1)
	case "binary_operator":
		if a, why := m.onCUDA(n.Field("left"), depth+1); a != NotKnown {
			return a, why
		}
		return m.onCUDA(n.Field("right"), depth+1)
	}
	return NotKnown, ""
}

func (m *Module) nameOnCUDA(n syntax.Node, depth int) (Answer, string) {
	refs, all := m.StoresAt(n)
	if !all || len(refs) == 0 {
		return NotKnown, ""
	}
	answer, why := NotKnown, ""
	for k, r := range refs {
		if r.How != ByAssign && r.How != ByWalrus || r.Part >= 0 {
			return NotKnown, ""
		}
		a, w := m.onCUDA(r.Value, depth+1)
		if k > 0 && a != answer {
			return NotKnown, ""
		}
		answer, why = a, w
	}
	return answer, why
}

func (m *Module) callOnCUDA(c *Call, depth int) (Answer, string) {
	why := oneLine(c.Node)
	switch {
	case c.Method == "cuda":
		return Yes, why
	case c.Method == "cpu", c.Method == "numpy", c.Method == "item", c.Method == "tolist":
		return No, why
	case c.Method == "to":
		if a := m.deviceOf(c.Arg(0, "device"), depth); a != NotKnown {
			return a, why
		}
		return m.onCUDA(c.Object, depth+1)
	}
	if device := c.Keyword("device"); device.Ok() {
		return m.deviceOf(device, depth), why
	}
	if torchMakes[lastPart(c.Name)] && strings.HasPrefix(c.Name, "torch.") && !strings.HasSuffix(c.Name, "_like") {
		return No, why
	}
	if c.Target == nil && m.Value(c.Callee).Has(NetModule) {
		return m.resultOnCUDA(c, depth)
	}
	if c.Method != "" && c.Object.Ok() && c.Name == "" {
		return m.onCUDA(c.Object, depth+1)
	}
	return NotKnown, ""
}

// resultOnCUDA: a model's result is where what it is given is.
func (m *Module) resultOnCUDA(c *Call, depth int) (Answer, string) {
	for _, a := range c.Args() {
		if answer, why := m.onCUDA(a, depth+1); answer == Yes {
			return Yes, why
		}
	}
	return NotKnown, ""
}

// deviceOf tells whether an expression that names a device means a GPU.
func (m *Module) deviceOf(n syntax.Node, depth int) Answer {
	if depth > 12 {
		return NotKnown
	}
	switch n.Kind() {
	case "string":
		return deviceText(n.Text())
	case "integer":
		return Yes
	case "conditional_expression": // "cuda" if torch.cuda.is_available() else "cpu"
		if m.deviceOf(n.Child(0), depth+1) == Yes || m.deviceOf(n.Child(2), depth+1) == Yes {
			return Yes
		}
	case "call":
		if c := m.Call(n); c.Name == "torch.device" {
			return m.deviceOf(c.Arg(0, "type"), depth+1)
		}
	case "parenthesized_expression":
		return m.deviceOf(n.Child(0), depth+1)
	case "identifier", "attribute":
		return m.deviceName(n, depth)
	}
	return NotKnown
}

func deviceText(s string) Answer {
	s = strings.Trim(strings.TrimLeft(s, "fFrRuUbB"), `"'`)
	switch {
	case strings.HasPrefix(s, "cuda"):
		return Yes
	case s == "cpu", s == "meta":
		return No
	}
	return NotKnown
}

// deviceName: one of the stores that is a GPU is enough, as of a device that is chosen by what is
// there.
func (m *Module) deviceName(n syntax.Node, depth int) Answer {
	refs, _ := m.StoresAt(n)
	answer := NotKnown
	for _, r := range refs {
		if r.Kind != Store || r.How != ByAssign && r.How != ByParam || r.Part >= 0 || !r.Value.Ok() {
			continue
		}
		switch m.deviceOf(r.Value, depth+1) {
		case Yes:
			return Yes
		case No:
			answer = No
		}
	}
	return answer
}
