package code

import (
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// deviceKind is the sort of device that an expression names.
type deviceKind uint8

const (
	deviceUnknown deviceKind = iota
	deviceCUDA
	deviceOther // the CPU, or another accelerator
)

// device is what is known of an expression that names a device.
type device struct {
	kind    deviceKind
	indexed bool // says which GPU, in some case at least; "cuda" alone means the current one
	sure    bool // is nothing else, as far as the source shows
}

// deviceDepth is how many names and calls are followed to a device.
const deviceDepth = 4

// device tells which device an expression names.
func (p *pass) device(n syntax.Node) device { return p.deviceAt(n, 0) }

func (p *pass) deviceAt(n syntax.Node, depth int) device {
	if depth > deviceDepth {
		return device{}
	}
	switch n.Kind() {
	case "string":
		text, _, _ := stringText(n)
		return deviceNamed(text)
	case "integer":
		return device{deviceCUDA, true, true}
	case "parenthesized_expression":
		return p.deviceAt(n.Child(0), depth)
	case "conditional_expression": // "cuda" if torch.cuda.is_available() else "cpu"
		return joinDevices(p.deviceAt(n.Child(0), depth), p.deviceAt(n.Child(2), depth))
	case "boolean_operator": // args.device or "cuda"
		return joinDevices(p.deviceAt(n.Field("left"), depth), p.deviceAt(n.Field("right"), depth))
	case "binary_operator": // "cuda:%d" % rank, "cuda:" + str(rank)
		d := p.deviceAt(n.Field("left"), depth)
		d.indexed = d.indexed || d.kind == deviceCUDA
		return d
	case "call":
		return p.deviceOfCall(p.Call(n), depth)
	case "identifier", "attribute":
		return p.deviceOfPlace(p.Place(n), depth)
	}
	return device{}
}

func deviceNamed(text string) device {
	kind, index, indexed := strings.Cut(text, ":")
	switch {
	case kind == "cuda":
		return device{deviceCUDA, indexed && index != "", true}
	case kind == "" || strings.Contains(kind, "{}"):
		return device{}
	}
	return device{deviceOther, indexed, true}
}

func joinDevices(a, b device) device {
	switch {
	case a.kind == deviceCUDA && b.kind == deviceCUDA:
		return device{deviceCUDA, a.indexed || b.indexed, a.sure && b.sure}
	case a.kind == deviceCUDA:
		return device{deviceCUDA, a.indexed, a.sure && b.kind == deviceOther}
	case b.kind == deviceCUDA:
		return device{deviceCUDA, b.indexed, b.sure && a.kind == deviceOther}
	case a.kind == deviceOther && b.kind == deviceOther:
		return a
	}
	return device{}
}

func (p *pass) deviceOfCall(c *pyscope.Call, depth int) device {
	switch {
	case c == nil:
		return device{}
	case c.Name == "torch.device":
		d := p.deviceAt(c.Arg(0, "type"), depth)
		d.indexed = d.indexed || c.Arg(1, "index").Ok()
		return d
	case c.Name == "torch.cuda.current_device":
		return device{deviceCUDA, true, true}
	case c.Target != nil && c.Class == nil && len(c.Target.Returns) > 0:
		d := p.deviceAt(c.Target.Returns[0], depth+1)
		for _, r := range c.Target.Returns[1:] {
			d = joinDevices(d, p.deviceAt(r, depth+1))
		}
		return d
	}
	return device{}
}

// deviceOfPlace joins all that is stored in a place. A parameter's default counts: it is what
// most calls leave.
func (p *pass) deviceOfPlace(place *pyscope.Place, depth int) device {
	if place == nil {
		return device{}
	}
	var d device
	for i, r := range place.Stores() {
		one := device{}
		if r.Part < 0 && (r.How == pyscope.ByAssign || r.How == pyscope.ByParam || r.How == pyscope.ByWalrus) {
			one = p.deviceAt(r.Value, depth+1)
		}
		if i == 0 {
			d = one
		} else {
			d = joinDevices(d, one)
		}
	}
	return d
}
