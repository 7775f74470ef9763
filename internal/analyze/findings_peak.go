package analyze

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
)

// peakShare is the share of the peak from which a category is worth a finding of its own.
const peakShare = 0.4

// peakRules are the categories that have a page on how to make them smaller.
var peakRules = map[Category]string{
	Activations:    "peak/activations",
	OptimizerState: "peak/optimizer-states",
	Workspaces:     "peak/workspace",
}

// peakFindings name what fills most of the peak. They tell of no fault.
func (x *Explanation) peakFindings() []rules.Finding {
	var list []rules.Finding
	for _, c := range x.Holders.Categories {
		rule := peakRules[c.Category]
		if rule == "" || c.Share < peakShare || c.Bytes < minFragBytes {
			continue
		}
		f := rules.Finding{
			Rule: rule, Severity: rules.Info, Confidence: c.Confidence, Bytes: c.Bytes, Event: x.Holders.Event,
			Title: fmt.Sprintf("%s hold %s, %s of what is allocated at e%d", c.Category, units.FormatBytes(c.Bytes), units.FormatShare(c.Bytes, x.Holders.AllocatedBytes), x.Holders.Event),
		}
		for _, r := range c.Reasons[:min(len(c.Reasons), 3)] {
			f.Evidence = append(f.Evidence, fmt.Sprintf("%s: %s", units.FormatBytes(r.Bytes), r.Text))
		}
		list = append(list, f)
	}
	return list
}
