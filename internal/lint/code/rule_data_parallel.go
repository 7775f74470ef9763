package code

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkDataParallel finds models that are wrapped in DataParallel. Over one device it does nothing, and
// people keep it for the names in their checkpoints.
func checkDataParallel(p *pass) {
	for _, c := range p.calls("torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.data_parallel.DataParallel") {
		if oneDevice(c) || p.unwrapped(c) || wrappedBefore(c) {
			continue
		}
		model := "the model"
		if m := c.Arg(0, "module"); m.Ok() {
			model = short(m)
		}
		severity, also := rules.Warning, ", which also holds the optimizer's state"
		if p.evaluatesOnly(c) {
			severity, also = rules.Info, ""
		}
		p.report(c.Node, rules.Mistake{
			Rule: "dist/data-parallel", Severity: severity, Confidence: p.chosenByCaller(c),
			Message:  fmt.Sprintf("DataParallel gathers the outputs of %s on the first GPU%s", model, also),
			Evidence: []string{"the first GPU runs out of memory while the others have room, and parameters are copied in every forward"},
			Remedy:   fmt.Sprintf("start one process for each GPU with torchrun and wrap %s in DistributedDataParallel; until then compute the loss inside the wrapped module", model),
		})
	}
}

// evaluatesOnly reports whether a model is put into evaluation mode where it is wrapped, or runs without
// gradients: there is no optimizer then.
func (p *pass) evaluatesOnly(c *pyscope.Call) bool {
	for n := c.Node; n.Parent().Is("attribute") && n.Parent().Parent().Is("call"); n = n.Parent().Parent() {
		if n.Parent().Field("attribute").Text() == "eval" {
			return true
		}
	}
	return p.Grad(c.Node).Mode == pyscope.GradOff
}

// unwrapped reports whether the wrapper is taken off again in the same function: it was there for the
// names in a checkpoint.
func (p *pass) unwrapped(c *pyscope.Call) bool {
	place := p.storedIn(c.Node)
	if place == nil {
		return false
	}
	for _, r := range place.Stores() {
		if v := r.Value; r.Node.Start() > c.Node.Start() && v.Is("attribute") && v.Field("attribute").Text() == "module" && p.Place(v.Field("object")) == place && p.Function(r.Node) == p.Function(c.Node) {
			return true
		}
	}
	return false
}

// wrappedBefore reports whether a call runs only where a model came wrapped: it is put back as it was.
func wrappedBefore(c *pyscope.Call) bool {
	return slices.ContainsFunc(conditions(c.Node, syntax.Node{}), func(k condition) bool {
		return !k.negated && strings.Contains(k.Text(), "isinstance") && strings.Contains(k.Text(), "DataParallel")
	})
}

// chosenByCaller returns how sure a finding is: where a function or class is DataParallel's by name, whoever
// calls it has chosen it, and the mistake is theirs.
func (p *pass) chosenByCaller(c *pyscope.Call) rules.Confidence {
	if class := p.Class(c.Node); class != nil && strings.Contains(class.Name, "DataParallel") {
		return rules.Low
	}
	if f := p.Function(c.Node); f != nil && strings.Contains(strings.ToLower(f.Name), "data_parallel") {
		return rules.Low
	}
	return rules.High
}

// oneDevice reports whether DataParallel is told a single device.
func oneDevice(c *pyscope.Call) bool {
	ids := c.Arg(1, "device_ids")
	if !ids.Is("list", "tuple") {
		return false
	}
	n := 0
	for id := range ids.Children() {
		if id.Is("list_splat") {
			return false
		}
		n++
	}
	return n == 1
}
