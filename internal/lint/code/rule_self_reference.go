package code

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkModuleSelfReference looks for modules that store a lambda, a method or a hook over
// themselves. It is a warning where the module has parameters to keep, or the source makes several
// of them one after the other; an activation without any costs nothing.
func checkModuleSelfReference(p *pass) {
	var judged tally
	for _, class := range p.Classes {
		if !class.IsModule() {
			continue
		}
		for _, s := range p.selfStores(class) {
			if judged.over() {
				return
			}
			m := p.selfReference(class, "leak/module-self-reference", fmt.Sprintf(
				"%s is stored in the %s itself: a cycle that keeps all of its parameters after the last reference is gone", s.what, class.Name),
				"write a method and look it up when it is called, or hold weakref.ref(self) or weakref.WeakMethod in what is stored")
			if held := p.parameters(class); held.Ok() {
				m.Severity = rules.Warning
				m.Related = append(m.Related, related(held, "part of what the cycle keeps"))
			}
			p.report(s.at, m)
		}
	}
}

// parameters returns where a module gets parameters of its own: a layer, a parameter, a buffer;
// none where the source shows no such thing.
func (p *pass) parameters(class *pyscope.Class) syntax.Node {
	for _, f := range class.Methods {
		for _, c := range f.Calls {
			switch {
			case c.Method == "register_parameter" || c.Method == "register_buffer":
				return c.Node
			case weightless[lastName(c.Callee)]:
			case strings.HasPrefix(c.Name, "torch.nn.") && startsUpper(c.Name), strings.HasPrefix(c.Name, "torchvision.models."), c.Method == "from_pretrained":
				return c.Node
			}
		}
	}
	return syntax.Node{}
}

// weightless are modules of PyTorch that have no parameters.
var weightless = map[string]bool{
	"relu": true, "gelu": true, "silu": true, "sigmoid": true, "tanh": true, "softmax": true, "dropout": true, "identity": true, "flatten": true, "module": true,
	"maxpool2d": true, "avgpool2d": true, "adaptiveavgpool2d": true, "leakyrelu": true, "mseloss": true, "crossentropyloss": true, "bceloss": true,
	"bcewithlogitsloss": true, "l1loss": true, "upsample": true, "softplus": true, "elu": true, "hardtanh": true, "mish": true, "nllloss": true, "kldivloss": true,
}

// selfReference is a mistake about an object that refers to itself: a warning where objects
// of its class are made in a loop.
func (p *pass) selfReference(class *pyscope.Class, id, message, remedy string) rules.Mistake {
	m := rules.Mistake{Rule: id, Severity: rules.Info, Confidence: rules.Medium, Message: message, Remedy: remedy}
	if made := p.madeInLoop(class); made != nil {
		m.Severity = rules.Warning
		m.Related = append(m.Related, related(made.Node, "made in a loop: the ones before wait for Python's collector"))
	}
	return m
}

// selfStore is a place where an object comes to refer to itself.
type selfStore struct {
	at   syntax.Node
	what string
}

// selfStores returns where objects of a class store something over themselves, in themselves or in
// hooks of their parts.
func (p *pass) selfStores(class *pyscope.Class) []selfStore {
	var found []selfStore
	seen := map[string]bool{} // attributes: one mistake for all branches that set one
	for _, f := range class.Methods {
		self := selfName(f)
		if self == "" {
			continue
		}
		for d := range f.Body().Descendants() {
			switch {
			case d.Is("assignment") && attributeOf(d.Field("left"), self) && !seen[d.Field("left").Text()]:
				if what := p.overSelf(d.Field("right"), class, self); what != "" {
					found = append(found, selfStore{d, what})
					seen[d.Field("left").Text()] = true
				}
			case d.Is("call"):
				if what := p.callOverSelf(p.Call(d), class, self); what != "" {
					found = append(found, selfStore{d, what})
				}
			}
		}
	}
	return found
}

// selfName returns the name of a method's object; empty for static and class methods.
func selfName(f *pyscope.Function) string {
	if !f.Method() {
		return ""
	}
	for _, d := range f.Decorators {
		if strings.HasSuffix(d.Node.Text(), "classmethod") {
			return ""
		}
	}
	return f.Params[0].Name
}

// attributeOf reports whether a node is self.x.
func attributeOf(n syntax.Node, self string) bool {
	return n.Is("attribute") && n.Field("object").Text() == self
}

// overSelf returns what in an expression refers to self, in words; empty where nothing does. Only
// what is stored as it is counts, not what calls return.
func (p *pass) overSelf(n syntax.Node, class *pyscope.Class, self string) string {
	switch n.Kind() {
	case "lambda":
		if p.usesName(n.Field("body"), self) {
			return "a lambda over " + self
		}
	case "attribute":
		if f := class.Method(n.Field("attribute").Text()); attributeOf(n, self) && f != nil && selfName(f) != "" && len(f.Decorators) == 0 {
			return "the bound method " + n.Text()
		}
	case "identifier":
		return p.localOverSelf(n, self)
	case "list", "tuple", "dictionary", "set", "pair", "conditional_expression", "parenthesized_expression", "boolean_operator", "expression_list":
		for c := range n.Children() {
			if n.Is("conditional_expression") && c == n.Child(1) || c.FieldName() == "key" {
				continue
			}
			if what := p.overSelf(c, class, self); what != "" {
				return what
			}
		}
	case "call":
		if c := p.Call(n); c.Name == "functools.partial" {
			return p.overSelf(c.Arg(0, ""), class, self)
		}
	}
	return ""
}

// localOverSelf is for the name of a function that is defined in the method.
func (p *pass) localOverSelf(n syntax.Node, self string) string {
	for _, f := range p.Functions {
		if f.Name == n.Text() && f.Outer != nil && f.Class == nil && p.Place(f.Node.Field("name")) == p.Place(n) && p.Place(n) != nil && p.usesName(f.Body(), self) {
			return fmt.Sprintf("the function %s over %s", f.Name, self)
		}
	}
	return ""
}

// usesName reports whether a name is used in code.
func (p *pass) usesName(n syntax.Node, name string) bool {
	for d := range n.Descendants() {
		if d.Is("identifier") && d.Text() == name && d.FieldName() != "attribute" && d.FieldName() != "name" {
			return true
		}
	}
	return false
}

// callOverSelf is for calls that store: a hook of a part of the object, an append to one of its lists.
func (p *pass) callOverSelf(c *pyscope.Call, class *pyscope.Class, self string) string {
	switch {
	case c == nil:
	case registersHook[c.Method] && p.partOf(c.Object, self) && p.hookStays(c):
		if what := p.overSelf(c.Arg(0, "hook"), class, self); what != "" {
			return what + ", as a hook,"
		}
	case c.Method == "append" && strings.HasPrefix(c.Object.Text(), self+"."):
		return p.overSelf(c.Arg(0, ""), class, self)
	}
	return ""
}

// partOf reports whether an expression is the object or a part of it, also one that a loop over its
// parts gives.
func (p *pass) partOf(n syntax.Node, self string) bool {
	root := n
	for root.Is("attribute", "subscript", "call") {
		switch {
		case root.Is("attribute"):
			root = root.Field("object")
		case root.Is("subscript"):
			root = root.Field("value")
		default:
			root = root.Field("function")
		}
	}
	if root.Text() == self {
		return true
	}
	place := p.Place(root)
	if place == nil {
		return false
	}
	for _, r := range place.Stores() {
		if r.How == pyscope.ByFor && strings.HasPrefix(r.Value.Text(), self+".") {
			return true
		}
	}
	return false
}
