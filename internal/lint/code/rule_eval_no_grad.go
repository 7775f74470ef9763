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

// checkEvalWithoutNoGrad looks for models that are switched to evaluation and then run with
// autograd on: in a loop over data it costs the memory of a training step. Whatever needs
// gradients in the function keeps the rule silent: attacks, saliency, batch norm held still.
func checkEvalWithoutNoGrad(p *pass) {
	var switches, named tally
	judged := map[*pyscope.Function]bool{}
	for _, c := range p.Calls {
		if c.Method == "eval" && len(c.Args()) == 0 && !switches.over() {
			p.evalSwitch(c, judged)
		}
	}
	if !strings.Contains(string(p.Tree.Source.Text), "torch") { // the names alone say little
		return
	}
	for _, f := range p.Functions {
		if !judged[f] && (evaluates.MatchString(f.Name) || len(f.Callers) > 0 && len(f.Escapes) == 0) {
			p.evalByName(f, &named)
		}
	}
}

// evaluates matches the names of functions that measure a model.
var evaluates = regexp.MustCompile(`^_?(validate|validation|evaluate|eval|test|infer|inference)(_(epoch|one_epoch|loop|model|step|batch|loader|fn))?$|^_?(val|valid)_(epoch|one_epoch|loop)$|^_?run_(validation|evaluation|eval|test|inference)$`)

// evalSwitch judges what runs after model.eval() in the same function.
func (p *pass) evalSwitch(c *pyscope.Call, judged map[*pyscope.Function]bool) {
	model := p.evaluated(c)
	if !model.Ok() || p.conditionalSwitch(c.Node) || !model.In(c.Node) && p.loopStatement(c.Node) != nil { // a model of each round is no evaluation
		return
	}
	f := p.Function(c.Node)
	if f != nil {
		judged[f] = true
	}
	until := p.backToTraining(c, model)
	runs := p.runsOf(model, c.Node.End(), until, f)
	if len(runs) == 0 || p.wantsGradients(c.Node, until) || p.frozen() {
		return
	}
	p.reportEval(p.mostRepeated(runs), c.Node, model)
}

// runsOf returns the calls of a model, by its own name or that of a wrapper, between two offsets in a function, which
// autograd records.
func (p *pass) runsOf(model syntax.Node, start, until int, f *pyscope.Function) []*pyscope.Call {
	var runs []*pyscope.Call
	for _, run := range p.Calls {
		if run.Node.Start() < start || run.Node.Start() > until || p.Function(run.Node) != f {
			continue
		}
		if p.runsModel(run, model) && p.Grad(run.Node).Mode == pyscope.GradOn {
			runs = append(runs, run)
		}
	}
	return runs
}

// runsModel reports whether a call runs a model: by its name, by a method that goes through its layers, or by
// what wraps it, as self.parallel = nn.DataParallel(self.model) does.
func (p *pass) runsModel(run *pyscope.Call, model syntax.Node) bool {
	if run.Callee.Text() == model.Text() || modelMethods[run.Method] && run.Object.Text() == model.Text() || runsPartOf(run, model) {
		return true
	}
	place := p.Place(run.Callee)
	if place == nil || place == p.Place(model) {
		return false
	}
	stores := place.Stores()
	return len(stores) == 1 && stores[0].How == pyscope.ByAssign && p.wraps(stores[0].Value, p.Place(model))
}

// runsPartOf reports whether a call runs a part of a model by its own name: model.backbone(images).
func runsPartOf(run *pyscope.Call, model syntax.Node) bool {
	return run.Object.Ok() && run.Object.Text() == model.Text() && len(run.Args()) > 0 && modelNames.MatchString(run.Method) && !doesToModel.MatchString(run.Method)
}

// doesToModel matches the names of methods that do something to a model and do not run it: set_encoder, size_of_model.
var doesToModel = regexp.MustCompile(`^_?(get|set|build|make|create|load|save|init|freeze|reset|compile|register|export|swap|add|replace|wrap|update|is|has)_|_(of|from|to|for|in)_`)

// wraps reports whether an expression is a model, or one of its wrappers around it.
func (p *pass) wraps(n syntax.Node, model *pyscope.Place) bool {
	if n.Is("conditional_expression") {
		return p.wraps(n.Child(0), model) || p.wraps(n.Child(2), model)
	}
	if c := p.Call(n); c != nil && strings.HasSuffix(c.Callee.Text(), "Parallel") {
		n = c.Arg(0, "module")
	}
	return model != nil && p.Place(n) == model
}

// modelMethods go through the layers of a model as a call of it does, and leave autograd as it is.
var modelMethods = map[string]bool{
	"forward": true, "forward_features": true, "extract_features": true, "encode_image": true, "encode_text": true,
	"get_image_features": true, "get_text_features": true, "predictions": true,
}

// mostRepeated returns the first of some calls that is in a loop; the first of all where none is.
func (p *pass) mostRepeated(runs []*pyscope.Call) *pyscope.Call {
	for _, run := range runs {
		if p.again(run).Ok() {
			return run
		}
	}
	return runs[0]
}

// again returns the loop that repeats a call, in its function or around the calls of that in the module; none where
// none is seen.
func (p *pass) again(run *pyscope.Call) syntax.Node {
	if r := p.Repeated(run.Node); r != nil && isLoop(r.Node) {
		return r.Node
	}
	f := p.Function(run.Node)
	if f == nil || f.Class == nil {
		return syntax.Node{}
	}
	asked := memo(&p.facts.asked, func() map[*pyscope.Function]syntax.Node { return map[*pyscope.Function]syntax.Node{} })
	loop, known := asked[f]
	if !known {
		loop = p.askedAgain(f)
		asked[f] = loop
	}
	return loop
}

// askedAgain returns the loop around a call by the name of a method alone, model.predict(batch) of an object that
// another function is given; none where autograd is off around one of them.
func (p *pass) askedAgain(f *pyscope.Function) syntax.Node {
	var found syntax.Node
	if !p.nameIsOnce(f) {
		return found
	}
	for _, c := range p.Calls {
		if c.Method != f.Name || c.Target != nil || !p.Value(c.Object).Has(pyscope.Unknown) {
			continue
		}
		if p.Grad(c.Node).Mode == pyscope.GradOff {
			return syntax.Node{}
		}
		if l := p.Loop(c.Node); l != nil && !l.Small() && !found.Ok() {
			found = l.Node
		}
	}
	return found
}

// isLoop reports whether a node is a loop's, and not the name of a function that is called again and again.
func isLoop(n syntax.Node) bool {
	return n.Ok() && !n.Is("identifier")
}

// nameIsOnce reports whether no other function of the module has the name of one.
func (p *pass) nameIsOnce(f *pyscope.Function) bool {
	return !slices.ContainsFunc(p.Functions, func(g *pyscope.Function) bool { return g != f && g.Name == f.Name })
}

// evaluated returns the model that eval() is called on, or that its result is assigned to.
func (p *pass) evaluated(c *pyscope.Call) syntax.Node {
	n := c.Node
	for n.Parent().Is("attribute") && n.Parent().Parent().Is("call") { // Net().eval().cuda()
		n = n.Parent().Parent()
	}
	if n.Parent().Is("assignment") && n.FieldName() == "right" {
		return n.Parent().Field("left")
	}
	if n.Parent().Is("expression_statement") && c.Object.Is("identifier", "attribute") {
		return c.Object
	}
	return syntax.Node{}
}

// conditionalSwitch reports whether eval() is called in a branch: what comes after may be training.
func (p *pass) conditionalSwitch(n syntax.Node) bool {
	for a := range n.Ancestors() {
		if a.Is("function_definition", "lambda", "for_statement", "while_statement") {
			return false
		}
		if a.Is("if_statement", "elif_clause", "else_clause", "except_clause") && !strings.Contains(a.Field("condition").Text(), "__name__") {
			return true
		}
	}
	return false
}

// backToTraining returns the offset at which the model is switched back, or is another one.
func (p *pass) backToTraining(c *pyscope.Call, model syntax.Node) int {
	until := len(p.Tree.Source.Text)
	for _, other := range p.Calls {
		if other.Method == "train" && other.Object.Text() == model.Text() && other.Node.Start() > c.Node.End() {
			until = min(until, other.Node.Start())
		}
	}
	if place := p.Place(model); place != nil {
		for _, r := range place.Stores() {
			if r.Node.Start() > c.Node.End() && r.Scope == p.Scope(c.Node) && !p.mentions(r.Value, place) {
				until = min(until, r.Node.Start())
			}
		}
	}
	return until
}

// needsGrad matches what people write where a model in evaluation mode is differentiated.
var needsGrad = regexp.MustCompile(`backward\(|autograd\.|requires_grad_\(\)|requires_grad_\(True|requires_grad ?= ?True|requires_grad=True|create_graph|retain_graph|\b(opt\w*|solver|scaler)\.step\(|optimi[sz]e\(|train_step\(|update_model\(|\.grad\b|attack|saliency|adversar|jacobian|enable_grad|torch\.export|onnx|jit\.trace|torch\.func|vmap\(`)

// wantsGradients reports whether something needs a graph after eval(), in the same block, before
// the model is switched back.
func (p *pass) wantsGradients(n syntax.Node, until int) bool {
	return p.wantsWithin(n.End(), min(until, n.Enclosing("block", "module").End()))
}

// wantsWithin reports whether something between two offsets needs a graph.
func (p *pass) wantsWithin(start, end int) bool {
	wants := memo(&p.facts.wants, func() []int {
		var at []int
		for _, m := range needsGrad.FindAllIndex(p.Tree.Source.Text, -1) {
			at = append(at, m[0])
		}
		return at
	})
	i, _ := slices.BinarySearch(wants, start)
	return i < len(wants) && wants[i] < end
}

// frozen reports whether the parameters of a model are kept from needing gradients anywhere in the module.
func (p *pass) frozen() bool {
	return memo(&p.facts.frozen, func() bool { return freezes.Match(p.Tree.Source.Text) })
}

var freezes = regexp.MustCompile(`requires_grad_\(False\)|requires_grad ?= ?False|(?i)freeze`)

// reportEval reports a run of a model in evaluation mode: a warning in a loop, to know otherwise.
func (p *pass) reportEval(run *pyscope.Call, because, model syntax.Node) {
	m := rules.Mistake{
		Rule: "leak/eval-without-no-grad", Severity: rules.Info, Confidence: rules.Medium,
		Message: fmt.Sprintf("%s is in evaluation mode, and autograd still records what it computes", short(model)),
		Remedy:  "run it under torch.inference_mode() (torch.no_grad() where results go back into training), or decorate the function with it",
		Related: []rules.Related{related(because, "eval() switches dropout and batch norm, not autograd")},
	}
	if loop := p.again(run); loop.Ok() {
		m.Severity = rules.Warning
		m.Related = append(m.Related, related(loop.Child(0), "for each round of this loop"))
		m.Fix = p.withoutGrad(p.Function(run.Node))
	}
	p.report(run.Node, m)
}

// withoutGrad returns the repair that decorates a function with no_grad, where it is sure to
// keep what the function gives: it is there to evaluate, touches no gradients, and returns
// numbers or nothing.
func (p *pass) withoutGrad(f *pyscope.Function) *rules.Fix {
	if f == nil || !f.Node.Is("function_definition") || len(f.Decorators) > 0 || len(f.Yields) > 0 || !evaluates.MatchString(f.Name) || p.wantsWithin(f.Node.Start(), f.Node.End()) || !importsTorch.Match(p.Tree.Source.Text) {
		return nil
	}
	for _, r := range f.Returns {
		if !p.Value(r).Only(pyscope.Plain) {
			return nil
		}
	}
	text := p.Tree.Source.Text
	line := strings.LastIndexByte(string(text[:f.Node.Start()]), '\n') + 1
	return &rules.Fix{
		What:  "decorate " + f.Name + " with @torch.no_grad()",
		Edits: []rules.Edit{{Start: f.Node.Start(), End: f.Node.Start(), Text: "@torch.no_grad()\n" + string(text[line:f.Node.Start()])}},
	}
}

var importsTorch = regexp.MustCompile(`(?m)^import torch\s*$`)

// evalByName judges a function that is named for an evaluation, or that only evaluations call: it is
// probable where all that call it in the module have switched the model before.
func (p *pass) evalByName(f *pyscope.Function, named *tally) {
	if f.Class != nil && (f.Class.IsModule() || isCallback(f.Class)) {
		return
	}
	for _, run := range f.Calls {
		if r := p.Repeated(run.Node); r == nil || !isLoop(r.Node) || !p.givenModel(run.Callee, f) || p.Grad(run.Node).Mode != pyscope.GradOn || p.frozen() {
			continue
		}
		if p.wantsWithin(f.Node.Start(), f.Node.End()) || named.over() {
			return
		}
		switched := p.callersSwitch(f)
		if l := p.Loop(run.Node); (l == nil || l.Small()) && (!switched.Ok() || run.Node.Parent().Is("expression_statement")) {
			continue // one run for each call, of nothing in evaluation mode, or to count what it does
		}
		if !switched.Ok() && !evaluates.MatchString(f.Name) {
			return
		}
		m := rules.Mistake{
			Rule: "leak/eval-without-no-grad", Severity: rules.Warning, Confidence: rules.Low,
			Message: fmt.Sprintf("%s runs %s with autograd on, and makes no use of the graphs", f.Name, short(run.Callee)),
			Remedy:  "decorate " + f.Name + " with @torch.inference_mode(), or put its loop under it",
		}
		if switched.Ok() {
			m.Confidence = rules.Medium
			m.Related = append(m.Related, related(switched, "the model is switched to evaluation here: that does not switch autograd off"))
		} else if weights := p.loadedBefore(run, f); weights.Ok() {
			m.Confidence = rules.Medium
			m.Related = append(m.Related, related(weights, "the weights come from a file: nothing trains them here"))
		}
		p.report(run.Node, m)
		return
	}
}

// loadedBefore returns where a function reads the weights of the model that it runs later.
func (p *pass) loadedBefore(run *pyscope.Call, f *pyscope.Function) syntax.Node {
	for _, c := range f.Calls {
		if c.Method == "load_state_dict" && c.Object.Text() == run.Callee.Text() && c.Node.End() < run.Node.Start() {
			return c.Node
		}
	}
	return syntax.Node{}
}

// modelNames matches what people call a model.
var modelNames = regexp.MustCompile(`(?i)(^|_)(model|net|network|classifier|backbone|encoder|decoder|generator|net_?g|unet)$`)

// givenModel reports whether a function gets what is called as a parameter or in its object, under
// the name of a model.
func (p *pass) givenModel(callee syntax.Node, f *pyscope.Function) bool {
	if callee.Is("identifier") {
		return isParam(f, callee) && modelNames.MatchString(callee.Text())
	}
	return callee.Is("attribute") && callee.Field("object").Text() == selfName(f) && modelNames.MatchString(callee.Field("attribute").Text())
}

// mostCallers is how many calls of a function are looked at.
const mostCallers = 20

// callersSwitch returns a call of eval() on what a call of the function is given, before it in the
// same code; none where one of the calls has no such thing.
func (p *pass) callersSwitch(f *pyscope.Function) syntax.Node {
	var found syntax.Node
	if len(f.Callers) > mostCallers {
		return found
	}
	for _, call := range f.Callers {
		if found = p.switchedBefore(call); !found.Ok() {
			return found
		}
	}
	return found
}

func (p *pass) switchedBefore(call *pyscope.Call) syntax.Node {
	var found syntax.Node
	for _, c := range p.Calls {
		if c.Node.Start() >= call.Node.Start() || p.Function(c.Node) != p.Function(call.Node) || len(c.Args()) > 0 {
			continue
		}
		if !strings.Contains(call.Node.Field("arguments").Text(), c.Object.Text()) && call.Object.Text() != "self" {
			continue
		}
		switch c.Method {
		case "eval":
			found = c.Node
		case "train":
			found = syntax.Node{}
		}
	}
	return found
}
