package code

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// carry is how much memory whoever keeps a value keeps with it.
type carry uint8

const (
	carriesNothing carry = iota // a number, a text, a shape; or not known
	carriesHost                 // a tensor in main memory, without a graph
	carriesTensor               // a tensor without a graph
	carriesGraph                // a tensor with the graph that it came from
)

// String names what is kept, for messages.
func (c carry) String() string {
	return [...]string{"nothing", "a tensor in main memory", "a tensor", "a tensor with its graph"}[c]
}

// carrier follows values from the names in which they begin: the output that a hook is given,
// the batch that a step gets. What begins nowhere it knows, it says nothing of.
type carrier struct {
	p *pass
	// leaf tells what a name, an attribute or a call holds where that is known without looking
	// further.
	leaf func(n syntax.Node) (carry, bool)
}

// carryDepth is how many names and expressions are followed.
const carryDepth = 24

// of returns what the value of an expression carries.
func (k carrier) of(n syntax.Node) carry { return k.at(n, 0) }

func (k carrier) at(n syntax.Node, depth int) carry {
	if !n.Ok() || depth > carryDepth {
		return carriesNothing
	}
	switch n.Kind() {
	case "identifier", "attribute", "call":
		if c, ok := k.leaf(n); ok {
			return c
		}
	}
	switch n.Kind() {
	case "identifier":
		return k.name(n, depth)
	case "attribute":
		return k.attribute(n, depth)
	case "subscript":
		return k.at(n.Field("value"), depth+1)
	case "call":
		return k.call(k.p.Call(n), depth)
	case "comparison_operator":
		return min(k.most(n, depth), carriesTensor)
	case "list_comprehension", "set_comprehension", "generator_expression":
		return k.at(n.Field("body"), depth+1)
	case "dictionary_comprehension":
		return k.at(n.Field("body").Field("value"), depth+1)
	case "pair", "keyword_argument", "named_expression":
		return k.at(n.Field("value"), depth+1)
	case "parenthesized_expression", "list", "tuple", "set", "dictionary", "expression_list", "conditional_expression",
		"binary_operator", "unary_operator", "boolean_operator", "list_splat", "dictionary_splat", "await":
		return k.most(n, depth)
	}
	return carriesNothing
}

// most returns what the weightiest part of an expression carries.
func (k carrier) most(n syntax.Node, depth int) carry {
	found := carriesNothing
	for c := range n.Children() {
		found = max(found, k.at(c, depth+1))
	}
	return found
}

// name follows a name to what it was last set to before, or to all that it is ever set to
// where nothing is before.
func (k carrier) name(n syntax.Node, depth int) carry {
	place := k.p.Place(n)
	if place == nil {
		return carriesNothing
	}
	var last *pyscope.Ref
	found := carriesNothing
	for _, r := range place.Stores() {
		if r.How == pyscope.ByParam || r.Value.Ok() && n.In(r.Value) {
			continue
		}
		if r.Kind == pyscope.Store && r.Node.Start() < n.Start() {
			last = r
		}
		found = max(found, k.at(r.Value, depth+4))
	}
	if last != nil && last.Scope == k.p.Scope(n) && last.How == pyscope.ByAssign {
		return k.at(last.Value, depth+4)
	}
	return found
}

// plainAttributes are what a tensor has that is none.
var plainAttributes = []string{"shape", "dtype", "device", "ndim", "grad_fn", "requires_grad", "is_cuda", "is_leaf", "itemsize", "nbytes", "layout", "name", "__class__", "__name__"}

func (k carrier) attribute(n syntax.Node, depth int) carry {
	name := n.Field("attribute").Text()
	switch {
	case slices.Contains(plainAttributes, name):
		return carriesNothing
	case name == "data" || name == "grad":
		return min(k.at(n.Field("object"), depth+1), carriesTensor)
	}
	return k.at(n.Field("object"), depth+1)
}

// plainMethods give numbers, texts and the like.
var plainMethods = []string{
	"item", "tolist", "numpy", "size", "dim", "numel", "stride", "data_ptr", "get_device", "element_size", "nelement", "is_contiguous",
	"is_floating_point", "backward", "format", "join", "keys", "nbytes", "untyped_storage", "storage_offset", "register_hook", "__len__", "allclose", "equal",
}

// holders are builtins whose value has the tensors that it is made of.
var holders = []string{"tuple", "list", "dict", "set", "zip", "enumerate", "sum", "max", "min", "abs", "sorted", "reversed", "copy.copy", "collections.OrderedDict", "next", "iter"}

func (k carrier) call(c *pyscope.Call, depth int) carry {
	switch {
	case c == nil:
		return carriesNothing
	case c.Method != "" && !strings.HasPrefix(c.Name, "torch."):
		return k.method(c, depth)
	case strings.HasPrefix(c.Name, "torch.is_"), c.Name == "torch.numel", c.Name == "torch.allclose", c.Name == "torch.equal":
		return carriesNothing
	case strings.HasPrefix(c.Name, "torch.") || slices.Contains(holders, c.Name):
		return k.most(c.Node.Field("arguments"), depth)
	}
	return carriesNothing
}

func (k carrier) method(c *pyscope.Call, depth int) carry {
	if slices.Contains(plainMethods, c.Method) {
		return carriesNothing
	}
	object := k.at(c.Object, depth+1)
	switch c.Method {
	case "detach", "detach_":
		return min(object, carriesTensor)
	case "cpu":
		return hosted(object)
	case "to":
		if text, ok := literal(c.Arg(0, "device")); ok && strings.HasPrefix(text, "cpu") {
			return hosted(object)
		}
	case "argmax", "argmin", "argsort", "bool", "int", "long":
		return min(object, carriesTensor)
	}
	return object
}

// hosted is a value moved to main memory: a graph stays where it is.
func hosted(c carry) carry {
	if c == carriesTensor {
		return carriesHost
	}
	return c
}
