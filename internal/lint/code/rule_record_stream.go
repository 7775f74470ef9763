package code

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkRecordStream finds record_stream. It is needed where nobody waits, so it is shown only where all is
// asked for.
func checkRecordStream(p *pass) {
	for _, c := range p.Calls {
		if c.Method != "record_stream" || len(c.Args()) != 1 || !p.isStream(c.Args()[0]) {
			continue
		}
		p.report(c.Node, rules.Mistake{
			Rule: "frag/record-stream", Severity: rules.Info, Confidence: rules.Medium,
			Message: fmt.Sprintf("the memory of %s comes back only when the other stream has passed its free, which may be steps later", short(c.Object)),
			Remedy:  fmt.Sprintf("keep a reference to %s until wait_stream has been called for the other stream, and drop record_stream", short(c.Object)),
		})
	}
}

// isStream reports whether an expression is a CUDA stream.
func (p *pass) isStream(n syntax.Node) bool {
	if strings.Contains(strings.ToLower(n.Text()), "stream") || p.Type(n) == "torch.cuda.Stream" {
		return true
	}
	place := p.Place(n)
	return place != nil && slices.ContainsFunc(p.calls("torch.cuda.stream"), func(c *pyscope.Call) bool { return p.Place(c.Arg(0, "stream")) == place })
}
