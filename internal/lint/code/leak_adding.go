package code

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// adding is something with a graph that is added to a place which lives on, again and again.
// A naive look for such finds hundreds that are right: sums on which backward is called, sums that
// start anew in each step, values without a graph. What is left here is kept.
type adding struct {
	at       syntax.Node // the statement or call that adds
	place    *pyscope.Place
	value    syntax.Node // what is added
	kept     pyscope.Value
	growth   pyscope.Growth
	backward syntax.Node // where backward runs on the value by itself, which ends what the graph is good for; may be none
	leaves   bool        // the place is given to code that is not seen, which may run backward on it
}

// adds looks at an addition. It fails where the value has no graph, where nothing grows, and
// where backward runs on what has grown.
func (p *pass) adds(at syntax.Node, place *pyscope.Place, value syntax.Node) (adding, bool) {
	a := adding{at: at, place: place, value: value}
	if a.kept = p.Value(value); !a.kept.Has(pyscope.Graph) {
		return a, false
	}
	if p.metered(a) {
		return a, false
	}
	growth := p.Grows(place, at)
	if growth == nil {
		return a, false
	}
	a.growth = *growth
	fate := p.Fate(place)
	if len(fate.Backward) > 0 {
		return a, false
	}
	a.leaves = fate.Leaves.Ok()
	a.backward = p.ownBackward(a)
	return a, true
}

// metered reports whether an object keeps what another part of the program gives it: a meter, of
// whose use the rule about loggers tells at the call.
func (p *pass) metered(a adding) bool {
	if a.place.Class == nil || !a.kept.Node.Ok() {
		return false
	}
	return p.Class(a.kept.Node) != p.Class(a.at)
}

// ownBackward returns where backward runs on a value, or on something made of the same names, in each
// round of what repeats the addition.
func (p *pass) ownBackward(a adding) syntax.Node {
	var elsewhere syntax.Node
	for _, n := range p.madeOf(a.value, 0) {
		stores, _ := p.StoresAt(n)
		for _, back := range p.Fate(p.Place(n)).Backward {
			switch {
			case !p.sameRound(a, back) || p.detachedAfter(back, stores):
			case p.Function(back) == p.Function(a.at):
				return back
			case !elsewhere.Ok():
				elsewhere = back
			}
		}
	}
	return elsewhere
}

// madeOf returns the names with a graph that a value is made of: those in it, those in what is
// assigned to them where that is a dict or a list, and those that a function of the file returns.
func (p *pass) madeOf(value syntax.Node, depth int) []syntax.Node {
	var found []syntax.Node
	for n := range value.Descendants() {
		if r := p.Ref(n); r != nil && r.Kind == pyscope.Load && p.Value(n).Has(pyscope.Graph) {
			found = append(found, n)
			found = append(found, p.madeOfStored(n, depth)...)
		}
		if c := p.Call(n); c != nil && c.Target != nil && c.Class == nil && depth < 2 {
			for _, r := range c.Target.Returns {
				found = append(found, p.madeOf(r, depth+1)...)
			}
		}
	}
	return found
}

func (p *pass) madeOfStored(n syntax.Node, depth int) []syntax.Node {
	var found []syntax.Node
	stores, _ := p.StoresAt(n)
	for _, r := range stores {
		if depth >= 2 {
			break
		}
		for _, v := range p.storedParts(r) {
			found = append(found, p.madeOf(v, depth+1)...)
		}
	}
	return found
}

// storedParts returns what a store takes its value from, where that is a dict or a list that is
// written out, or what a function of the file returns.
func (p *pass) storedParts(r *pyscope.Ref) []syntax.Node {
	if r.Value.Is("dictionary", "list", "tuple") && r.Part < 0 {
		return []syntax.Node{r.Value}
	}
	c := p.Call(r.Value)
	if c == nil || c.Target == nil || c.Class != nil {
		return nil
	}
	if r.Part < 0 {
		return c.Target.Returns
	}
	var parts []syntax.Node
	for _, result := range c.Target.Returns {
		if all := slices.Collect(result.Children()); r.Part < len(all) && result.Is("tuple", "expression_list") {
			parts = append(parts, all[r.Part])
		}
	}
	return parts
}

// detachedAfter reports whether what backward runs on gets another value without a graph right
// behind it, among the stores that reach its use: loss.backward(), loss = loss.detach().
func (p *pass) detachedAfter(back syntax.Node, stores []*pyscope.Ref) bool {
	for _, r := range stores {
		statement := statementOf(r.Node).Parent()
		if statement.Is("expression_statement") && back.In(statement.Parent()) && back.Start() < r.Node.Start() && !p.Value(r.Value).Has(pyscope.Graph) {
			return true
		}
	}
	return false
}

// sameRound reports whether backward runs within a loop that repeats the addition, and in which
// the place does not start anew; in another function it may.
func (p *pass) sameRound(a adding, back syntax.Node) bool {
	l := a.growth.Repeat.Loop
	if l == nil || p.Function(back) != p.Function(a.at) {
		return true
	}
	for ; l != nil; l = l.Outer {
		if l.Has(back) {
			return true
		}
		if r := a.growth.Reset; l.Outer != nil && r != nil && l.Outer.Has(r.Node) && a.growth.Where != pyscope.Sometimes {
			break
		}
	}
	return false
}

// confidence tells how likely it is that what is kept is not wanted. A value on which backward
// has run is kept for its number only. Without that, over batches, or in a step, something is
// amiss if the value's graph is certain; in other loops, and where the sum leaves, it may be
// what a forward is made of.
func (p *pass) confidence(a adding) (rules.Confidence, bool) {
	c := rules.Low
	switch {
	case a.backward.Ok() && a.kept.Sure:
		c = rules.High
	case a.backward.Ok():
		c = rules.Medium
	case p.overBatches(a), p.forGood(a), p.forNothing(a):
		c = rules.Medium
	case a.leaves || !a.kept.Sure || p.inForward(a.at):
		return c, false
	}
	if p.Grad(a.at).Mode == pyscope.GradUnknown && !a.backward.Ok() {
		c = rules.Low
	}
	if a.growth.Where == pyscope.Elsewhere {
		c = min(c, rules.Medium)
	}
	return c, true
}

// forGood reports whether the place lives as long as an object, and nothing empties it.
func (p *pass) forGood(a adding) bool {
	if a.place.Root().Class == nil || !a.kept.Sure || len(a.place.Mutations()) == 0 || p.emptied(a.place) != nil {
		return false
	}
	f := p.Function(a.at)
	return f != nil && f.Name != "__init__" && !p.inForward(a.at) && !p.ofUnknownClass(a.at)
}

// forNothing reports whether a script makes graphs that are certain, and has nothing that goes
// back through them: what is collected there is a result. A method may be called by who does go
// back.
func (p *pass) forNothing(a adding) bool {
	if !a.kept.Sure || a.leaves && !p.byGlobalModel(a) || p.Class(a.at) != nil {
		return false
	}
	return !p.goesBack()
}

// byGlobalModel reports whether the graph comes from a model that the file makes at its top, in a loop over slices of
// data: a script's own model, whoever gets the result.
func (p *pass) byGlobalModel(a adding) bool {
	c, l := p.Call(a.kept.Node), a.growth.Repeat.Loop
	if c == nil || l == nil || !p.overSlices(l) {
		return false
	}
	place := p.Place(c.Callee)
	return place != nil && place.Scope == p.Top && p.Value(c.Callee).Only(pyscope.NetModule)
}

// goesBack reports whether anything in the file goes back through a graph.
func (p *pass) goesBack() bool {
	return slices.ContainsFunc(p.Calls, func(c *pyscope.Call) bool {
		return isBackward(c) || c.Method == "manual_backward" || c.Name == "torch.autograd.grad"
	})
}

// dataHead matches what yields data a batch at a time, by its name.
var dataHead = regexp.MustCompile(`(?i)loader|dataset|_dl$|^dl$|data_?iter|batch_?iter|^batches$|^(train|test|val|valid|eval)_?(data|set|iter)$`)

// overBatches reports whether the repetition is one over data: a loop over a loader, or one that
// makes updates; or a function that is called for each step. A value that is only by its name the
// result of a model counts in a loop over what is called a loader.
func (p *pass) overBatches(a adding) bool {
	l := a.growth.Repeat.Loop
	switch {
	case l == nil:
		return a.kept.Sure && !p.inForward(a.at)
	case p.Type(l.Over()) == "torch.utils.data.DataLoader":
		return true
	case p.inForward(a.at) || !a.kept.Sure && p.ofUnknownClass(a.at):
		return loopsOver(l, loaderNames)
	}
	return loopsOver(l, dataHead) || a.kept.Sure && (batches.MatchString(l.Node.Field("left").Text()) || !a.leaves && p.overSlices(l) || p.stepOf(l).trains)
}

// ofUnknownClass reports whether a node is in a class with a base from another file, which may
// call it with gradients off.
func (p *pass) ofUnknownClass(n syntax.Node) bool {
	class := p.Class(n)
	return class != nil && slices.ContainsFunc(class.Lineage(), func(c *pyscope.Class) bool {
		return len(c.Bases) > len(c.Parents) && !slices.Contains(c.Bases, "object")
	})
}

// overSlices reports whether a loop goes over slices of data: range(0, len(texts), 32).
func (p *pass) overSlices(l *pyscope.Loop) bool {
	for c := range l.Over().Descendants() {
		if call := p.Call(c); call != nil && call.Name == "range" && len(call.Args()) == 3 {
			return true
		}
	}
	return false
}

// loaderNames matches the names of loaders alone.
var loaderNames = regexp.MustCompile(`(?i)loader`)

// loopsOver reports whether a loop goes over something of a name; counting its parts, as
// range(len(batches)) does, is not going over it.
func loopsOver(l *pyscope.Loop, names *regexp.Regexp) bool {
	for n := range l.Over().Descendants() {
		if n.Is("identifier") && names.MatchString(n.Text()) && !counted(n, l.Over()) {
			return true
		}
	}
	return false
}

func counted(n, over syntax.Node) bool {
	for up := range n.Ancestors() {
		if name := up.Field("function").Text(); up.Is("call") && (name == "range" || name == "len") {
			return true
		}
		if up == over {
			break
		}
	}
	return false
}

// inForward reports whether a node is in what computes a module's result, where loops go over layers
// and time.
func (p *pass) inForward(n syntax.Node) bool {
	for f := p.Function(n); f != nil; f = f.Outer {
		if f.Class != nil && f.Class.IsModule() && !isStepName(f.Name) {
			return true
		}
	}
	return false
}

func isStepName(name string) bool {
	return slices.Contains([]string{"training_step", "validation_step", "test_step", "train_step", "fit", "train_model", "evaluate"}, name)
}

// severity is less where the place starts anew after a few steps.
func (p *pass) severity(a adding) rules.Severity {
	l := a.growth.Repeat.Loop
	if a.growth.Where == pyscope.Sometimes && !p.firstOnly(a) || l != nil && a.growth.Where == pyscope.Outer && microBatches.MatchString(l.Over().Text()) {
		return rules.Info
	}
	return rules.Warning
}

// firstOnly reports whether a place starts anew only where it has no value yet: if self.average is None.
func (p *pass) firstOnly(a adding) bool {
	l, without := a.growth.Repeat.Loop, a.place.String()+" is None"
	if l == nil {
		return false
	}
	for _, r := range a.place.Stores() {
		if r.Kind != pyscope.Store || !l.Has(r.Node) || p.mentions(r.Value, a.place) {
			continue
		}
		if !slices.ContainsFunc(conditions(r.Node, l.Node), func(c condition) bool { return !c.negated && c.Text() == without }) {
			return false
		}
	}
	return true
}

// evidence says why the rules take it for a mistake, a line each.
func (p *pass) evidence(a adding) []string {
	lines := []string{"it runs again and again: " + a.growth.Repeat.Why}
	switch r := a.growth.Reset; {
	case r == nil:
		lines = append(lines, fmt.Sprintf("nothing in the file starts %s anew", a.place))
	case a.growth.Where == pyscope.Before:
		lines = append(lines, fmt.Sprintf("line %d: %s begins outside of the repetition", p.Line(r.Node), a.place))
	case a.growth.Where == pyscope.Elsewhere:
		lines = append(lines, fmt.Sprintf("line %d: %s starts anew in another function", p.Line(r.Node), a.place))
	case a.growth.Where == pyscope.Sometimes:
		lines = append(lines, fmt.Sprintf("line %d: %s starts anew on a condition only", p.Line(r.Node), a.place))
	default:
		lines = append(lines, fmt.Sprintf("line %d: %s starts anew in an outer loop only", p.Line(r.Node), a.place))
	}
	if a.backward.Ok() {
		lines = append(lines, fmt.Sprintf("line %d: backward runs on it here; nothing runs backward on %s", p.Line(a.backward), a.place))
	}
	if a.kept.Why != "" {
		lines = append(lines, "its graph comes from: "+a.kept.Why)
	}
	return lines
}

// detachFix detaches what is added, where backward has run on it already, so that nothing can want
// its graph from the sum.
func (p *pass) detachFix(a adding, verb string) *rules.Fix {
	if !a.backward.Ok() || a.leaves || !p.sureTensor(a) {
		return nil
	}
	fix := &rules.Fix{What: verb + " " + detached(a.value)}
	switch a.value.Kind() {
	case "identifier", "attribute", "call", "subscript":
		fix.Edits = []rules.Edit{{Start: a.value.End(), End: a.value.End(), Text: ".detach()"}}
	default:
		fix.Edits = []rules.Edit{{Start: a.value.Start(), End: a.value.Start(), Text: "("}, {Start: a.value.End(), End: a.value.End(), Text: ").detach()"}}
	}
	return fix
}

// sureTensor reports whether the value is a tensor itself, not a tuple or dict with some in it.
func (p *pass) sureTensor(a adding) bool {
	return a.kept.Only(pyscope.Graph) && len(p.backwardOf(a.value)) > 0 || a.value.Is("binary_operator") && a.kept.Only(pyscope.Graph)
}

// backwardOf returns where backward is called on just this name.
func (p *pass) backwardOf(n syntax.Node) []syntax.Node {
	if place := p.Place(n); place != nil {
		return p.Backward(place)
	}
	return nil
}

// detached is a value with .detach() behind it, as it would be written.
func detached(n syntax.Node) string {
	if n.Is("identifier", "attribute", "call", "subscript") {
		return short(n) + ".detach()"
	}
	return "(" + short(n) + ").detach()"
}
