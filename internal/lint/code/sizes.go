package code

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// randomSize is a tensor whose size is drawn anew again and again.
type randomSize struct {
	node   syntax.Node // that makes it
	why    string
	resize bool // an image is resized to it; else a tensor is made of it
}

var (
	// resizers take the new size as an argument.
	resizers = regexp.MustCompile(`^(torch\.nn\.functional\.(interpolate|upsample)|torchvision\.transforms(\.v2)?\.functional\.resize|cv2\.resize)$`)
	// draws are functions that return a number by chance.
	draws = regexp.MustCompile(`^(random\.(choice|randint|randrange|uniform|choices)|numpy\.random\.(choice|randint|uniform|integers)|torch\.randint)$`)
)

// randomSizes returns where tensors get sizes by chance.
func (p *pass) randomSizes() []randomSize {
	return memo(&p.facts.sizes, func() []randomSize {
		var found []randomSize
		for _, c := range p.Calls {
			resize := p.resizesBatch(c)
			if !resize && !p.makesInLoop(c) {
				continue
			}
			if draw, ok := p.sizeByChance(c, resize); ok {
				found = append(found, randomSize{c.Node, fmt.Sprintf("line %d: the size is drawn by %s", p.Line(draw), short(draw)), resize})
			}
		}
		return found
	})
}

// resizesBatch reports whether a call gives images another size: a batch of them as a tensor, or in a loop.
// An image by itself is cropped to a fixed size afterwards, as a rule.
func (p *pass) resizesBatch(c *pyscope.Call) bool {
	return resizers.MatchString(c.Name) && (strings.HasPrefix(c.Name, "torch.nn.") || p.loopStatement(c.Node) != nil)
}

// makesInLoop reports whether a call makes a tensor of a given shape in a loop.
func (p *pass) makesInLoop(c *pyscope.Call) bool {
	return strings.HasPrefix(c.Name, "torch.") && isTensorMaker(c.Name) && c.Name != "torch.randint" && p.loopStatement(c.Node) != nil
}

// sizeByChance returns the call that draws the size which another call takes.
func (p *pass) sizeByChance(c *pyscope.Call, resize bool) (syntax.Node, bool) {
	args := c.Args()
	if resize && len(args) > 0 {
		args = args[1:] // the image
	}
	for _, name := range []string{"size", "scale_factor", "dsize"} {
		if k := c.Keyword(name); k.Ok() {
			args = append(args, k)
		}
	}
	for _, a := range args {
		if draw, ok := p.drawIn(a, 0); ok {
			return draw, true
		}
	}
	return syntax.Node{}, false
}

// drawIn returns a call in an expression, or in what its names are assigned, that draws a number.
func (p *pass) drawIn(n syntax.Node, depth int) (syntax.Node, bool) {
	if !n.Ok() || depth > 2 {
		return syntax.Node{}, false
	}
	for d := range n.Descendants() {
		if c := p.Call(d); c != nil && draws.MatchString(c.Name) {
			return d, true
		}
		place := p.Place(d)
		if place == nil || !d.Is("identifier") || place.Scope.Function == nil && p.Function(d) != nil {
			continue
		}
		for _, r := range place.Stores() {
			if r.How == pyscope.ByAssign && r.Value.Ok() && !n.In(r.Value) {
				if draw, ok := p.drawIn(r.Value, depth+1); ok {
					return draw, true
				}
			}
		}
	}
	return syntax.Node{}, false
}
