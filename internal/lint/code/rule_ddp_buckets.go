package code

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// ddpOptions is how many positional arguments leave gradient_as_bucket_view, the eleventh, at its default.
const ddpOptions = 10

// checkDDPBuckets finds DistributedDataParallel with buckets beside the gradients.
// It is true of most code that uses it, and small beside all else, so it is shown only where all is asked for.
func checkDDPBuckets(p *pass) {
	if p.spread().cpuOnly {
		return
	}
	for _, c := range p.calls("torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.distributed.DistributedDataParallel") {
		view := c.Keyword("gradient_as_bucket_view")
		if onlyGloo(c.Node) {
			continue
		}
		if c.Open() || len(c.Args()) > ddpOptions || view.Ok() && !view.Is("false") {
			continue
		}
		p.report(c.Node, rules.Mistake{
			Rule: "dist/ddp-bucket-copies", Severity: rules.Info, Confidence: rules.High,
			Message:  fmt.Sprintf("DistributedDataParallel keeps the gradients of %s twice: in .grad and in its buckets", short(c.Arg(0, "module"))),
			Evidence: []string{"gradient_as_bucket_view is False unless it is set"},
			Remedy:   "pass gradient_as_bucket_view=True; .grad is then a view, so do not call detach_() on it",
		})
	}
}

// onlyGloo reports whether a node runs where the backend is that of the CPU.
func onlyGloo(n syntax.Node) bool {
	return slices.ContainsFunc(conditions(n, syntax.Node{}), func(c condition) bool { return !c.negated && strings.Contains(c.Text(), "gloo") })
}
