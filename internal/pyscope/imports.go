package pyscope

import (
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// imports binds what an import statement brings in.
func (b *builder) imports(n syntax.Node, s *Scope) {
	from := n.Field("module_name").Text()
	if n.Is("future_import_statement") {
		from = "__future__"
	}
	for name := range n.Fields("name") {
		b.importName(n, name, from, s)
	}
	for c := range n.Children() {
		if c.Is("wildcard_import") {
			b.m.Stars = append(b.m.Stars, from)
		}
	}
}

func (b *builder) importName(n, name syntax.Node, from string, s *Scope) {
	target, full := name, name.Text()
	if name.Is("aliased_import") {
		target, full = name.Field("alias"), name.Field("name").Text()
	} else if target.Is("dotted_name") { // import a.b binds a
		target = name.Child(0)
	}
	full = strings.ReplaceAll(full, " ", "")
	switch {
	case n.Is("import_from_statement", "future_import_statement"):
		full = joinImport(from, full)
	case !name.Is("aliased_import"):
		full = target.Text()
	}
	if !target.Is("identifier") {
		return
	}
	if place := s.declare(target.Text()); place != nil && place.imported == "" {
		place.imported = full
	}
	b.ref(Ref{Kind: Store, How: ByImport, Node: target, Value: name, Scope: s, Part: -1, at: n.End()})
}

// joinImport joins the module and the name of a from-import; a relative one keeps its dots.
func joinImport(from, name string) string {
	if strings.HasSuffix(from, ".") {
		return from + name
	}
	return from + "." + name
}

// Qualified returns the full name of what an expression means: "torch.nn.functional.relu" for
// F.relu, also behind F = torch.nn.functional. What the module defines itself begins with
// a dot: ".Net", ".Net.forward"; so does a relative import, ".utils.load". A builtin is its name
// alone. It returns "" where the name is not known to mean one thing: a parameter, a
// variable with several values, a call.
func (m *Module) Qualified(n syntax.Node) string {
	switch n.Kind() {
	case "identifier":
		if r := m.Ref(n); r != nil {
			return m.qualifiedPlace(r.Place)
		}
		return m.unbound(n.Text())
	case "attribute":
		if r := m.Ref(n); r != nil {
			return m.qualifiedPlace(r.Place)
		}
		if base := m.Qualified(n.Field("object")); base != "" {
			return canonical(base + "." + n.Field("attribute").Text())
		}
	case "parenthesized_expression":
		return m.Qualified(n.Child(0))
	}
	return ""
}

// unbound is for a name that the module binds nowhere.
func (m *Module) unbound(name string) string {
	if builtins[name] {
		return name
	}
	if name == "torch" {
		return name
	}
	if len(m.Stars) == 0 {
		return ""
	}
	if full, ok := wellKnown[name]; ok {
		return full
	}
	if len(m.Stars) == 1 {
		return canonical(joinImport(m.Stars[0], name))
	}
	return ""
}

// wellKnown are names that everybody gives the same meaning, for modules that get them from
// another one's star.
var wellKnown = map[string]string{"nn": "torch.nn", "F": "torch.nn.functional", "np": "numpy", "optim": "torch.optim"}

func (m *Module) qualifiedPlace(p *Place) string {
	if !p.qualifiedDone {
		p.qualifiedDone = true // before the answer is there: x = x ends here
		p.qualified = canonical(m.findQualified(p))
	}
	return p.qualified
}

// findQualified looks at all that a place is ever set to. An import counts before
// the None that stands for it where it fails.
func (m *Module) findQualified(p *Place) string {
	switch {
	case p.imported != "":
		return p.imported
	case p.class != nil:
		return "." + p.class.Name
	case p.function != nil && p.function.Class != nil:
		return "." + p.function.Class.Name + "." + p.Name
	case p.function != nil:
		return "." + p.Name
	}
	stores := p.Stores()
	if len(stores) == 0 {
		if p.Base == nil || p.item() {
			return ""
		}
		if base := m.qualifiedPlace(p.Base); base != "" {
			return base + "." + p.Name
		}
		return ""
	}
	return m.agreed(stores)
}

// agreed returns the name that all stores give.
func (m *Module) agreed(stores []*Ref) string {
	name := ""
	for _, r := range stores {
		if r.Value.Is("none") {
			continue
		}
		if r.Kind != Store || r.How != ByAssign || r.Part >= 0 {
			return ""
		}
		one := m.Qualified(r.Value)
		if one == "" || name != "" && one != name {
			return ""
		}
		name = one
	}
	return name
}

// canonical gives things that PyTorch keeps under several names one of them.
func canonical(name string) string {
	if !strings.HasPrefix(name, "torch.") {
		return name
	}
	if full, ok := otherNames[name]; ok {
		return full
	}
	if rest, ok := strings.CutPrefix(name, "torch.nn.modules."); ok {
		if _, last, ok := strings.Cut(rest, "."); ok && last != "" && last[0] >= 'A' && last[0] <= 'Z' {
			return "torch.nn." + last
		}
	}
	return name
}

var otherNames = map[string]string{
	"torch.autograd.no_grad":                                "torch.no_grad",
	"torch.autograd.enable_grad":                            "torch.enable_grad",
	"torch.autograd.set_grad_enabled":                       "torch.set_grad_enabled",
	"torch.autograd.inference_mode":                         "torch.inference_mode",
	"torch.autograd.grad_mode.no_grad":                      "torch.no_grad",
	"torch.autograd.grad_mode.enable_grad":                  "torch.enable_grad",
	"torch.autograd.grad_mode.set_grad_enabled":             "torch.set_grad_enabled",
	"torch.autograd.grad_mode.inference_mode":               "torch.inference_mode",
	"torch.autograd.function.Function":                      "torch.autograd.Function",
	"torch.nn.parallel.data_parallel.DataParallel":          "torch.nn.DataParallel",
	"torch.nn.parallel.DataParallel":                        "torch.nn.DataParallel",
	"torch.nn.parallel.distributed.DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
	"torch.utils.data.dataloader.DataLoader":                "torch.utils.data.DataLoader",
	"torch.utils.data.dataset.Dataset":                      "torch.utils.data.Dataset",
	"torch.concat":                                          "torch.cat",
	"torch.concatenate":                                     "torch.cat",
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
