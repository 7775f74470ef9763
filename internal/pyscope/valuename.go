package pyscope

import (
	"maps"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

func (e *evaluator) name(n syntax.Node) Value {
	p := e.m.Place(n)
	if p == nil {
		return e.unbound(n)
	}
	if c := selfClass(p); c != nil {
		return objectOf(c)
	}
	return e.stored(n, p)
}

func (e *evaluator) unbound(n syntax.Node) Value {
	if builtins[n.Text()] {
		return Value{May: Object}
	}
	if e.soundsLikeModule(n) {
		return Value{May: NetModule | Unknown}
	}
	return Value{May: Unknown}
}

func objectOf(c *Class) Value {
	if c.IsModule() {
		return Value{May: NetModule, Type: "." + c.Name}
	}
	return Value{May: Object, Type: "." + c.Name}
}

// stored is the value of a place at a use: that of all stores that may have come last, and what
// was put into it.
func (e *evaluator) stored(n syntax.Node, p *Place) Value {
	refs, all := e.m.StoresAt(n)
	v := Value{}
	for _, r := range refs {
		v = v.and(e.refValue(r))
	}
	if !all && len(refs) == 0 {
		v = v.and(Value{May: Unknown})
	}
	if slices.ContainsFunc(refs, isContainer) {
		v = v.and(e.held(p))
	}
	return e.byUse(v, n, p)
}

// held is what mutations put into a container.
func (e *evaluator) held(p *Place) Value {
	v := Value{}
	for k, r := range p.Mutations() {
		if k == maxStores {
			return v.and(Value{May: Unknown})
		}
		v = v.and(e.value(r.Value))
	}
	return v
}

// isContainer reports whether a store begins a container that is filled later.
func isContainer(r *Ref) bool {
	switch r.Value.Kind() {
	case "list", "dictionary", "set", "list_comprehension", "dictionary_comprehension", "set_comprehension":
		return true
	case "call":
		switch lastPart(r.Value.Field("function").Text()) {
		case "list", "dict", "set", "deque", "defaultdict", "OrderedDict":
			return true
		}
	case "binary_operator":
		return r.Value.Field("left").Is("list")
	}
	return false
}

// byUse lets what is done with a place tell what it is, where its stores do not: backward() is
// called on graphs, parameters() on modules.
func (e *evaluator) byUse(v Value, n syntax.Node, p *Place) Value {
	if v.Has(Unknown) && usedAsModule(p) {
		v.May = v.May&^(Unknown|Object) | NetModule
	}
	if v.Has(Unknown) || v.Has(Graph) && !v.Sure {
		if at := e.m.backwardOnAny(p); at.Ok() && !v.Only(Plain|Tensor) {
			g := e.graph(at, true, "backward() is called on "+p.String())
			g.May |= v.May &^ Unknown
			return g
		}
	}
	if v.Has(Unknown) && !v.Has(NetModule|Graph) && e.soundsLikeModule(n) {
		v.May |= NetModule
	}
	return v
}

// backwardOnAny returns where backward() is called on a place, or on an item in it.
func (m *Module) backwardOnAny(p *Place) syntax.Node {
	if at := m.backwarded[p]; len(at) > 0 {
		return at[0]
	}
	for _, name := range slices.Sorted(maps.Keys(p.parts)) {
		if at := m.backwarded[p.parts[name]]; isItem(name) && len(at) > 0 {
			return at[0]
		}
	}
	return syntax.Node{}
}

func usedAsModule(p *Place) bool {
	if p.parts["step"] != nil { // an optimizer
		return false
	}
	for _, name := range moduleMethods {
		if q := p.parts[name]; q != nil && len(q.Refs) > 0 {
			return true
		}
	}
	return p.parts["load_state_dict"] != nil
}

var moduleMethods = []string{"parameters", "named_parameters", "named_modules", "modules", "eval", "train", "requires_grad_", "gradient_checkpointing_enable"}

func (e *evaluator) refValue(r *Ref) Value {
	switch {
	case r.Kind == Augment:
		return e.augmented(r)
	case r.How == ByParam:
		return e.param(r)
	case r.How == ByFor && r.Part >= 0:
		return e.element(r.Value, r.Part)
	case r.How == ByFor:
		return e.element(r.Value, -1)
	case r.How == ByDef, r.How == ByImport:
		return Value{May: Object}
	case r.How == ByExcept:
		return Value{May: Object}
	case r.How == ByPattern, r.How == ByWith:
		return Value{May: Unknown}
	case r.Part >= 0:
		return e.unpacked(r)
	}
	return e.value(r.Value)
}

// unpacked is one of several results. One behind the first that is called as counts are is not
// known to be a tensor.
func (e *evaluator) unpacked(r *Ref) Value {
	v := e.part(r.Value, r.Part)
	if r.Part > 0 && v.Has(Graph) && soundsLikeCount(r.Node) {
		return Value{May: Unknown}
	}
	return v
}

// augmented is x += v.
func (e *evaluator) augmented(r *Ref) Value {
	return e.recorded(r.Node, combine(e.value(r.Node), e.value(r.Value)))
}

// param is what the callers in the module give, and the default.
func (e *evaluator) param(r *Ref) Value {
	f := r.Scope.Function
	k := slices.IndexFunc(f.Params, func(p Param) bool { return p.Node == r.Node })
	if k < 0 {
		return Value{May: Unknown}
	}
	p := f.Params[k]
	if v, ok := e.annotated(p); ok {
		return v
	}
	v := Value{}
	if p.Default.Ok() {
		v = e.value(p.Default)
	}
	if p.Star != "" || len(f.Callers) == 0 || len(f.Callers) > maxStores {
		return v.and(Value{May: Unknown})
	}
	for _, c := range f.Callers {
		v = v.and(e.given(c, f, k))
	}
	return v
}

// given is what a call gives to a parameter.
func (e *evaluator) given(c *Call, f *Function, k int) Value {
	if arg := e.argument(c, f, k); arg.Ok() {
		return e.value(arg)
	}
	if c.Open() {
		return Value{May: Unknown}
	}
	return Value{} // the default
}

// argument returns the argument that a call gives to a parameter; none where it gives none.
func (e *evaluator) argument(c *Call, f *Function, k int) syntax.Node {
	position := k
	if f.Method() && (c.Class != nil || c.Method != "" && !e.throughClass(c)) {
		position--
	}
	if f.Params[k].KeyOnly {
		position = -1
	}
	return c.Arg(position, f.Params[k].Name)
}

// throughClass reports whether a method is called as Class.method(obj, …).
func (e *evaluator) throughClass(c *Call) bool {
	p := e.m.Place(c.Object)
	return p != nil && p.class != nil
}

// annotated is what a parameter's type says; a name that is a class's of the module in small letters says the same.
func (e *evaluator) annotated(p Param) (Value, bool) {
	switch p.Type.Text() {
	case "int", "float", "str", "bool", "bytes":
		return Value{May: Plain}, true
	case "nn.Module", "torch.nn.Module":
		return Value{May: NetModule, Type: "torch.nn.Module"}, true
	}
	for _, c := range e.m.Classes {
		if c.Name == p.Type.Text() || !p.Type.Ok() && strings.ToLower(c.Name) == p.Name {
			return objectOf(c), c.IsModule()
		}
	}
	return Value{}, false
}
