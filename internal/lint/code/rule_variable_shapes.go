package code

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkVariableShapes finds batches whose shapes change. That is no mistake by itself, so it is
// shown only where all is asked for.
func checkVariableShapes(p *pass) {
	if _, ok := p.expandable(); ok {
		return
	}
	report := func(n syntax.Node, message, remedy string) {
		p.report(n, rules.Mistake{
			Rule: "frag/variable-shapes", Severity: rules.Info, Confidence: rules.Medium, Message: message,
			Evidence: []string{"blocks that are a little too small for the next shape stay in the cache"}, Remedy: remedy,
		})
	}
	for _, s := range p.randomSizes() {
		if s.resize {
			report(s.node, "images get another size in every step", "draw from few sizes, or set expandable_segments:True")
		}
	}
	inCollate := map[*pyscope.Function]bool{}
	for _, c := range p.dataLoaders() {
		for _, f := range p.functionsIn(c.Keyword("collate_fn")) {
			inCollate[f] = true
		}
	}
	for _, c := range p.Calls {
		if what, ok := p.padsToLongest(c, inCollate[p.Function(c.Node)]); ok {
			report(c.Node, fmt.Sprintf("%s pads each batch to its longest item: every batch has another length", what),
				"pad to a multiple (pad_to_multiple_of=64) or sort into buckets, or set expandable_segments:True")
		}
	}
}

// padders are collators that pad to the longest item of a batch unless they are told otherwise.
var padders = []string{"DataCollatorWithPadding", "DataCollatorForSeq2Seq", "DataCollatorForTokenClassification", "DataCollatorForMultipleChoice"}

// padsToLongest reports whether a call pads a batch to its longest item, and names what does.
func (p *pass) padsToLongest(c *pyscope.Call, collates bool) (what string, ok bool) {
	if c.Keyword("pad_to_multiple_of").Ok() || c.Open() {
		return "", false
	}
	if name, found := strings.CutPrefix(c.Name, "transformers."); found && slices.Contains(padders, name) {
		padding, _ := literal(c.Keyword("padding"))
		return name, padding != "max_length" && !c.Keyword("padding").Is("false")
	}
	return "pad_sequence", c.Name == "torch.nn.utils.rnn.pad_sequence" && collates
}
