package code

import (
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkListWithGraph looks for tensors that carry their graph and are collected: appended to a list,
// stored under a key that varies, joined with +=.
func checkListWithGraph(p *pass) {
	for _, r := range p.Refs {
		if value := p.collected(r); value.Ok() {
			p.collectsGraph(r, value)
		}
	}
}

func (p *pass) collectsGraph(r *pyscope.Ref, value syntax.Node) {
	at := statementOf(r.Value)
	if p.isLightningStep(at) || p.bounded(r.Place) || p.isHook(p.Function(at)) {
		return
	}
	a, ok := p.adds(at, r.Place, value)
	if !ok {
		p.collectsOnGPU(r, a)
		return
	}
	confidence, ok := p.confidence(a)
	if !ok {
		return
	}
	p.report(at, rules.Mistake{
		Rule: "leak/list-with-graph", Severity: p.severity(a), Confidence: confidence,
		Message:  fmt.Sprintf("%s collects %s with its graph, and nothing runs backward on %[1]s", a.place, short(value)),
		Evidence: p.evidence(a),
		Remedy:   p.collectRemedy(a),
		Related:  startOf(a),
		Fix:      p.detachFix(a, "collect"),
	})
}

// collectsOnGPU is for what has no graph, but stays on the GPU: in a list that nothing empties, or
// until a loop over the data ends.
func (p *pass) collectsOnGPU(r *pyscope.Ref, a adding) {
	if !a.kept.Only(pyscope.Tensor|pyscope.Plain) || !a.kept.Has(pyscope.Tensor) || r.Method == "" {
		return
	}
	if answer, _ := p.OnCUDA(a.value); answer != pyscope.Yes {
		return
	}
	growth := p.Grows(r.Place, a.at)
	if growth == nil {
		return
	}
	a.growth = *growth
	m := rules.Mistake{
		Rule: "leak/list-with-graph", Severity: rules.Info, Confidence: rules.Medium,
		Message:  fmt.Sprintf("%s stays on the GPU in %s, which nothing empties", short(a.value), a.place),
		Evidence: p.evidence(a),
		Remedy:   fmt.Sprintf("collect %s.cpu(), or empty %s when it has been read", short(a.value), a.place),
	}
	if l := growth.Repeat.Loop; p.emptied(r.Place) != nil || r.Place.Root().Scope == p.Scope(a.at) {
		if l == nil || !loopsOver(l, dataHead) {
			return
		}
		m.Confidence = rules.Low
		m.Message = fmt.Sprintf("%s stays on the GPU in %s until the loop has gone over all data", short(a.value), a.place)
	}
	p.report(a.at, m)
}

// collectRemedy: what backward has run on is wanted for its number; the rest is a result, for
// which autograd need not have recorded.
func (p *pass) collectRemedy(a adding) string {
	if a.backward.Ok() {
		return fmt.Sprintf("collect %s, or its value on the CPU", detached(a.value))
	}
	return fmt.Sprintf("run the model under torch.inference_mode(), and collect %s.cpu()", detached(a.value))
}

// collects are the methods by which a list, set or deque takes in one thing or several.
var collects = []string{"append", "appendleft", "extend", "insert", "add"}

// collected returns what a reference adds to a container; none where it is no such thing.
func (p *pass) collected(r *pyscope.Ref) syntax.Node {
	switch {
	case r.Kind == pyscope.Augment && adds(r.Node.Parent()) && (isList(r.Value) || r.Place.Container()):
		return r.Value
	case r.Kind != pyscope.Mutate:
	case r.Method == "" && (r.Place.Container() || p.allocated(r.Place)) && statementOf(r.Node).Is("assignment"):
		if p.keyVaries(statementOf(r.Node).Field("left")) {
			return r.Value
		}
	case r.Method == "append" || r.Method == "appendleft", slices.Contains(collects, r.Method) && r.Place.Container():
		if c := p.Call(statementOf(r.Value)); c != nil && c.Target == nil {
			return r.Value
		}
	}
	return syntax.Node{}
}

// allocated reports whether a place is a tensor that is made to be filled: torch.zeros(n).
func (p *pass) allocated(place *pyscope.Place) bool {
	stores := place.Stores()
	if len(stores) != 1 || stores[0].Part >= 0 {
		return false
	}
	c := p.Call(unwrapped(stores[0].Value))
	return c != nil && slices.Contains([]string{"torch.zeros", "torch.empty", "torch.ones", "torch.full"}, c.Name)
}

// keyVaries reports whether a subscript has another key in each round: history[step] = loss, but not
// logs["loss"] = loss.
func (p *pass) keyVaries(left syntax.Node) bool {
	l := p.Loop(left)
	for key := range left.Fields("subscript") {
		switch {
		case key.Is("string", "integer", "slice"):
		case l == nil && key.Is("identifier", "attribute"), p.variesInAny(l, key), p.isCounter(key):
			return true
		}
	}
	return false
}

func (p *pass) variesInAny(l *pyscope.Loop, key syntax.Node) bool {
	for ; l != nil; l = l.Outer {
		if l.Varies(key) {
			return true
		}
	}
	return false
}

// isCounter reports whether a name is counted up.
func (p *pass) isCounter(n syntax.Node) bool {
	place := p.Place(n)
	return place != nil && slices.ContainsFunc(place.Stores(), func(r *pyscope.Ref) bool { return r.Kind == pyscope.Augment })
}

// isHook reports whether a function is registered as a hook.
func (p *pass) isHook(f *pyscope.Function) bool {
	if f == nil {
		return false
	}
	return slices.ContainsFunc(f.Escapes, func(n syntax.Node) bool {
		c := p.Call(n.Parent().Parent())
		return c != nil && registersHook[c.Method]
	})
}
