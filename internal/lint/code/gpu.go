package code

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// gpuUse is a call that brings something to a GPU, and so makes a context on it.
type gpuUse struct {
	*pyscope.Call
	device device
}

// touching are functions of torch.cuda that make a context on the current device, or on the
// one that their first argument names.
var touching = []string{
	"torch.cuda.synchronize", "torch.cuda.mem_get_info", "torch.cuda.memory.mem_get_info", "torch.cuda.Stream",
	"torch.cuda.FloatTensor", "torch.cuda.HalfTensor", "torch.cuda.LongTensor", "torch.cuda.IntTensor", "torch.cuda.ByteTensor",
}

// gpuUses returns the calls that bring something to a GPU, in the order of the source.
func (p *pass) gpuUses() []gpuUse {
	return memo(&p.facts.uses, func() []gpuUse {
		var uses []gpuUse
		for _, c := range p.Calls {
			if d := p.callDevice(c); d.kind == deviceCUDA {
				uses = append(uses, gpuUse{c, d})
			}
		}
		return uses
	})
}

// callDevice returns the device to which a call brings something; unknown where it brings nothing anywhere.
func (p *pass) callDevice(c *pyscope.Call) device {
	switch {
	case c.Method == "cuda" && c.Name != "torch.cuda" && takesDeviceOnly(c):
		return p.argumentDevice(c.Arg(0, "device"))
	case c.Method == "to":
		return p.device(c.Arg(0, "device"))
	case slices.Contains(touching, c.Name):
		return p.argumentDevice(c.Arg(0, "device"))
	case strings.HasPrefix(c.Name, "torch.") && isTensorMaker(c.Name):
		return p.device(c.Keyword("device"))
	}
	return device{}
}

// takesDeviceOnly reports whether a call of cuda() has the keywords of a tensor's or a module's: other
// classes have a method of that name for something else.
func takesDeviceOnly(c *pyscope.Call) bool {
	for a := range c.Node.Field("arguments").Children() {
		if a.Is("keyword_argument") && !slices.Contains([]string{"device", "non_blocking", "memory_format", "async"}, a.Field("name").Text()) {
			return false
		}
	}
	return true
}

// argumentDevice is the device of x.cuda(arg): the current one where there is no argument, and
// some certain one where it is not known which.
func (p *pass) argumentDevice(arg syntax.Node) device {
	if !arg.Ok() || arg.Is("none", "true", "false") {
		return device{deviceCUDA, false, true}
	}
	if d := p.device(arg); d.kind == deviceCUDA {
		return d
	}
	return device{deviceCUDA, true, true}
}

// isTensorMaker reports whether a function of torch returns a new tensor on the device that it
// is told: torch.zeros, torch.tensor, torch.arange. torch.autocast and its like take a device as well.
func isTensorMaker(name string) bool {
	switch strings.TrimPrefix(name, "torch.") {
	case "tensor", "as_tensor", "asarray", "zeros", "ones", "empty", "full", "rand", "randn", "randint", "randperm",
		"arange", "range", "linspace", "logspace", "eye", "zeros_like", "ones_like", "empty_like", "full_like",
		"rand_like", "randn_like", "randint_like", "empty_strided", "tril_indices", "triu_indices":
		return true
	}
	return false
}

// usesIn returns the uses of a GPU in a function, and in functions of the module that it calls.
func (p *pass) usesIn(f *pyscope.Function) []gpuUse {
	inside := p.reach(f)
	var uses []gpuUse
	for _, u := range p.gpuUses() {
		if slices.Contains(inside, p.Function(u.Node)) {
			uses = append(uses, u)
		}
	}
	return uses
}

// reach returns a function and those of the module that it calls, directly or through others
// within three calls. Functions inside it are its own code.
func (p *pass) reach(f *pyscope.Function) []*pyscope.Function {
	all := []*pyscope.Function{f}
	for depth, from := 0, 0; depth < 3; depth++ {
		to := len(all)
		for _, g := range all[from:to] {
			for _, c := range g.Calls {
				if c.Target != nil && !slices.Contains(all, c.Target) {
					all = append(all, c.Target)
				}
			}
		}
		from = to
	}
	for _, g := range p.Functions {
		if g.Outer != nil && slices.Contains(all, g.Outer) && !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

// onGPU reports whether a place is known to be on a GPU when a node runs: something earlier
// in the same code brought it there.
func (p *pass) onGPU(place *pyscope.Place, at syntax.Node) (gpuUse, bool) {
	if place == nil {
		return gpuUse{}, false
	}
	for _, u := range p.gpuUses() {
		if u.Node.Start() >= at.Start() || exclusive(u.Node, at) {
			continue
		}
		sameCode := p.Function(u.Node) == p.Function(at)
		if place.Class != nil {
			sameCode = p.Class(u.Node) == p.Class(at)
		}
		if sameCode && p.bringsPlace(u, place) {
			return u, true
		}
	}
	return gpuUse{}, false
}

// bringsPlace reports whether a use is model.cuda() or model = Net().cuda() for a place.
func (p *pass) bringsPlace(u gpuUse, place *pyscope.Place) bool {
	if p.Place(u.Object) == place && isStatement(u.Node) {
		return true
	}
	for _, r := range place.Stores() {
		if r.Part < 0 && u.Node.In(r.Value) && outermost(u.Node, r.Value) {
			return true
		}
	}
	return false
}

// isStatement reports whether a call, or what is called on its value, is a statement: model.cuda() and
// model.cuda().eval(), which move a module where it is.
func isStatement(call syntax.Node) bool {
	for a := range call.Ancestors() {
		if !a.Is("attribute", "call") {
			return a.Is("expression_statement")
		}
	}
	return false
}

// outermost reports whether the value of an expression is that of a call in it, or of a method of
// that: Net().cuda() of Net().cuda().eval().
func outermost(call, value syntax.Node) bool {
	for n := value; n.Ok(); {
		if n == call {
			return true
		}
		switch n.Kind() {
		case "call":
			n = n.Field("function").Field("object")
		case "parenthesized_expression":
			n = n.Child(0)
		default:
			return false
		}
	}
	return false
}
