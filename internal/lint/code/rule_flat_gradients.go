package code

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

var gradAttribute = regexp.MustCompile(`\.grad\b`)

// checkFlatGradients finds all gradients flattened into one tensor for one all-reduce.
func checkFlatGradients(p *pass) {
	for _, c := range p.calls("torch.cat", "torch._utils._flatten_dense_tensors", "torch.nn.utils.parameters_to_vector") {
		if p.loopStatement(c.Node) != nil || !p.ofGradients(c.Arg(0, "tensors")) {
			continue
		}
		reduce := p.reducedAfter(c)
		if reduce == nil {
			continue
		}
		p.report(c.Node, rules.Mistake{
			Rule: "peak/flat-gradients", Severity: rules.Warning, Confidence: rules.High,
			Message:  "all gradients are copied into one tensor: as much memory again, in one piece",
			Evidence: []string{fmt.Sprintf("line %d: %s", p.Line(reduce.Node), short(reduce.Node))},
			Related:  []rules.Related{related(reduce.Node, "it is reduced here")},
			Remedy:   "reduce each gradient in place, or in buckets of some 25 MiB, or let DistributedDataParallel do it",
		})
	}
}

// ofGradients reports whether an expression is a list of gradients, or a name that is filled with them.
func (p *pass) ofGradients(n syntax.Node) bool {
	if gradAttribute.MatchString(n.Text()) {
		return true
	}
	place := p.Place(n)
	if place == nil {
		return false
	}
	f := p.Function(n)
	return slices.ContainsFunc(place.Refs, func(r *pyscope.Ref) bool {
		return (r.Kind == pyscope.Store || r.Kind == pyscope.Mutate) && p.Function(r.Node) == f && gradAttribute.MatchString(r.Value.Text())
	})
}

// reducedAfter returns the call that reduces what a call made over all ranks.
func (p *pass) reducedAfter(c *pyscope.Call) *pyscope.Call {
	place := p.storedIn(c.Node)
	if place == nil {
		return nil
	}
	for _, k := range p.Calls {
		if k.Node.Start() > c.Node.Start() && (k.Name == "torch.distributed.all_reduce" || k.Method == "all_reduce") && p.mentions(k.Node.Field("arguments"), place) {
			return k
		}
	}
	return nil
}
