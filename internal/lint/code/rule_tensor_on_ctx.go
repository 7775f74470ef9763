package code

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkTensorOnCtx looks at what the forward of an autograd Function stores on ctx. An output
// there makes a cycle, output → node → ctx → output, that only the collector frees. Another tensor
// dies with the graph; it only stays longer than it would have to, and escapes checkpointing.
func checkTensorOnCtx(p *pass) {
	for _, class := range p.Classes {
		if !class.IsFunction() {
			continue
		}
		for _, name := range []string{"forward", "setup_context"} {
			if f := class.Method(name); f != nil && f.Class == class && len(f.Params) > 0 {
				p.ctxStores(class, f)
			}
		}
	}
}

func (p *pass) ctxStores(class *pyscope.Class, f *pyscope.Function) {
	ctx := f.Params[0].Name
	k := p.ctxCarrier(f)
	for d := range f.Body().Descendants() {
		if !d.Is("assignment") || p.Function(d) != f {
			continue
		}
		targets, values := pairs(d.Field("left"), d.Field("right"))
		for i, target := range targets {
			if attributeOf(target, ctx) && !droppedLater(class, target.Field("attribute").Text()) {
				p.ctxStore(f, d, target, values[i], k)
			}
		}
	}
}

// pairs returns the targets and values of an assignment, one by one where it has several.
func pairs(left, right syntax.Node) (targets, values []syntax.Node) {
	if left.Is("pattern_list", "tuple_pattern") && right.Is("expression_list", "tuple") {
		ls, rs := slices.Collect(left.Children()), slices.Collect(right.Children())
		if len(ls) == len(rs) {
			return ls, rs
		}
	}
	return []syntax.Node{left}, []syntax.Node{right}
}

func (p *pass) ctxStore(f *pyscope.Function, statement, target, value syntax.Node, k carrier) {
	m := rules.Mistake{
		Rule:   "leak/tensor-on-ctx",
		Remedy: fmt.Sprintf("pass it to %s.save_for_backward(…) and take it from %[1]s.saved_tensors in backward", f.Params[0].Name),
	}
	switch {
	case isOutput(f, target, value):
		m.Severity, m.Confidence = rules.Warning, rules.High
		m.Message = fmt.Sprintf("%s keeps an output of forward, which refers to its node and so back to %s: a cycle that only Python's collector frees", target.Text(), f.Params[0].Name)
	case k.of(value) >= carriesTensor:
		m.Severity, m.Confidence = rules.Info, rules.Medium
		m.Message = fmt.Sprintf("%s keeps a tensor as long as the graph lives, not only until backward has used it", target.Text())
	default:
		return
	}
	p.report(statement, m)
}

// isOutput reports whether what is stored is what forward returns: the same name, or returned as
// ctx.y itself.
func isOutput(f *pyscope.Function, target, value syntax.Node) bool {
	for _, r := range f.Returns {
		parts := []syntax.Node{r}
		if r.Is("tuple", "expression_list") {
			parts = slices.Collect(r.Children())
		}
		for _, part := range parts {
			if part.Text() == target.Text() || holdsName(value, part.Text()) {
				return true
			}
		}
	}
	return false
}

// holdsName reports whether a value is a name, or a tuple, list or dict with it.
func holdsName(value syntax.Node, name string) bool {
	switch {
	case value.Is("identifier"):
		return value.Text() == name
	case value.Is("tuple", "list", "expression_list", "dictionary"):
		for part := range value.Children() {
			if part.Is("pair") {
				part = part.Field("value")
			}
			if holdsName(part, name) {
				return true
			}
		}
	}
	return false
}

// droppedLater reports whether backward takes the attribute away again.
func droppedLater(class *pyscope.Class, attribute string) bool {
	f := class.Method("backward")
	if f == nil || len(f.Params) == 0 {
		return false
	}
	name := f.Params[0].Name + "." + attribute
	for d := range f.Body().Descendants() {
		switch {
		case d.Is("delete_statement") && strings.Contains(d.Text(), name):
			return true
		case d.Is("assignment") && d.Field("left").Text() == name && d.Field("right").Is("none"):
			return true
		}
	}
	return false
}

// ctxCarrier tells what values in a forward are tensors: parameters that are annotated or saved as
// such, and what is made of them or by torch.
func (p *pass) ctxCarrier(f *pyscope.Function) carrier {
	tensors := map[*pyscope.Place]bool{}
	for _, param := range f.Params[1:] {
		if strings.Trim(param.Type.Text(), `"'`) == "Tensor" || param.Type.Text() == "torch.Tensor" {
			tensors[p.Place(param.Node)] = true
		}
	}
	for _, c := range f.Calls {
		switch {
		case c.Method == "save_for_backward":
			for _, a := range c.Args() {
				tensors[p.Place(a)] = true
			}
		case tensorMethods[c.Method] && c.Object.Is("identifier"):
			tensors[p.Place(c.Object)] = true
		}
	}
	delete(tensors, nil)
	return carrier{p: p, leaf: func(n syntax.Node) (carry, bool) {
		if c := p.Call(n); c != nil && madeByTorch(c) {
			return carriesTensor, true
		}
		if place := p.Place(n); n.Is("identifier") && tensors[place] {
			return carriesTensor, true
		}
		return carriesNothing, false
	}}
}

// tensorMethods are methods that only tensors have.
var tensorMethods = map[string]bool{
	"new_empty": true, "new_zeros": true, "new_ones": true, "new_full": true, "clone": true, "contiguous": true, "size": true, "detach": true,
	"requires_grad_": true, "expand_as": true, "view_as": true, "masked_fill": true, "mul_": true, "add_": true, "zero_": true,
}

// madeByTorch reports whether a call is a function of torch that makes a tensor.
func madeByTorch(c *pyscope.Call) bool {
	name, ok := strings.CutPrefix(c.Name, "torch.")
	if !ok {
		return false
	}
	if rest, ok := strings.CutPrefix(name, "nn.functional."); ok {
		name = rest
	}
	return factories[name]
}

// factories are functions of torch that are used to make a tensor, or one of others.
var factories = map[string]bool{
	"tensor": true, "empty": true, "zeros": true, "ones": true, "full": true, "rand": true, "randn": true, "randint": true, "arange": true, "linspace": true,
	"empty_like": true, "zeros_like": true, "ones_like": true, "full_like": true, "rand_like": true, "randn_like": true, "from_numpy": true, "as_tensor": true,
	"matmul": true, "mm": true, "bmm": true, "einsum": true, "exp": true, "log": true, "sigmoid": true, "tanh": true, "softmax": true, "relu": true, "gelu": true,
	"cat": true, "stack": true, "where": true, "sum": true, "mean": true, "sqrt": true, "rsqrt": true, "abs": true, "sign": true, "clamp": true, "conv2d": true,
	"log_softmax": true, "nonzero": true, "argmax": true, "topk": true, "sort": true, "argsort": true, "cumsum": true, "max": true, "min": true, "norm": true,
	"sin": true, "cos": true, "pow": true, "eye": true, "gather": true, "index_select": true, "linear": true, "one_hot": true, "unfold": true, "pad": true,
}
