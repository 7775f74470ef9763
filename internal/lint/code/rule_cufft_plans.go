package code

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

var transforms = regexp.MustCompile(`^torch\.fft\.(i?r?fft[2n]?|i?hfft[2n]?)$|^torch\.i?stft$`)

// checkCufftPlans finds Fourier transforms of many sizes: each size has a plan with a workspace, and thousands
// of them are kept.
func checkCufftPlans(p *pass) {
	if len(p.gpuUses()) == 0 || p.limitsPlans() {
		return
	}
	seen := map[*pyscope.Loop]bool{}
	for _, c := range p.Calls {
		l := p.loopStatement(c.Node)
		if l == nil || seen[l] || l.Small() || !transforms.MatchString(c.Name) {
			continue
		}
		why, ok := p.sizeOf(c, l)
		if !ok {
			continue
		}
		seen[l] = true
		p.report(c.Node, rules.Mistake{
			Rule: "third/cufft-plans", Severity: rules.Warning, Confidence: rules.Medium,
			Message:  fmt.Sprintf("%s has another size in each iteration, and cuFFT keeps a plan with a workspace for each, up to 4,096", short(c.Node)),
			Evidence: []string{why},
			Remedy:   "set torch.backends.cuda.cufft_plan_cache.max_size = 16, or pad to a few sizes",
		})
	}
}

// limitsPlans reports whether the source says how many plans are kept, or drops them.
func (p *pass) limitsPlans() bool {
	return strings.Contains(string(p.Tree.Source.Text), "cufft_plan_cache")
}

// sizeOf tells why a transform's size changes with each iteration of a loop.
func (p *pass) sizeOf(c *pyscope.Call, l *pyscope.Loop) (why string, ok bool) {
	for _, a := range []syntax.Node{c.Arg(1, "n"), c.Keyword("s")} {
		if why, ok = p.changes(a, l); ok {
			return why, true
		}
	}
	input := p.followed(c.Arg(0, "input"))
	if input.Is("subscript") {
		for part := range input.Fields("subscript") {
			if part.Is("slice") {
				if why, ok = p.changes(part, l); ok {
					return why, true
				}
			}
		}
	}
	if k := p.Call(input); k != nil && strings.HasPrefix(k.Name, "torch.") && isTensorMaker(k.Name) {
		return p.changes(k.Node.Field("arguments"), l)
	}
	return "", false
}

// changes tells why a number in an expression differs from iteration to iteration: it counts a range, or
// is drawn by chance.
func (p *pass) changes(n syntax.Node, l *pyscope.Loop) (why string, ok bool) {
	if !n.Ok() {
		return "", false
	}
	if draw, found := p.drawIn(n, 0); found {
		return fmt.Sprintf("line %d: the size is drawn by %s", p.Line(draw), short(draw)), true
	}
	over := p.Call(l.Over())
	if over == nil || over.Name != "range" {
		return "", false
	}
	for d := range n.Descendants() {
		if place := p.Place(d); place != nil && d.Is("identifier") && p.isTarget(place, l) {
			return fmt.Sprintf("line %d: %s counts %s", p.Line(l.Node), place, short(l.Over())), true
		}
	}
	return "", false
}

// isTarget reports whether a place is what a loop counts with.
func (p *pass) isTarget(place *pyscope.Place, l *pyscope.Loop) bool {
	for _, r := range place.Stores() {
		if r.How == pyscope.ByFor && r.Node.In(l.Node.Field("left")) {
			return true
		}
	}
	return false
}
