package code

import (
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkImportContext finds CUDA calls that run when a module is imported: every process that imports it
// pays for a context, needed or not.
func checkImportContext(p *pass) {
	if !p.isLibrary() {
		return
	}
	for _, u := range p.gpuUses() {
		if p.Function(u.Node) != nil || !u.device.sure || !p.neededInside(u.Node) {
			continue
		}
		p.report(u.Node, rules.Mistake{
			Rule: "third/context", Severity: rules.Warning, Confidence: rules.Medium,
			Message:  fmt.Sprintf("%s runs when this module is imported, and makes a CUDA context in every process that does", short(u.Node)),
			Evidence: []string{"the module has definitions only, so that others import it"},
			Remedy:   "make it in a function, when it is first needed",
		})
	}
	for _, c := range p.calls("torch.cuda.get_device_capability", "torch.cuda.get_device_properties", "torch.cuda.get_device_name", "torch.cuda.current_device", "torch.cuda.init") {
		if p.Function(c.Node) != nil {
			continue
		}
		p.report(c.Node, rules.Mistake{
			Rule: "third/context", Severity: rules.Info, Confidence: rules.Medium,
			Message: fmt.Sprintf("%s initialises CUDA when this module is imported; processes that are forked later cannot use it", short(c.Node)),
			Remedy:  "ask in a function, when the answer is first needed",
		})
	}
}

// neededInside reports whether what a statement at the top level makes is for the module's functions
// and classes, rather than a step of a script: it is an attribute of a class, or a function uses it.
func (p *pass) neededInside(n syntax.Node) bool {
	if p.Class(n) != nil {
		return true
	}
	place := p.Place(n.Enclosing("assignment").Field("left"))
	return place != nil && slices.ContainsFunc(place.Loads(), func(r *pyscope.Ref) bool { return p.Function(r.Node) != nil })
}

// isLibrary reports whether a module is there to be imported: it has definitions, and nothing
// at its top level that does a program's work.
func (p *pass) isLibrary() bool {
	if p.notebook() || p.mainGuard().Ok() {
		return false
	}
	defines := false
	for s := range p.Tree.Root().Children() {
		switch s.Kind() {
		case "function_definition", "class_definition", "decorated_definition":
			defines = true
		case "for_statement", "while_statement", "with_statement", "print_statement", "exec_statement":
			return false
		case "expression_statement":
			if p.doesWork(s) {
				return false
			}
		}
	}
	return defines
}

// doesWork reports whether a statement at the top level is a program's: a call for its effect, or
// reading the command line.
func (p *pass) doesWork(s syntax.Node) bool {
	if p.Call(s.Child(0)) != nil {
		return true
	}
	return slices.ContainsFunc(p.Calls, func(c *pyscope.Call) bool { return c.Method == "parse_args" && c.Node.In(s) })
}
