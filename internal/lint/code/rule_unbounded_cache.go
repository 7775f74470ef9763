package code

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkUnboundedCache looks for dicts of the module or a class that are given tensors under keys that
// never end: an address, an id, a step. Under a shape there are as many entries as shapes, which
// is worth knowing.
func checkUnboundedCache(p *pass) {
	for _, s := range p.Top.Names {
		p.cachePlace(s)
	}
	for _, class := range p.Classes {
		for _, s := range class.Scope.Names {
			p.cachePlace(s)
		}
	}
}

// cachePlace judges a name that may be a cache.
func (p *pass) cachePlace(place *pyscope.Place) {
	if !p.emptyDict(place) || p.handedOn(place) {
		return
	}
	for _, r := range place.Mutations() {
		target := r.Node.Parent()
		if r.Method != "" || !target.Is("subscript") || p.Function(target) == nil || !r.Value.Ok() {
			continue
		}
		endless, what := p.keyKind(target.Field("subscript"), 0)
		if what == "" || !p.keepsTensor(r.Value) {
			continue
		}
		m := rules.Mistake{
			Rule: "leak/unbounded-cache", Severity: rules.Info, Confidence: rules.Medium,
			Message: fmt.Sprintf("%s keeps a tensor for each %s that it meets, and nothing takes one out", place.Name, what),
			Remedy:  "bound it (an OrderedDict that drops its oldest entry), or tie an entry to what it was made from: weakref.finalize(x, cache.pop, key, None)",
			Related: []rules.Related{related(place.Stores()[0].Node, "it lives as long as the process")},
		}
		if endless {
			m.Severity = rules.Warning
		}
		p.report(target.Parent(), m)
	}
}

// emptyDict reports whether a place is only ever set to an empty dict, where it is defined.
func (p *pass) emptyDict(place *pyscope.Place) bool {
	stores := place.Stores()
	if len(stores) != 1 || stores[0].How != pyscope.ByAssign || p.Function(stores[0].Node) != nil || stores[0].Part >= 0 {
		return false
	}
	value := stores[0].Value
	if value.Is("dictionary") {
		return !value.Child(0).Ok()
	}
	c := p.Call(value)
	return c != nil && (c.Name == "dict" || c.Name == "collections.OrderedDict" || c.Name == "collections.defaultdict")
}

// handedOn reports whether something takes entries out of a cache, or may: it is given to others, or
// one of its methods is.
func (p *pass) handedOn(place *pyscope.Place) bool {
	for _, r := range place.Refs {
		if r.Kind == pyscope.Shrink || r.Kind == pyscope.Delete {
			return true
		}
		if r.Kind != pyscope.Load {
			continue
		}
		parent := r.Node.Parent()
		switch {
		case parent.Is("subscript", "comparison_operator", "not_operator", "if_statement", "for_statement"):
		case parent.Is("attribute") && parent.Parent().Is("call") && parent.FieldName() == "function":
		case parent.Is("argument_list") && p.Call(parent.Parent()).Name == "len":
		default:
			return true
		}
	}
	return false
}

var (
	endlessKey = regexp.MustCompile(`(^|\W)id\(|data_ptr\(|_ptr$|(^|_)(global_)?step$|(^|_)(iter|iteration|batch_idx|request_id|uuid)$`)
	shapeKey   = regexp.MustCompile(`\.shape|\.size\(|\.numel\(|(^|\W)len\(|seq_?len|(^|_)(length|batch_size)$`)
)

// keyKind returns what a key is made of, and whether that never ends; empty where it is a name, a
// type or anything else of which there are few.
func (p *pass) keyKind(key syntax.Node, depth int) (endless bool, what string) {
	text := key.Text()
	switch {
	case strings.Contains(text, "id(") && endlessKey.MatchString(text), strings.Contains(text, "data_ptr("), strings.HasSuffix(text, "_ptr"):
		return true, "object"
	case endlessKey.MatchString(text):
		return true, "step"
	case shapeKey.MatchString(text):
		return false, "shape"
	}
	place := p.Place(key)
	if place == nil || depth > 3 || !key.Is("identifier") {
		return false, ""
	}
	for _, r := range place.Stores() {
		if r.How == pyscope.ByAssign && r.Value.Ok() {
			return p.keyKind(r.Value, depth+1)
		}
	}
	return false, ""
}

// keepsTensor reports whether what is stored is sure to have tensors in it.
func (p *pass) keepsTensor(n syntax.Node) bool {
	k := carrier{p: p, leaf: func(n syntax.Node) (carry, bool) {
		c := p.Call(n)
		if c == nil {
			return carriesNothing, false
		}
		if madeByTorch(c) || c.Method == "detach" || c.Method == "contiguous" || c.Method == "cuda" || c.Method == "clone" || c.Method == "norm" {
			return carriesTensor, true
		}
		return carriesNothing, false
	}}
	return k.of(n) >= carriesTensor
}
