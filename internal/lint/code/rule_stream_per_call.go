package code

import (
	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
)

// checkStreamPerCall finds streams that are made anew in every step, and on which something is done:
// what is allocated there is of no use to the next.
func checkStreamPerCall(p *pass) {
	for _, c := range p.calls("torch.cuda.Stream", "torch.Stream") {
		place := p.storedIn(c.Node)
		if place == nil || place.Class != nil || !p.entered(place) {
			continue
		}
		why, ok := p.everyStep(c)
		if !ok {
			continue
		}
		p.report(c.Node, rules.Mistake{
			Rule: "frag/stream-per-call", Severity: rules.Warning, Confidence: rules.Medium,
			Message:  "a new stream in every step: what is allocated on " + place.String() + " cannot be reused on the next one",
			Evidence: []string{why, "PyTorch hands out 32 streams in turn, and each keeps the free memory of its own"},
			Remedy:   "make the stream once, before the loop or in __init__, and use it in every step",
		})
	}
}

// entered reports whether a stream is made the current one: with torch.cuda.stream(side).
func (p *pass) entered(place *pyscope.Place) bool {
	for _, c := range p.calls("torch.cuda.stream", "torch.cuda.set_stream", "torch.cuda.StreamContext") {
		if p.Place(c.Arg(0, "stream")) == place {
			return true
		}
	}
	return false
}
