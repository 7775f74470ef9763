package code

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
)

// checkNCCLGroups finds process groups that are made again in every step. Each has buffers of its
// own once it is used, and keeps them.
func checkNCCLGroups(p *pass) {
	for _, c := range p.calls("torch.distributed.new_group", "torch.distributed.distributed_c10d.new_group", "torch.distributed.new_subgroups") {
		if backend, ok := literal(c.Keyword("backend")); ok && backend == "gloo" {
			continue
		}
		why, ok := p.everyStep(c)
		if !ok {
			continue
		}
		p.report(c.Node, rules.Mistake{
			Rule: "third/nccl-buffers", Severity: rules.Warning, Confidence: rules.Medium,
			Message:  "a process group is made in every step, and NCCL's buffers for it outside PyTorch's allocator stay",
			Evidence: []string{why},
			Remedy:   "make the group once, before the loop, and use it in every step",
		})
	}
}

// everyStep tells why a call runs in each step. A call that waits for a condition, as that there is
// none yet, does not.
func (p *pass) everyStep(c *pyscope.Call) (why string, ok bool) {
	if l := p.loopStatement(c.Node); l != nil {
		if s := p.stepOf(l); s.hot() && len(conditions(c.Node, l.Node)) == 0 {
			return fmt.Sprintf("line %d: each iteration of the loop is a step, with %s in line %d", p.Line(l.Node), short(s.node), p.Line(s.node)), true
		}
	}
	f := p.inStepMethod(c.Node)
	if f == nil || len(conditions(c.Node, f.Node)) > 0 || strings.HasPrefix(f.Name, "on_train_start") {
		return "", false
	}
	return fmt.Sprintf("%s runs for every batch", f.Name), true
}
