package code

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkCachedMethod looks for lru_cache and cache on methods, whose objects become keys, and on
// functions that take tensors or modules, which do as well.
func checkCachedMethod(p *pass) {
	for _, f := range p.Functions {
		for _, d := range f.Decorators {
			if !cachesArguments(d) || len(f.Params) == 0 {
				continue
			}
			if selfName(f) != "" {
				p.cachedMethod(f, d)
			} else if param, ok := heavyParam(f); ok {
				severity := rules.Warning
				if p.atMost(d, 1) {
					severity = rules.Info
				}
				p.report(d.Node, rules.Mistake{
					Rule: "leak/cached-method", Severity: severity, Confidence: rules.High,
					Message: fmt.Sprintf("the cache of %s keeps each %s that it was ever called with: a tensor or module is a key by its identity", f.Name, param.Name),
					Remedy:  "make the key of shape, dtype and device, or compute the value where it is needed",
				})
			}
		}
	}
}

// cachesArguments reports whether a decorator is a cache of the whole function: functools' own, and
// what others build on it under its name. Those that keep a cache on each object are not.
func cachesArguments(d pyscope.Decorator) bool {
	switch d.Name {
	case "functools.lru_cache", "functools.cache":
		return true
	}
	if strings.HasPrefix(d.Name, "methodtools.") || strings.HasPrefix(d.Name, "async_lru.") {
		return false
	}
	name := d.Node
	if name.Is("call") {
		name = name.Field("function")
	}
	return strings.HasSuffix(name.Text(), "_method_lru_cache")
}

// atMost reports whether a cache is sure to keep no more than a few calls.
func (p *pass) atMost(d pyscope.Decorator, few int) bool {
	c := p.Call(d.Node)
	if c == nil {
		return false
	}
	n, ok := p.Int(c.Arg(0, "maxsize"))
	return ok && n <= few
}

// cachedMethod reports a cache whose keys have the object in them.
func (p *pass) cachedMethod(f *pyscope.Function, d pyscope.Decorator) {
	m := rules.Mistake{
		Rule: "leak/cached-method", Severity: rules.Info, Confidence: rules.Medium,
		Message: fmt.Sprintf("the cache of %s.%s has self in its keys, and so keeps every %[1]s that calls it", f.Class.Name, f.Name),
		Remedy:  "keep the value in an attribute of the object, or compute it once in __init__",
	}
	switch {
	case f.Class.IsModule():
		m.Severity, m.Confidence = rules.Warning, rules.High
		m.Evidence = append(m.Evidence, fmt.Sprintf("%s is a module: its parameters stay with it", f.Class.Name))
	case p.returnsTensors(f) && !p.atMost(d, 32):
		m.Severity = rules.Warning
		m.Message = fmt.Sprintf("the cache of %s.%s keeps the tensors that it returned, and every %[1]s that calls it", f.Class.Name, f.Name)
	case p.holdsTensors(f.Class).Ok():
		m.Severity = rules.Warning
		m.Related = append(m.Related, related(p.holdsTensors(f.Class), "the object holds a model or tensors"))
	}
	p.report(d.Node, m)
}

// returnsTensors reports whether a function is sure to return tensors.
func (p *pass) returnsTensors(f *pyscope.Function) bool {
	k := carrier{p: p, leaf: func(n syntax.Node) (carry, bool) {
		if c := p.Call(n); c != nil && madeByTorch(c) {
			return carriesTensor, true
		}
		return carriesNothing, false
	}}
	for _, r := range f.Returns {
		if k.of(r) >= carriesTensor {
			return true
		}
	}
	return false
}

// heavyParam returns a parameter that is annotated as a tensor or a module.
func heavyParam(f *pyscope.Function) (pyscope.Param, bool) {
	for _, param := range f.Params {
		switch strings.Trim(param.Type.Text(), `"'`) {
		case "Tensor", "torch.Tensor", "th.Tensor", "nn.Module", "torch.nn.Module", "Module", "Optional[Tensor]", "Optional[torch.Tensor]", "torch.Tensor | None", "Tensor | None":
			return param, true
		}
	}
	return pyscope.Param{}, false
}

// holdsTensors returns where an object of a class gets a model or tensors as an attribute;
// none where the source shows no such thing.
func (p *pass) holdsTensors(class *pyscope.Class) syntax.Node {
	for _, f := range class.Methods {
		self := selfName(f)
		for d := range f.Body().Descendants() {
			if self == "" || !d.Is("assignment") || !attributeOf(d.Field("left"), self) {
				continue
			}
			if p.makesTensors(d.Field("right")) {
				return d
			}
		}
	}
	return syntax.Node{}
}

// makesTensors reports whether an expression is sure to be a model or tensors.
func (p *pass) makesTensors(n syntax.Node) bool {
	if v := p.Value(n); v.Only(pyscope.Tensor|pyscope.Graph|pyscope.Leaf|pyscope.NetModule) && v.May != 0 {
		return true
	}
	c := p.Call(n)
	if c == nil {
		return false
	}
	return c.Name == "torch.load" || c.Name == "torch.jit.load" || c.Method == "cuda" || c.Method == "from_pretrained"
}
