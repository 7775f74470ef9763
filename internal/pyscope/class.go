package pyscope

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// Class is a class statement.
type Class struct {
	Node    syntax.Node
	Name    string
	Scope   *Scope
	Bases   []string // qualified names, "" for one that is not known; of the module's own classes with a leading "."
	Parents []*Class // the bases that are classes of the module
	Methods []*Function

	stored  map[string]bool // attributes that are assigned through self
	attrs   map[string]*Place
	lineage []*Class
	outer   *Scope
}

// Method returns the method with a name, its own or of a base in the same module; the last
// where there are several.
func (c *Class) Method(name string) *Function {
	for _, k := range c.Lineage() {
		for i := len(k.Methods) - 1; i >= 0; i-- {
			if k.Methods[i].Name == name {
				return k.Methods[i]
			}
		}
	}
	return nil
}

// Attr returns the place of an attribute of self, its own or of a base in the same module;
// nil where the module shows none.
func (c *Class) Attr(name string) *Place {
	for _, k := range c.Lineage() {
		if p := k.own(name); p != nil {
			return p
		}
	}
	return nil
}

func (c *Class) own(name string) *Place {
	if p := c.Scope.Names[name]; p != nil {
		return p
	}
	return c.attrs[name]
}

// attr returns the place of an attribute of self, which it makes where there is none: in the nearest
// class that assigns it.
func (c *Class) attr(name string) *Place {
	owner := c
	for _, k := range c.Lineage() {
		if k.stored[name] || k.Scope.Names[name] != nil {
			owner = k
			break
		}
	}
	if p := owner.own(name); p != nil {
		return p
	}
	p := &Place{Name: name, Class: owner, Scope: owner.Scope}
	owner.attrs[name] = p
	return p
}

// maxLineage bounds how many bases of a class are looked at.
const maxLineage = 64

// Lineage returns the class and all its bases in the module, nearest first.
func (c *Class) Lineage() []*Class {
	if c.lineage != nil {
		return c.lineage
	}
	all := []*Class{c}
	for i := 0; i < len(all) && len(all) < maxLineage; i++ {
		for _, p := range all[i].Parents {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	c.lineage = all
	return all
}

// Is reports whether the class is one of those with the qualified names, or derives from one
// through classes of the module.
func (c *Class) Is(names ...string) bool {
	for _, k := range c.Lineage() {
		for _, b := range k.Bases {
			if slices.Contains(names, b) {
				return true
			}
		}
	}
	return false
}

// IsModule reports whether objects of the class are torch.nn.Modules, as far as the names of
// its bases tell: a base of another module counts that is called so by custom.
func (c *Class) IsModule() bool { return c.anyBase(isModuleName) }

// IsLightning reports whether the class is a LightningModule.
func (c *Class) IsLightning() bool {
	return c.anyBase(func(b string) bool { return lastPart(b) == "LightningModule" })
}

// hasLightningSteps reports whether a trainer runs the class's steps as Lightning does: it is a
// LightningModule, or has steps as one and a base that another file defines.
func (c *Class) hasLightningSteps() bool {
	if c.IsLightning() {
		return true
	}
	steps := c.Method("training_step") != nil && (c.Method("validation_step") != nil || c.Method("test_step") != nil)
	return steps && c.anyBase(func(b string) bool { return !strings.HasPrefix(b, "torch.") && b != "object" })
}

// isCallback reports whether the class is a callback of a trainer.
func (c *Class) isCallback() bool {
	return c.anyBase(func(b string) bool { return strings.HasSuffix(lastPart(b), "Callback") })
}

// IsFunction reports whether the class is a torch.autograd.Function.
func (c *Class) IsFunction() bool {
	return c.Is("torch.autograd.Function", "torch.autograd.function.InplaceFunction")
}

// IsDataset reports whether the class is a dataset of a DataLoader.
func (c *Class) IsDataset() bool {
	return c.anyBase(func(b string) bool { return strings.HasSuffix(lastPart(b), "Dataset") })
}

// anyBase asks about every base that is not a class of the module itself.
func (c *Class) anyBase(want func(string) bool) bool {
	for _, k := range c.Lineage() {
		if slices.ContainsFunc(k.Bases, func(b string) bool { return b != "" && want(b) }) {
			return true
		}
	}
	return false
}

// isModuleName reports whether a class of another module is a torch.nn.Module by its name.
func isModuleName(name string) bool {
	last := lastPart(name)
	switch {
	case name == "torch.nn.Module", last == "LightningModule", last == "PreTrainedModel", last == "ModelMixin", last == "ScriptModule":
		return true
	case strings.HasPrefix(name, "torch.nn.") && last != "" && last[0] >= 'A' && last[0] <= 'Z':
		return last != "Parameter"
	case strings.HasPrefix(name, "."):
		return strings.HasSuffix(last, "Module") || strings.HasSuffix(last, "Model") || strings.HasSuffix(last, "Net")
	}
	return strings.HasSuffix(last, "Module") || strings.HasSuffix(last, "PreTrainedModel")
}
