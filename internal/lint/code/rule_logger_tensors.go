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

// checkLoggerTensors looks for meters and trackers of the module that are given a raw loss, and
// add it up or collect it as it is, and for AverageMeters of others. Loggers mostly make a number of
// it at once, and how they do is not in the source, so of those only what the module shows counts.
func checkLoggerTensors(p *pass) {
	var judged tally
	for _, c := range p.Calls {
		if c.Class != nil || c.Method == "" || p.Grad(c.Node).Mode != pyscope.GradOn {
			continue
		}
		if meterMethods[c.Method] && c.Target == nil && p.averages(c.Object) && !judged.over() {
			p.meterGiven(c, c.Arg(0, "val"), syntax.Node{}, rules.Medium)
		}
		if c.Target == nil || c.Target.Class == nil || c.Target.Class.IsModule() || c.Target.Name == "__init__" || p.Class(c.Node) == c.Target.Class {
			continue
		}
		for i, arg := range c.Args() {
			if store := p.meterKeeps(c.Target, i); store.Ok() && p.meterGiven(c, arg, store, rules.High) {
				break
			}
		}
	}
}

// meterMethods are what meters get values through.
var meterMethods = map[string]bool{"update": true, "add": true}

// averages reports whether an object is an AverageMeter of another module: the one that people copy
// from PyTorch's examples adds up what it is given.
func (p *pass) averages(n syntax.Node) bool {
	made := p.callBehind(n)
	return made != nil && made.Class == nil && averageMeter.MatchString(made.Callee.Text()) && !strings.HasPrefix(made.Name, "torchmetrics.")
}

var averageMeter = regexp.MustCompile(`(^|\.)(AverageMeter|AvgMeter|RunningAverage|RunningAverageMeter|AverageValueMeter|SmoothedValue)$`)

// meterGiven reports a raw loss that a meter is given again and again, and whether it is one.
func (p *pass) meterGiven(c *pyscope.Call, arg, store syntax.Node, sure rules.Confidence) bool {
	why, again := p.repeats(c.Node)
	if !again || !p.rawLoss(arg, c.Node) {
		return false
	}
	m := rules.Mistake{
		Rule: "leak/logger-tensors", Severity: rules.Warning, Confidence: sure,
		Message: fmt.Sprintf("%s is given %s with its graph, and adds it to what it keeps", short(c.Callee), short(arg)),
		Related: []rules.Related{why},
		Remedy:  fmt.Sprintf("give it %s.detach(), or %[1]s.item() where a wait for the GPU does no harm", short(arg)),
	}
	if arg.Is("identifier", "attribute") {
		m.Fix = &rules.Fix{
			What:  fmt.Sprintf("give it %s.detach(): the same value, without the graph", short(arg)),
			Edits: []rules.Edit{{Start: arg.End(), End: arg.End(), Text: ".detach()"}},
		}
	}
	if store.Ok() {
		m.Related = append(m.Related, related(store, "it is added to what is there as it is"))
	}
	p.report(c.Node, m)
	return true
}

// rawLoss reports whether an argument is sure to carry a graph: backward is called on it, or on
// what is made of it, or a module made it.
func (p *pass) rawLoss(arg, at syntax.Node) bool {
	if !arg.Is("identifier", "attribute") {
		return false
	}
	v := p.Value(arg)
	if v.Only(pyscope.Plain|pyscope.Tensor) || v.Has(pyscope.Graph) && v.Sure {
		return v.Has(pyscope.Graph)
	}
	place := p.Place(arg)
	if place != nil && v.Has(pyscope.Graph) && slices.ContainsFunc(p.Fate(place).Backward, func(back syntax.Node) bool { return p.Function(back) == p.Function(at) }) {
		return true
	}
	for _, c := range p.Calls {
		if c.Method == "backward" && place != nil && p.Place(c.Object) == place && p.Function(c.Node) == p.Function(at) {
			return true
		}
	}
	return false
}

// meterKeeps returns the statement with which a method keeps the argument in a position, as a
// sum or in a list of the object; none where it makes a number of it or overwrites the last.
func (p *pass) meterKeeps(f *pyscope.Function, position int) syntax.Node {
	self, position := selfName(f), position+1
	if n := len(f.Params) - 1; position > n && n > 0 && f.Params[n].Star == "*" { // push(self, *args)
		position = n
	}
	if self == "" || position >= len(f.Params) || p.Grad(f.Body()).Mode == pyscope.GradOff {
		return syntax.Node{}
	}
	param := p.Place(f.Params[position].Node)
	if param == nil || len(param.Stores()) > 1 { // val = val.item()
		return syntax.Node{}
	}
	k := carrier{p: p, leaf: func(n syntax.Node) (carry, bool) {
		if c := p.Call(n); c != nil && c.Name != "" && !strings.HasPrefix(c.Name, ".") && c.Method == "" {
			return carriesNothing, false
		} else if c != nil && c.Method != "" && c.Name != "" && !strings.HasPrefix(c.Name, "torch.") { // hvd.allreduce(val)
			return carrier{p: p, leaf: paramLeaf(p, param)}.most(n.Field("arguments"), 0), true
		}
		return paramLeaf(p, param)(n)
	}}
	for d := range f.Body().Descendants() {
		switch {
		case d.Is("augmented_assignment") && attributeOf(d.Field("left"), self) && k.of(d.Field("right")) == carriesGraph:
			return d
		case d.Is("assignment") && attributeOf(d.Field("left"), self) && d.Field("right").Is("binary_operator") &&
			strings.Contains(d.Field("right").Text(), d.Field("left").Text()) && k.of(d.Field("right")) == carriesGraph:
			return d
		case d.Is("assignment") && attributeOf(d.Field("left").Field("value"), self) && p.isCounted(d.Field("left").Field("subscript")) && k.of(d.Field("right")) == carriesGraph:
			return d
		case p.Call(d) != nil && p.Call(d).Method == "append" && strings.HasPrefix(p.Call(d).Object.Text(), self+".") && k.of(p.Call(d).Arg(0, "")) == carriesGraph:
			return d
		}
	}
	return syntax.Node{}
}

// isCounted reports whether a key is counted on, as the position in a buffer is, with or without a turn at its end.
func (p *pass) isCounted(key syntax.Node) bool {
	place := p.Place(key)
	if place == nil || !key.Is("attribute", "identifier") {
		return false
	}
	return p.isCounter(key) || slices.ContainsFunc(place.Stores(), func(r *pyscope.Ref) bool {
		return r.Value.Is("binary_operator") && p.mentions(r.Value, place)
	})
}

// paramLeaf knows that a parameter carries a graph, and nothing else.
func paramLeaf(p *pass, param *pyscope.Place) func(syntax.Node) (carry, bool) {
	return func(n syntax.Node) (carry, bool) {
		if p.Place(n) == param {
			return carriesGraph, true
		}
		return carriesNothing, false
	}
}
