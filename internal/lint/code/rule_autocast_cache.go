package code

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// autocasts begin a region in which weights are cast once and kept.
var autocasts = []string{"torch.autocast", "torch.cuda.amp.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast_mode.autocast", "torch.amp.autocast_mode.autocast"}

// checkAutocastCache finds autocast regions around loops of steps: the half-size copies of the weights
// live until the region ends, and after an update they are those of the old weights.
func checkAutocastCache(p *pass) {
	for _, c := range p.calls(autocasts...) {
		region := p.regionOf(c)
		if !region.Ok() || c.Open() || c.Keyword("cache_enabled").Is("false") || c.Keyword("enabled").Is("false") {
			continue
		}
		if device, ok := literal(c.Arg(0, "device_type")); ok && device == "cpu" {
			continue
		}
		for _, l := range p.Loops {
			if s := p.stepOf(l); !l.Small() && l.Node.In(region) && p.Function(l.Node) == p.Function(region) && s.hot() {
				p.reportAutocast(c, l, s)
				break
			}
		}
	}
}

// regionOf returns the block that a call of autocast governs: that of its with, or of the function that
// it decorates.
func (p *pass) regionOf(c *pyscope.Call) syntax.Node {
	for a := range c.Node.Ancestors() {
		switch {
		case a.Is("with_statement"):
			if !c.Node.In(a.Field("body")) {
				return a.Field("body")
			}
			return syntax.Node{}
		case a.Is("decorator"):
			return a.Parent().Field("definition").Field("body")
		case a.Is("block", "function_definition"):
			return syntax.Node{}
		}
	}
	return syntax.Node{}
}

func (p *pass) reportAutocast(c *pyscope.Call, l *pyscope.Loop, s step) {
	m := rules.Mistake{
		Rule: "peak/autocast-cache", Severity: rules.Warning, Confidence: rules.High,
		Message:  fmt.Sprintf("the autocast region holds all steps of the loop in line %d: its half-size copies of the weights stay, and forward uses those from before the first update", p.Line(l.Node)),
		Evidence: []string{fmt.Sprintf("line %d: %s is a step's work", p.Line(s.node), short(s.node))},
		Related:  []rules.Related{related(l.Node, "the loop within the region")},
		Remedy:   "put autocast inside the loop, around forward and loss",
	}
	if !s.trains {
		m.Severity, m.Confidence = rules.Info, rules.Medium
		m.Message = fmt.Sprintf("half-size copies of the weights stay as long as the loop of line %d runs", p.Line(l.Node))
		m.Remedy = "convert the model once with model.to(torch.bfloat16), which needs no copies"
	}
	p.report(c.Node, m)
}
