package pyscope

import (
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

func (e *evaluator) call(c *Call) Value {
	if c == nil {
		return Value{May: Unknown}
	}
	switch {
	case c.Class != nil:
		return objectOf(c.Class)
	case c.Target != nil:
		return e.result(c)
	case c.Name != "":
		if v, ok := e.named(c); ok {
			return v
		}
	}
	if c.Method != "" {
		return e.method(c)
	}
	return e.called(c, e.value(c.Callee))
}

// result is what a function of the module returns.
func (e *evaluator) result(c *Call) Value {
	f := c.Target
	v := e.returned(f)
	if e.m.Grad(c.Node).Mode == GradOff && (len(f.Callers) == 1 || madeWithin(f, v)) {
		v = v.without()
	}
	return v
}

// returned is what the returns and yields of a function give.
func (e *evaluator) returned(f *Function) Value {
	v := Value{}
	for _, r := range append(f.Returns, f.Yields...) {
		v = v.and(e.value(r))
	}
	if len(f.Returns)+len(f.Yields) == 0 {
		return Value{May: Plain}
	}
	return v
}

// closureOf returns the function that optimizer.step(closure) calls: the step returns what it does.
func (m *Module) closureOf(c *Call) *Function {
	if c.Method != "step" || len(c.Args()) != 1 {
		return nil
	}
	f, _ := m.callable(c.Arg(0, "closure"))
	return f
}

// madeWithin reports whether the graph of a result begins at a call in the function: it begins there
// only where the function itself is called with gradients on.
func madeWithin(f *Function, v Value) bool { return v.Node.Is("call") && v.Node.In(f.Node) }

// named is a call of something with a qualified name.
func (e *evaluator) named(c *Call) (Value, bool) {
	top, _, _ := strings.Cut(c.Name, ".")
	last := lastPart(c.Name)
	switch {
	case plainCalls[c.Name], plainPackages[top]:
		return Value{May: Plain}, true
	case throughCalls[c.Name], last == "tqdm", last == "trange":
		return e.joined(c), true
	case makesModule(c.Name):
		return Value{May: NetModule, Type: c.Name}, true
	case c.Name == "torch.nn.Parameter", c.Name == "torch.nn.parameter.Parameter":
		return Value{May: Leaf}, true
	case strings.HasPrefix(c.Name, "torch."):
		return e.torch(c, last), true
	case isClassName(last):
		return Value{May: Object | Unknown, Type: c.Name}, true
	}
	return Value{}, false
}

// isClassName reports whether a name looks like that of a class: CamelCase.
func isClassName(last string) bool {
	return last != "" && last[0] >= 'A' && last[0] <= 'Z' && strings.ToUpper(last) != last
}

// torch is a call of one of PyTorch's own functions.
func (e *evaluator) torch(c *Call, last string) Value {
	switch {
	case torchMakes[last] && !strings.HasPrefix(c.Name, "torch.nn."):
		if c.Keyword("requires_grad").Is("true") {
			return Value{May: Leaf}
		}
		return Value{May: Tensor}
	case endMethods[last], strings.HasPrefix(c.Name, "torch.distributed."):
		return Value{May: Tensor}
	case c.Name == "torch.autograd.grad":
		if c.Keyword("create_graph").Ok() && !c.Keyword("create_graph").Is("false") {
			return e.graph(c.Node, true, "the gradients of "+oneLine(c.Node))
		}
		return Value{May: Tensor}
	case isClassName(last), strings.HasPrefix(c.Name, "torch.optim."):
		return Value{May: Object, Type: c.Name}
	case c.Name == "torch.load", strings.HasPrefix(c.Name, "torch.cuda."), strings.HasPrefix(c.Name, "torch.backends."):
		return Value{May: Unknown}
	case c.Name == "torch.utils.checkpoint.checkpoint":
		return e.fromModule(c, Value{May: NetModule}, true)
	}
	v := e.joined(c)
	if v.Only(Unknown|Plain) && ofOutputs[last] && len(c.Args()) > 0 && e.resultOfCall(c.Args()[0]) {
		v = e.graph(c.Node, false, "the result of "+oneLine(c.Node))
	}
	if v = e.recorded(c.Node, v); v.Only(Plain) {
		return Value{May: Tensor}
	}
	return v
}

// resultOfCall reports whether an expression is the result of a call, or a name for it.
func (e *evaluator) resultOfCall(n syntax.Node) bool {
	if n.Is("identifier") {
		from := e.storedValues(n)
		return len(from) == 1 && from[0].Is("call")
	}
	return n.Is("call")
}

// joined is a call whose result is made of its arguments.
func (e *evaluator) joined(c *Call) Value {
	v := Value{}
	for _, a := range c.Args() {
		v = combine(v, e.value(a))
	}
	for a := range c.Node.Field("arguments").Children() {
		if a.Is("keyword_argument") && !plainKeywords[a.Field("name").Text()] {
			v = combine(v, e.value(a.Field("value")))
		}
	}
	if c.Open() || v.May == 0 && len(c.Args()) > 0 {
		v = v.and(Value{May: Unknown})
	}
	if v.May == 0 {
		v = Value{May: Plain}
	}
	v.Type = ""
	return v
}

// method is a call of an object's method that is not the module's own.
func (e *evaluator) method(c *Call) Value {
	if p := e.m.Place(c.Callee); p != nil && len(p.Stores()) > 0 { // an attribute: self.write = nn.Linear(…)
		return e.called(c, e.value(c.Callee))
	}
	closure := e.m.closureOf(c)
	switch {
	case closure != nil:
		return e.returned(closure)
	case plainMethods[c.Method]:
		return Value{May: Plain}
	case endMethods[c.Method]:
		return Value{May: Tensor}
	}
	v := e.value(c.Object)
	switch {
	case c.Method == "get" || c.Method == "pop":
		v.Type = ""
		return v
	case v.Has(NetModule):
		return e.moduleMethod(c, v)
	case v.Has(Graph | Tensor | Leaf):
		return e.tensorMethod(c, v)
	case v.Only(Plain):
		return v
	case v.Only(Unknown) && ofOutputs[c.Method]:
		return e.recorded(c.Node, e.graph(c.Node, true, "the result of "+oneLine(c.Node)))
	case v.Type != "" && v.Has(Unknown) && (c.Method == "cuda" || c.Method == "eval" || c.Method == "to"): // Net().cuda()
		return Value{May: NetModule, Type: v.Type}
	}
	return e.called(c, e.value(c.Callee))
}

func (e *evaluator) tensorMethod(c *Call, v Value) Value {
	if c.Method == "requires_grad_" {
		v.May |= Leaf
		return v
	}
	if v.Has(Leaf) && keepMethods[c.Method] {
		return v
	}
	return e.recorded(c.Node, combine(v, e.joined(c)))
}

// moduleMethod is a method of a module: of those that return the module itself, and of those that
// run it.
func (e *evaluator) moduleMethod(c *Call, v Value) Value {
	switch {
	case keepMethods[c.Method]:
		return v
	case c.Method == "parameters", c.Method == "named_parameters", c.Method == "buffers":
		return Value{May: Leaf}
	case c.Method == "state_dict", c.Method == "named_modules", c.Method == "modules", c.Method == "children":
		return Value{May: Object}
	case c.Method == "generate":
		return Value{May: Tensor}
	case c.Method == "forward":
		return e.fromModule(c, v, v.Only(NetModule))
	}
	if callee := e.value(c.Callee); callee.Has(NetModule) { // a submodule
		return e.fromModule(c, callee, callee.Only(NetModule) && v.Only(NetModule))
	}
	if v.Has(Unknown) { // neither is certain to be what it sounds like
		return Value{May: Unknown}
	}
	g := e.fromModule(c, v, false)
	g.May |= Unknown
	return g
}

// called is a call of a value.
func (e *evaluator) called(c *Call, callee Value) Value {
	if callee.Has(NetModule) {
		return e.fromModule(c, callee, callee.Only(NetModule))
	}
	if soundsLikeMaker(c.Callee) {
		return Value{May: NetModule | Unknown}
	}
	if soundsLikeLoss(c.Callee) {
		v := e.recorded(c.Node, e.joined(c))
		v.May &^= Plain
		if v.May == 0 {
			return Value{May: Unknown}
		}
		return v
	}
	return Value{May: Unknown}
}

// fromModule is the result of running a module. A loss has no parameters, and a frozen module
// none that count: the result has a graph if an argument has.
func (e *evaluator) fromModule(c *Call, module Value, sure bool) Value {
	if e.m.Frozen(e.m.Place(c.Callee)) || isLoss(module.Type) || module.Type == "" && soundsLikeLoss(c.Callee) {
		v := e.recorded(c.Node, e.joined(c))
		if v.Only(Plain) {
			v.May = Tensor
		}
		return v
	}
	return e.recorded(c.Node, e.graph(c.Node, sure, "the result of "+oneLine(c.Node)))
}

func isLoss(qualified string) bool {
	return strings.HasPrefix(qualified, "torch.nn.") && (strings.HasSuffix(qualified, "Loss") || parameterFree[lastPart(qualified)])
}

// makesModule reports whether a call by that name gives a torch.nn.Module.
func makesModule(name string) bool {
	last := lastPart(name)
	switch {
	case isModuleName(name):
		return true
	case moduleMakers[name], moduleMakers[last]:
		return true
	case strings.HasPrefix(name, "torchvision.models.") && last != "get_weight" && !strings.HasSuffix(name, "_Weights"):
		return true
	case last == "from_pretrained" || last == "from_config":
		owner := lastPart(strings.TrimSuffix(name, "."+last))
		return strings.Contains(owner, "Model") || strings.Contains(owner, "For")
	}
	return false
}

// soundsLikeModule reports whether an expression is called as people call models.
func (e *evaluator) soundsLikeModule(n syntax.Node) bool {
	name := plainName(n)
	verb, _, _ := strings.Cut(name, "_")
	return !verbs[verb] && namesModule(name)
}

// soundsLikeMaker reports whether a function is called as people call those that make models:
// build_model.
func soundsLikeMaker(n syntax.Node) bool {
	verb, noun, _ := strings.Cut(plainName(n), "_")
	return makerVerbs[verb] && namesModule(noun)
}

// plainName returns the last part of a name in small letters.
func plainName(n syntax.Node) string {
	return strings.ToLower(strings.TrimLeft(lastPart(n.Text()), "_"))
}

func namesModule(name string) bool {
	return moduleNames[name] || strings.HasSuffix(name, "_model") || strings.HasSuffix(name, "_net") || strings.HasSuffix(name, "_network") ||
		strings.HasPrefix(name, "model_") && len(name) <= 8
}

func soundsLikeLoss(n syntax.Node) bool {
	name := plainName(n)
	return strings.HasPrefix(name, "criterion") || strings.HasSuffix(name, "criterion") || strings.HasPrefix(name, "loss_f") ||
		strings.HasSuffix(name, "_loss") || name == "loss" || name == "lossfn" || name == "get_loss" || name == "compute_loss"
}

func soundsLikeLoader(n syntax.Node) bool {
	name := strings.ToLower(lastPart(n.Text()))
	return strings.HasSuffix(name, "loader") || strings.HasSuffix(name, "dataset") || strings.HasSuffix(name, "_dl")
}

func soundsLikeCount(n syntax.Node) bool {
	name := strings.ToLower(lastPart(n.Text()))
	for _, word := range []string{"count", "num", "samples", "tokens", "size", "len", "total", "correct", "names", "idx", "index"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return name == "n" || strings.HasPrefix(name, "n_")
}
