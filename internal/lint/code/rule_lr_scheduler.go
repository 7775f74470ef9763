package code

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkLRScheduler looks for schedulers whose function refers to the object that holds the scheduler:
// a cycle with the optimizer, its state and the parameters on it.
func checkLRScheduler(p *pass) {
	var judged tally
	for _, c := range p.Calls {
		class := p.Class(c.Node)
		f := p.Function(c.Node)
		if class == nil || f == nil || class.IsLightning() || !p.makesScheduler(c, class, f) {
			continue
		}
		for f.Outer != nil {
			f = f.Outer
		}
		self := selfName(f)
		if self == "" {
			continue
		}
		what := p.overSelf(c.Arg(1, "lr_lambda"), class, self)
		if what == "" || judged.over() {
			continue
		}
		p.report(c.Node, p.selfReference(class, "leak/lr-scheduler",
			fmt.Sprintf("the scheduler stores %s, and %s holds the scheduler: a cycle with the optimizer, its state and the parameters", what, class.Name),
			"let the function use numbers that are taken from self before: warmup = self.warmup; lambda step: step / warmup"))
	}
}

// makesScheduler reports whether a call makes a scheduler that stays in the object: it is assigned to
// an attribute, or the object is one itself and hands its function to its base.
func (p *pass) makesScheduler(c *pyscope.Call, class *pyscope.Class, f *pyscope.Function) bool {
	if takesFunction(c.Name) {
		return c.Node.Parent().Is("assignment") && attributeOf(c.Node.Parent().Field("left"), selfName(f))
	}
	return c.Method == "__init__" && strings.HasPrefix(c.Object.Text(), "super(") && class.Is("torch.optim.lr_scheduler.LambdaLR", "torch.optim.lr_scheduler.MultiplicativeLR")
}

func takesFunction(name string) bool {
	return name == "torch.optim.lr_scheduler.LambdaLR" || name == "torch.optim.lr_scheduler.MultiplicativeLR"
}

// keepsParam returns the statement with which __init__ of a class stores a parameter as an
// attribute of the object; none where it does not.
func (p *pass) keepsParam(class *pyscope.Class, name string) syntax.Node {
	f := class.Method("__init__")
	if f == nil {
		return syntax.Node{}
	}
	self := selfName(f)
	for d := range f.Body().Descendants() {
		if d.Is("assignment") && attributeOf(d.Field("left"), self) && d.Field("right").Is("identifier") && d.Field("right").Text() == name {
			return d
		}
	}
	return syntax.Node{}
}
