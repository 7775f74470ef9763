package code

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// setting is a variable of the environment that a source sets.
type setting struct {
	name  string
	value syntax.Node // what it is set to
	node  syntax.Node // the statement, call or pair that sets it
	own   bool        // for this process; else for one that it starts
}

// allocatorVariables are the names under which PyTorch looks for its allocator's settings.
var allocatorVariables = []string{"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"}

func (s setting) forAllocator() bool { return slices.Contains(allocatorVariables, s.name) }

// settings returns the variables that the source sets, in its order.
func (p *pass) settings() []setting {
	return memo(&p.facts.settings, func() []setting {
		var found []setting
		for n := range p.Tree.Root().Descendants() {
			switch n.Kind() {
			case "assignment":
				found = append(found, p.assignedSetting(n)...)
			case "call":
				found = append(found, p.calledSettings(p.Call(n))...)
			case "pair":
				found = append(found, p.pairedSetting(n)...)
			}
		}
		return found
	})
}

// assignedSetting is os.environ["NAME"] = value, or the same with a copy of it.
func (p *pass) assignedSetting(n syntax.Node) []setting {
	left := n.Field("left")
	if !left.Is("subscript") {
		return nil
	}
	name, ok := literal(left.Field("subscript"))
	if !ok || !isVariableName(name) {
		return nil
	}
	switch of := left.Field("value"); {
	case p.isEnviron(of):
		return []setting{{name, n.Field("right"), n, true}}
	case p.isEnvironCopy(of):
		return []setting{{name, n.Field("right"), n, false}}
	}
	return nil
}

func (p *pass) calledSettings(c *pyscope.Call) []setting {
	if c == nil {
		return nil
	}
	switch {
	case c.Name == "os.putenv" || c.Method == "setdefault" && p.isEnviron(c.Object):
		if name, ok := literal(c.Arg(0, "")); ok {
			return []setting{{name, c.Arg(1, ""), c.Node, true}}
		}
	case c.Method == "update" && p.isEnviron(c.Object):
		return keywords(c, true)
	case c.Name == "dict" && len(c.Args()) == 1 && p.isEnviron(c.Args()[0]):
		return keywords(c, false)
	}
	return nil
}

// keywords are the settings that a call makes of its keyword arguments.
func keywords(c *pyscope.Call, own bool) []setting {
	var found []setting
	for a := range c.Node.Field("arguments").Children() {
		if name := a.Field("name").Text(); a.Is("keyword_argument") && isVariableName(name) {
			found = append(found, setting{name, a.Field("value"), a, own})
		}
	}
	return found
}

// pairedSetting is a pair of a dict that is made of os.environ, or given to it, or to a child as env.
func (p *pass) pairedSetting(n syntax.Node) []setting {
	name, ok := literal(n.Field("key"))
	if !ok || !isVariableName(name) {
		return nil
	}
	dict := n.Parent()
	up := dict.Parent()
	if up.Is("argument_list") {
		if c := p.Call(up.Parent()); c != nil && c.Method == "update" && p.isEnviron(c.Object) {
			return []setting{{name, n.Field("value"), n, true}}
		}
	}
	if up.Is("keyword_argument") && up.Field("name").Text() == "env" || p.spreadsEnviron(dict) {
		return []setting{{name, n.Field("value"), n, false}}
	}
	return nil
}

func (p *pass) spreadsEnviron(dict syntax.Node) bool {
	for part := range dict.Children() {
		if part.Is("dictionary_splat") && p.isEnviron(part.Child(0)) {
			return true
		}
	}
	return false
}

func (p *pass) isEnviron(n syntax.Node) bool { return p.Qualified(n) == "os.environ" }

// isEnvironCopy reports whether an expression is a copy of the environment, which is for a child.
func (p *pass) isEnvironCopy(n syntax.Node) bool {
	place := p.Place(n)
	if place == nil {
		return false
	}
	return slices.ContainsFunc(place.Stores(), func(r *pyscope.Ref) bool {
		c := p.Call(r.Value)
		switch {
		case c == nil:
			return p.spreadsEnviron(r.Value)
		case c.Method == "copy":
			return p.isEnviron(c.Object)
		}
		return (c.Name == "dict" || c.Name == "copy.copy" || c.Name == "copy.deepcopy") && len(c.Args()) > 0 && p.isEnviron(c.Args()[0])
	})
}

// isVariableName reports whether a word is one of those that people name variables with.
func isVariableName(name string) bool {
	return len(name) > 2 && strings.IndexFunc(name, func(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9') }) < 0
}
