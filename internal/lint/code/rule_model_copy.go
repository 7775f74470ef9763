package code

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// modelName matches what people call a model.
var modelName = regexp.MustCompile(`(?i)(^|[._])(\w*model|\w*net|network|policy|actor|critic|backbone|encoder|decoder|generator|discriminator|transformer|unet|student|teacher|module)$`)

// checkModelCopy finds deep copies of models, which are made where the model is.
func checkModelCopy(p *pass) {
	for _, c := range p.calls("copy.deepcopy") {
		source, state := p.copiedModel(c)
		place := p.Place(source)
		if place == nil || p.movesToCPU(c) {
			continue
		}
		what := short(source)
		if state {
			what = "the weights of " + what
		}
		if use, ok := p.modelOnGPU(place, source, c.Node); ok {
			p.report(c.Node, rules.Mistake{
				Rule: "peak/model-copy", Severity: rules.Warning, Confidence: rules.Medium,
				Message:  fmt.Sprintf("the copy of %s is on the GPU as well", what),
				Evidence: []string{fmt.Sprintf("line %d: %s", p.Line(use.Node), short(use.Node))},
				Related:  []rules.Related{related(use.Node, "the model goes to the GPU here")},
				Remedy:   copyRemedy(source, state),
			})
		} else if (state || modelName.MatchString(source.Text())) && !p.madeOnCPU(place, c.Node) {
			p.report(c.Node, rules.Mistake{
				Rule: "peak/model-copy", Severity: rules.Info, Confidence: rules.Low,
				Message: fmt.Sprintf("the copy of %s is on the device where the model is", what),
				Remedy:  copyRemedy(source, state),
			})
		}
	}
}

// modelOnGPU returns the use that brought a model to a GPU: in the same code, or in that of a caller which hands
// it in.
func (p *pass) modelOnGPU(place *pyscope.Place, source, at syntax.Node) (gpuUse, bool) {
	if use, ok := p.onGPU(place, at); ok {
		return use, true
	}
	if use, ok := p.spreadOverGPUs(source); ok {
		return use, true
	}
	f := place.Scope.Function
	if f == nil || place.Class != nil || len(f.Callers) == 0 {
		return gpuUse{}, false
	}
	for i, param := range f.Params {
		if param.Name != place.Name {
			continue
		}
		if f.Method() {
			i--
		}
		arg := f.Callers[0].Arg(i, param.Name)
		return p.onGPU(p.Place(arg), f.Callers[0].Node)
	}
	return gpuUse{}, false
}

// spreadOverGPUs returns the from_pretrained that put a model on GPUs by its device_map.
func (p *pass) spreadOverGPUs(at syntax.Node) (gpuUse, bool) {
	stores, _ := p.StoresAt(at)
	for _, r := range stores {
		c := p.Call(r.Value)
		if c == nil || c.Method != "from_pretrained" || r.Part >= 0 {
			continue
		}
		where, ok := literal(c.Keyword("device_map"))
		if ok && slices.Contains([]string{"auto", "balanced", "balanced_low_0", "sequential", "cuda", "cuda:0"}, where) {
			return gpuUse{c, device{kind: deviceCUDA}}, true
		}
	}
	return gpuUse{}, false
}

func copyRemedy(source syntax.Node, state bool) string {
	if state {
		return fmt.Sprintf("keep {k: v.cpu() for k, v in %s.state_dict().items()}", short(source))
	}
	return fmt.Sprintf("copy %s before it goes to the GPU, or move the copy with .cpu() and update it there", short(source))
}

// copiedModel returns what is copied: model of deepcopy(model) and of deepcopy(model.state_dict()).
func (p *pass) copiedModel(c *pyscope.Call) (source syntax.Node, state bool) {
	source = c.Arg(0, "x")
	if inner := p.Call(source); inner != nil && inner.Method == "state_dict" {
		return inner.Object, !p.isOptimizer(inner.Object)
	}
	return source, false
}

// movesToCPU reports whether a copy goes to the CPU at once, or as the next thing that happens to it.
func (p *pass) movesToCPU(c *pyscope.Call) bool {
	for a := range c.Node.Ancestors() {
		if k := p.Call(a); k != nil && p.isCPUMove(k) {
			return true
		}
		if !a.Is("attribute", "call", "argument_list") {
			break
		}
	}
	place := p.storedIn(c.Node)
	return place != nil && slices.ContainsFunc(p.Calls, func(k *pyscope.Call) bool {
		return k.Node.Start() > c.Node.Start() && p.Place(k.Object) == place && p.isCPUMove(k)
	})
}

func (p *pass) isCPUMove(c *pyscope.Call) bool {
	return c.Method == "cpu" || c.Method == "to" && p.device(c.Arg(0, "device")).kind == deviceOther
}

// madeOnCPU reports whether the last thing stored in a place before a node is a new object, which
// nothing has moved.
func (p *pass) madeOnCPU(place *pyscope.Place, at syntax.Node) bool {
	var last *pyscope.Ref
	for _, r := range place.Stores() {
		if r.Node.Start() < at.Start() && p.Function(r.Node) == p.Function(at) {
			last = r
		}
	}
	if last == nil || last.How != pyscope.ByAssign {
		return false
	}
	c := p.Call(last.Value)
	return c != nil && c.Name != "" && startsUpper(c.Name)
}
