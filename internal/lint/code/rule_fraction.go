package code

import (
	"fmt"
	"strconv"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// headroom is the fraction from which on a limit is meant to leave room for libraries, and not to
// share a GPU.
const headroom = 0.85

// checkFraction finds memory fractions that are taken for shares of a GPU.
func checkFraction(p *pass) {
	for _, c := range p.calls("torch.cuda.set_per_process_memory_fraction", "torch.cuda.memory.set_per_process_memory_fraction") {
		value, sure := p.followed(c.Arg(0, "fraction")), rules.Medium
		if constant(value) || value.Is("float") {
			if !isShare(value) {
				continue
			}
		} else if !isShare(value) {
			sure = rules.Low // what the caller gives, may be nearly all
		}
		p.report(c.Node, rules.Mistake{
			Rule: "conf/fraction-as-isolation", Severity: rules.Warning, Confidence: sure,
			Message:  fmt.Sprintf("the limit of %s holds for PyTorch's allocator alone: the process takes more of the GPU than that", short(value)),
			Evidence: []string{"the CUDA context, NCCL and other libraries' memory are not counted, hundreds of MiB for each process"},
			Remedy:   "leave context and libraries out of the fractions' sum, or use MIG where others must be kept out",
		})
	}
}

// isShare reports whether a fraction is a part of a GPU: small, or the result of a division.
func isShare(n syntax.Node) bool {
	if v, err := strconv.ParseFloat(n.Text(), 64); err == nil {
		return v > 0 && v < headroom
	}
	for d := range n.Descendants() {
		if d.Is("binary_operator") && d.Field("operator").Text() == "/" {
			return true
		}
	}
	return false
}

// followed returns what a name is only ever assigned; else the node itself.
func (p *pass) followed(n syntax.Node) syntax.Node {
	place := p.Place(n)
	if place == nil || !n.Is("identifier", "attribute") {
		return n
	}
	stores := place.Stores()
	if len(stores) != 1 || stores[0].Kind != pyscope.Store || stores[0].How != pyscope.ByAssign || stores[0].Part >= 0 {
		return n
	}
	return stores[0].Value
}
