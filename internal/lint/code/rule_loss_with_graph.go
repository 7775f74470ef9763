package code

import (
	"fmt"
	"regexp"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// microBatches matches what a loop over the parts of one step goes over.
var microBatches = regexp.MustCompile(`(?i)accum|micro|chunk|sub_?batch`)

// checkLossWithGraph looks for sums and moving averages of tensors that carry their graph:
// total += loss, total = total + loss, avg = 0.9 * avg + 0.1 * loss.
func checkLossWithGraph(p *pass) {
	for _, r := range p.Refs {
		for _, value := range p.addends(r) {
			p.sumsGraph(r, value)
		}
	}
}

// sumsGraph reports an addition that keeps a graph.
func (p *pass) sumsGraph(r *pyscope.Ref, value syntax.Node) {
	at := statementOf(r.Node)
	if p.Grad(at).Mode == pyscope.GradOff {
		return
	}
	a, ok := p.adds(at, r.Place, value)
	if !ok || p.isLightningStep(at) && r.Place.Class != nil {
		return
	}
	confidence, ok := p.confidence(a)
	if !ok {
		return
	}
	p.report(at, rules.Mistake{
		Rule: "leak/loss-with-graph", Severity: p.severity(a), Confidence: confidence,
		Message:  fmt.Sprintf("%s is added to %s with its graph, and nothing runs backward on %[2]s", short(value), short(targetOf(at, r.Node))),
		Evidence: p.evidence(a),
		Remedy:   fmt.Sprintf("add %s, and make a number of the sum when it is printed; .item() here makes each step wait for the GPU", detached(value)),
		Related:  startOf(a),
		Fix:      p.detachFix(a, "add"),
	})
}

// startOf is where the place that grows begins.
func startOf(a adding) []rules.Related {
	if a.growth.Reset == nil {
		return nil
	}
	return []rules.Related{related(a.growth.Reset.Node, a.place.String()+" begins here")}
}

// addends returns what a reference adds to its place as a sum.
func (p *pass) addends(r *pyscope.Ref) []syntax.Node {
	switch {
	case r.Kind == pyscope.Augment && adds(r.Node.Parent()) && !isList(r.Value):
		if !r.Place.Container() {
			return []syntax.Node{r.Value}
		}
	case r.Kind == pyscope.Mutate && r.Method == "add_" && !r.Place.Container():
		return []syntax.Node{r.Value}
	case r.Kind == pyscope.Mutate && r.Method == "":
		if s := statementOf(r.Node); s.Is("augmented_assignment") && adds(s) && !isList(r.Value) {
			return []syntax.Node{r.Value}
		}
	case r.Kind == pyscope.Store && r.How == pyscope.ByAssign && r.Part < 0 && r.Node.FieldName() == "left":
		rest, found := p.besides(r.Value, r.Place, 0)
		if found {
			return rest
		}
	}
	return nil
}

// adds reports whether an augmented assignment is += or -=.
func adds(n syntax.Node) bool {
	op := n.Field("operator").Text()
	return op == "+=" || op == "-="
}

func isList(n syntax.Node) bool {
	return n.Is("list", "tuple", "list_comprehension", "expression_list", "string", "concatenated_string")
}

// besides splits a sum into the place, perhaps times something, and the rest. It fails where the
// place is not one of the terms.
func (p *pass) besides(n syntax.Node, place *pyscope.Place, depth int) (rest []syntax.Node, found bool) {
	if depth > 20 {
		return nil, false
	}
	switch n.Kind() {
	case "parenthesized_expression":
		return p.besides(n.Child(0), place, depth+1)
	case "binary_operator":
		left, right := n.Field("left"), n.Field("right")
		switch n.Field("operator").Text() {
		case "+", "-":
			a, inLeft := p.besides(left, place, depth+1)
			b, inRight := p.besides(right, place, depth+1)
			return append(a, b...), inLeft || inRight
		case "*", "/":
			if p.Place(left) == place || p.Place(right) == place {
				return nil, true
			}
		}
	case "call":
		if c := p.Call(n); (c.Method == "add" || c.Name == "torch.add") && len(c.Args()) > 0 {
			return p.besidesInAdd(c, place, depth)
		}
	case "conditional_expression": // x if total is None else total + x
		for _, branch := range []syntax.Node{n.Child(0), n.Child(2)} {
			if rest, found := p.besides(branch, place, depth+1); found {
				return rest, true
			}
		}
	}
	if p.Place(n) == place {
		return nil, true
	}
	return []syntax.Node{n}, false
}

// besidesInAdd is for torch.add(total, x) and total.add(x).
func (p *pass) besidesInAdd(c *pyscope.Call, place *pyscope.Place, depth int) (rest []syntax.Node, found bool) {
	terms := c.Args()
	if c.Name != "torch.add" {
		terms = append([]syntax.Node{c.Object}, terms...)
	}
	for _, t := range terms[:min(2, len(terms))] {
		more, in := p.besides(t, place, depth+1)
		rest, found = append(rest, more...), found || in
	}
	return rest, found
}

// statementOf returns the assignment or call that a target or object is in.
func statementOf(n syntax.Node) syntax.Node {
	for a := range n.Ancestors() {
		if a.Is("assignment", "augmented_assignment", "named_expression", "call", "delete_statement") && !a.Parent().Is("attribute") {
			return a
		}
	}
	return n
}

// targetOf is what an assignment writes to, as it is written.
func targetOf(statement, otherwise syntax.Node) syntax.Node {
	if left := statement.Field("left"); left.Ok() {
		return left
	}
	return otherwise
}
