package code

import (
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkCompileCache looks for torch.compile within a loop. Measured with a small model, backend
// "eager" and 14 rounds: PyTorch 2.11 and 2.15 compile once, whatever is made anew; 2.1 compiles
// a module that is made anew in every round and keeps 400 Python objects each time, and a lambda
// as often as its limit allows. So it is worth knowing, and not more.
func checkCompileCache(p *pass) {
	for _, c := range p.calls("torch.compile") {
		loop := p.loopStatement(c.Node)
		if loop == nil || p.compilesParts(c, loop) || p.resetsIn(loop) {
			continue
		}
		p.report(c.Node, rules.Mistake{
			Rule: "leak/compile-cache", Severity: rules.Info, Confidence: rules.Medium,
			Message: "torch.compile runs in each round of the loop, and what older rounds compiled may stay",
			Remedy:  "compile once before the loop; where the model is another one each time, call torch._dynamo.reset() and gc.collect() between the rounds",
			Related: []rules.Related{related(loop.Node.Child(0), "the loop")},
		})
	}
}

// compilesParts reports whether a loop compiles the parts of a model, each once: what is compiled
// comes from the loop, or goes back into a part.
func (p *pass) compilesParts(c *pyscope.Call, loop *pyscope.Loop) bool {
	target := c.Node.Parent().Field("left")
	if c.Node.Parent().Is("assignment") && target.Is("attribute", "subscript") {
		return true
	}
	if c.Node.Parent().Is("decorator") || c.Node.Parent().Is("argument_list") {
		return true
	}
	for d := range c.Arg(0, "model").Descendants() {
		place := p.Place(d)
		if place == nil {
			continue
		}
		for _, r := range place.Root().Stores() {
			if r.How == pyscope.ByFor && r.Node.In(loop.Node) && !r.Node.In(c.Node) && !c.Arg(0, "model").Is("lambda") {
				return true
			}
		}
	}
	return false
}

// resetsIn reports whether a loop drops what was compiled.
func (p *pass) resetsIn(loop *pyscope.Loop) bool {
	for _, c := range p.Calls {
		if c.Node.In(loop.Node) && c.Method == "reset" && isDynamo(c.Object) {
			return true
		}
	}
	return false
}

func isDynamo(n syntax.Node) bool {
	return strings.Contains(n.Text(), "dynamo") || strings.Contains(n.Text(), "compiler")
}
