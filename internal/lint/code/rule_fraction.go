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
		if p.refusedFraction(c, value) {
			continue
		}
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

// refusedFraction reports a fraction that is written out and that PyTorch refuses: an integer, or one that is
// not from 0 to 1.
func (p *pass) refusedFraction(c *pyscope.Call, value syntax.Node) bool {
	v, err := strconv.ParseFloat(value.Text(), 64)
	whole := value.Is("integer")
	if err != nil || !whole && v <= 1 {
		return false
	}
	m := rules.Mistake{
		Rule: "conf/bad-value", Severity: rules.Error, Confidence: rules.High,
		Message:  fmt.Sprintf("PyTorch refuses a memory fraction of %s: it has to be a float from 0 to 1", value.Text()),
		Evidence: []string{"set_per_process_memory_fraction raises a ValueError for what is larger than 1"},
		Remedy:   fmt.Sprintf("write %s", strconv.FormatFloat(v/100, 'f', -1, 64)),
	}
	if whole {
		m.Evidence = []string{"set_per_process_memory_fraction raises a TypeError for what is no float"}
	}
	if v <= 1 {
		m.Remedy = fmt.Sprintf("write %s.0", value.Text())
	} else if v < 2 || v > 100 {
		m.Remedy = "write a share of the GPU's memory, as 0.9"
	}
	p.report(c.Node, m)
	return true
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
