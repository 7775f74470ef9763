package code

import (
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkCudnnBenchmark finds cudnn.benchmark in code whose sizes change: every new size is tried with all
// algorithms and their workspaces.
func checkCudnnBenchmark(p *pass) {
	sizes := p.randomSizes()
	if len(sizes) == 0 {
		return
	}
	for _, at := range p.assigned("torch.backends.cudnn.benchmark", "true") {
		p.report(at, rules.Mistake{
			Rule: "peak/cudnn-benchmark", Severity: rules.Warning, Confidence: rules.Medium,
			Message:  "cudnn.benchmark is on while sizes change by chance: each new size tries all algorithms, with workspaces up to all free memory",
			Evidence: []string{sizes[0].why},
			Related:  []rules.Related{related(sizes[0].node, "a size that changes")},
			Remedy:   "set it to False, or draw from few sizes and set torch.backends.cudnn.benchmark_limit",
		})
	}
}

// assigned returns the assignments of a kind of value to an attribute with a qualified name.
func (p *pass) assigned(name, kind string) []syntax.Node {
	var found []syntax.Node
	for n := range p.Tree.Root().Descendants() {
		left := n.Field("left")
		if !n.Is("assignment") || !left.Is("attribute") || !n.Field("right").Is(kind) {
			continue
		}
		if p.Qualified(left.Field("object"))+"."+left.Field("attribute").Text() == name {
			found = append(found, n)
		}
	}
	return found
}
