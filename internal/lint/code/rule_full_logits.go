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

var (
	logitsName = regexp.MustCompile(`(^|[._])logits$`)
	// overTokens matches what is done to logits over a vocabulary in a language model: the view of a loss over
	// all tokens, or the shift by one.
	overVocabulary = regexp.MustCompile(`(view|reshape)\(\s*-1\s*,\s*([\w.\[\]"']*vocab|[\w.]*logits\.(size\(-1\)|shape\[-1\]))`)
	shifted        = regexp.MustCompile(`log(it|p|_?prob)s?\[\s*(\.\.\.|:)\s*,\s*:\s*-1\b`)
	// pieces matches what yields parts of a tensor, one at a time.
	pieces = regexp.MustCompile(`chunk|split|range\(`)
	// partly matches logits of which only the last token or the labelled ones are taken.
	partly = regexp.MustCompile(`\[[^\]]*:\s*,\s*-1\b`)
)

// checkFullLogits finds losses that take the logits of all tokens in float32 at once.
func checkFullLogits(p *pass) {
	done := map[*pyscope.Function]bool{}
	for _, c := range p.Calls {
		f := p.Function(c.Node)
		if f == nil || done[f] || !p.castsLogits(c) || p.chunked(c.Node) {
			continue
		}
		why, ok := p.languageLoss(f)
		if !ok {
			continue
		}
		done[f] = true
		p.report(c.Node, rules.Mistake{
			Rule: "peak/full-logits", Severity: rules.Warning, Confidence: rules.Medium,
			Message:  fmt.Sprintf("%s makes a float32 copy of the logits of all tokens, and the loss keeps more of that size", short(c.Node)),
			Evidence: []string{why},
			Remedy:   "compute the loss over chunks of tokens, casting each, or use a fused linear cross-entropy",
		})
	}
}

// checkLogSoftmax finds the log-softmax of all tokens of which one entry each is then taken.
func checkLogSoftmax(p *pass) {
	for _, c := range p.Calls {
		of := c.Arg(0, "input")
		if c.Method == "log_softmax" && !strings.HasPrefix(c.Name, "torch.") {
			of = c.Object
		} else if c.Name != "torch.log_softmax" && c.Name != "torch.nn.functional.log_softmax" {
			continue
		}
		if !logitsName.MatchString(of.Text()) || p.chunked(c.Node) || !p.gathered(c) {
			continue
		}
		p.report(c.Node, rules.Mistake{
			Rule: "peak/full-logits", Severity: rules.Info, Confidence: rules.Medium,
			Message: fmt.Sprintf("%s is as large as all of %s, and one entry of each token is taken from it", short(c.Node), short(of)),
			Remedy:  fmt.Sprintf("gather from %s first and subtract logsumexp, row by row or over chunks of tokens", short(of)),
		})
	}
}

func isLogSoftmax(c *pyscope.Call) bool {
	return c.Name == "torch.log_softmax" || c.Name == "torch.nn.functional.log_softmax" || c.Method == "log_softmax"
}

// gathered reports whether gather is called on what a call makes.
func (p *pass) gathered(c *pyscope.Call) bool {
	place := p.storedIn(c.Node)
	return slices.ContainsFunc(p.Calls, func(k *pyscope.Call) bool {
		if k.Method != "gather" || k.Node.Start() > c.Node.End() && place == nil {
			return false
		}
		return c.Node.In(k.Object) || place != nil && (p.mentions(k.Object, place) || k.Name == "torch.gather" && p.mentions(k.Node.Field("arguments"), place))
	})
}

// castsLogits reports whether a call casts logits to float32.
func (p *pass) castsLogits(c *pyscope.Call) bool {
	if !logitsName.MatchString(p.reshaped(c.Object).Text()) || partly.MatchString(c.Node.Text()) {
		return false
	}
	switch c.Method {
	case "float":
		return len(c.Args()) == 0
	case "to":
		dtype := p.Qualified(c.Arg(0, "dtype"))
		return dtype == "torch.float32" || dtype == "torch.float"
	}
	return false
}

// reshaped returns what an expression is another shape of: logits of logits.view(-1, vocab).
func (p *pass) reshaped(n syntax.Node) syntax.Node {
	for {
		c := p.Call(n)
		if c == nil || !slices.Contains([]string{"view", "reshape", "contiguous", "flatten"}, c.Method) {
			return n
		}
		n = c.Object
	}
}

// chunked reports whether a node runs over pieces, one at a time.
func (p *pass) chunked(n syntax.Node) bool {
	l := p.loopStatement(n)
	return l != nil && pieces.MatchString(l.Over().Text())
}

// languageLoss tells why a function computes the loss of a language model over its vocabulary.
func (p *pass) languageLoss(f *pyscope.Function) (why string, ok bool) {
	body := f.Body().Text()
	over := overVocabulary.FindString(body) != "" || shifted.FindString(body) != ""
	for _, c := range f.Calls {
		switch {
		case isLogSoftmax(c) && p.gathered(c):
			return fmt.Sprintf("line %d: the log-softmax, of which one entry of each token is taken", p.Line(c.Node)), true
		case !over:
			continue
		case c.Name == "torch.nn.functional.cross_entropy", p.Type(c.Callee) == "torch.nn.CrossEntropyLoss", p.Qualified(c.Callee.Field("function")) == "torch.nn.CrossEntropyLoss":
			return fmt.Sprintf("line %d: the cross-entropy over the vocabulary", p.Line(c.Node)), true
		case isLogSoftmax(c):
			return fmt.Sprintf("line %d: the log-softmax over the vocabulary", p.Line(c.Node)), true
		}
	}
	return "", false
}
