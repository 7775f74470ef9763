package pyscope

import (
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// item is the value under a constant key: followed through names and calls to the literals that
// have the key written out.
func (e *evaluator) item(n, key syntax.Node) Value {
	if k, ok := e.m.Int(key); ok {
		return e.part(n, k)
	}
	return e.under(n, strings.Trim(key.Text(), `"'`))
}

func (e *evaluator) under(n syntax.Node, key string) Value {
	return e.ask(n, question{n.Index(), -1, key}, func(n syntax.Node) Value { return e.findUnder(n, key) })
}

func (e *evaluator) findUnder(n syntax.Node, key string) Value {
	var from []syntax.Node
	switch n.Kind() {
	case "dictionary":
		for c := range n.Children() {
			if c.Is("pair") && strings.Trim(c.Field("key").Text(), `"'`) == key {
				return e.value(c.Field("value"))
			}
		}
	case "identifier", "attribute":
		from = e.storedValues(n)
	case "call":
		if c := e.m.Call(n); c.Target != nil && c.Class == nil {
			from = c.Target.Returns
		}
	}
	v := Value{}
	for _, f := range from {
		v = v.and(e.under(f, key))
	}
	if len(from) == 0 {
		v = e.value(n)
		v.Type = ""
	}
	return v
}

// storedValues returns what is stored to a name, where it is whole values only.
func (e *evaluator) storedValues(n syntax.Node) []syntax.Node {
	refs, _ := e.m.StoresAt(n)
	var found []syntax.Node
	for _, r := range refs {
		if r.Kind != Store || r.How != ByAssign || r.Part >= 0 || !r.Value.Ok() {
			return nil
		}
		found = append(found, r.Value)
	}
	return found
}

// part is one of several values that are unpacked.
func (e *evaluator) part(n syntax.Node, part int) Value {
	return e.ask(n, question{n.Index(), part, ""}, func(n syntax.Node) Value { return e.findPart(n, part) })
}

func (e *evaluator) findPart(n syntax.Node, part int) Value {
	if all := elements(n); all != nil && !hasSplat(all) {
		if part < len(all) {
			return e.value(all[part])
		}
		return Value{May: Unknown}
	}
	if c := e.m.Call(n); c != nil {
		return e.partOfCall(c, part)
	}
	if n.Is("identifier") {
		if from := e.storedValues(n); len(from) == 1 && (elements(from[0]) != nil || from[0].Is("call")) {
			return e.part(from[0], part)
		}
	}
	v := e.value(n)
	v.Type = ""
	return v
}

func (e *evaluator) partOfCall(c *Call, part int) Value {
	if c.Target != nil && c.Class == nil && len(c.Target.Returns) > 0 {
		v := Value{}
		for _, r := range c.Target.Returns {
			if r.Is("none") { // an early return, which could not be unpacked
				continue
			}
			v = v.and(e.part(r, part))
		}
		return v
	}
	if part == 1 && (withIndices[c.Method] || withIndices[lastPart(c.Name)]) {
		return Value{May: Tensor}
	}
	v := e.value(c.Node)
	v.Type = ""
	return v
}

// element is what a for takes from what it iterates over; part tells which, where that is unpacked.
func (e *evaluator) element(n syntax.Node, part int) Value {
	c := e.m.Call(n)
	if c == nil {
		return e.elementOf(n, part)
	}
	args := c.Args()
	switch {
	case c.Target != nil && len(c.Target.Yields) > 0:
		return e.yielded(c.Target, part)
	case part == 0 && strings.HasPrefix(c.Method, "named_"):
		return Value{May: Plain}
	case c.Name == "range":
		return Value{May: Plain}
	case c.Name == "enumerate" && part == 0 && len(args) > 0:
		return Value{May: Plain}
	case c.Name == "enumerate" && len(args) > 0:
		return e.element(args[0], -1)
	case c.Name == "zip" && part >= 0 && part < len(args):
		return e.element(args[part], -1)
	case c.Method == "items" && part == 0, c.Method == "keys":
		return Value{May: Plain}
	case c.Method == "items" || c.Method == "values":
		return e.value(c.Object)
	case lastPart(c.Name) == "tqdm" && len(args) > 0, c.Name == "reversed" && len(args) > 0:
		return e.element(args[0], part)
	}
	return e.elementOf(n, part)
}

// yielded is what a generator of the module yields.
func (e *evaluator) yielded(f *Function, part int) Value {
	v := Value{}
	for _, y := range f.Yields {
		if part >= 0 {
			v = v.and(e.part(y, part))
		} else {
			v = v.and(e.value(y))
		}
	}
	return v
}

// elementOf: a loader gives data, a list what it holds.
func (e *evaluator) elementOf(n syntax.Node, part int) Value {
	v := e.value(n)
	if v.Type == "torch.utils.data.DataLoader" || soundsLikeLoader(n) {
		return Value{May: Tensor}
	}
	if part >= 0 && elements(n) != nil {
		v := Value{}
		for _, x := range elements(n) {
			v = v.and(e.part(x, part))
		}
		return v
	}
	v.Type = ""
	return v
}
