package code

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// wholeModel matches what people call a model, alone or as an attribute.
var wholeModel = regexp.MustCompile(`^(self\.)?(model|net|network)$`)

// checkCheckpointMisuse finds activation checkpointing that leaves the reentrant form to chance, or that is put
// around a whole model.
func checkCheckpointMisuse(p *pass) {
	const module = "torch.utils.checkpoint."
	for _, c := range p.calls(module+"checkpoint", module+"checkpoint_sequential") {
		if c.Open() || len(c.Args()) == 0 {
			continue
		}
		fn := c.Args()[0]
		if c.Keyword("use_reentrant").Ok() {
			p.reportWholeModel(c)
			continue
		}
		severity := rules.Warning
		if asksForGradients(c) {
			severity = rules.Info
		}
		p.report(c.Node, rules.Mistake{
			Rule: "peak/checkpoint-misuse", Severity: severity, Confidence: rules.Medium,
			Message:  fmt.Sprintf("checkpoint of %s does not say use_reentrant: the reentrant form gives no gradients where no input needs them, and does not see tensors in lists and dicts", short(fn)),
			Evidence: []string{"use_reentrant is True unless it is set, with a warning since PyTorch 2.1; a later release is to raise an error"},
			Remedy:   "pass use_reentrant=False",
		})
	}
}

// asksForGradients reports whether a checkpoint is made only where its input needs gradients, as in
// "if self.with_cp and x.requires_grad": then the reentrant form loses none.
func asksForGradients(c *pyscope.Call) bool {
	return slices.ContainsFunc(conditions(c.Node, syntax.Node{}), func(k condition) bool {
		return !k.negated && strings.Contains(k.Text(), ".requires_grad")
	})
}

// reportWholeModel reports one checkpoint around all there is to save.
func (p *pass) reportWholeModel(c *pyscope.Call) {
	fn := c.Args()[0]
	f := p.Function(c.Node)
	if f == nil || c.Name != "torch.utils.checkpoint.checkpoint" || !wholeModel.MatchString(fn.Text()) || f.Phase() != pyscope.Train {
		return
	}
	p.report(c.Node, rules.Mistake{
		Rule: "peak/checkpoint-misuse", Severity: rules.Warning, Confidence: rules.Medium,
		Message:  fmt.Sprintf("one checkpoint around all of %s saves nothing: backward runs all of it again, with all activations alive", short(fn)),
		Evidence: []string{fmt.Sprintf("%s calls backward on what comes of it", f.Name)},
		Remedy:   fmt.Sprintf("checkpoint the blocks within %s instead, each by itself", short(fn)),
	})
}
