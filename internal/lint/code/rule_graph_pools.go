package code

import (
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkGraphPools finds CUDA graphs that are captured for each of several shapes without a common pool.
func checkGraphPools(p *pass) {
	for _, c := range p.calls("torch.cuda.graph", "torch.cuda.graphs.graph", "torch.cuda.make_graphed_callables") {
		pool := c.Keyword("pool")
		if c.Name != "torch.cuda.make_graphed_callables" {
			pool = c.Arg(1, "pool")
		}
		if c.Open() || pool.Ok() && !pool.Is("none") {
			continue
		}
		why, ok := p.severalGraphs(c)
		if !ok {
			continue
		}
		p.report(c.Node, rules.Mistake{
			Rule: "frag/graph-pools", Severity: rules.Warning, Confidence: rules.Medium,
			Message:  "each graph that is captured here has a memory pool of its own, as large as its peak",
			Evidence: []string{why},
			Remedy:   "capture all of them into one pool, pool=torch.cuda.graph_pool_handle(), the largest shape first, if no two run at once",
		})
	}
}

// severalGraphs tells why a capture happens several times: it is in a loop, or graphs are kept by a
// key that is made when the program runs.
func (p *pass) severalGraphs(c *pyscope.Call) (why string, ok bool) {
	if l := p.loopStatement(c.Node); l != nil {
		if n, once := p.Int(rangeEnd(p, l)); once && n == 1 {
			return "", false
		}
		if l.Small() && !hasNumber(p.followed(l.Over())) {
			return "", false // a few variants that have names: no sizes
		}
		return fmt.Sprintf("line %d: one for each iteration of the loop", p.Line(l.Node)), true
	}
	f := p.Function(c.Node)
	if f == nil {
		return "", false
	}
	if why, ok := p.keptByCallers(f, c); ok {
		return why, true
	}
	for n := range f.Body().Descendants() {
		if left := n.Field("left"); n.Is("assignment") && left.Is("subscript") && p.keepsGraph(n.Field("right"), c) && !constant(left.Field("subscript")) {
			return fmt.Sprintf("line %d: one is kept for each %s", p.Line(n), short(left.Field("subscript"))), true
		}
	}
	return "", false
}

// keptByCallers tells why what a function captures and returns is there several times: its callers keep it
// by a key that is made when the program runs, or call it for one size after the other.
func (p *pass) keptByCallers(f *pyscope.Function, c *pyscope.Call) (why string, ok bool) {
	if !slices.ContainsFunc(f.Returns, func(r syntax.Node) bool { return p.keepsGraph(r, c) }) {
		return "", false
	}
	for _, k := range f.Callers {
		statement := k.Node
		for statement.Ok() && !statement.Is("assignment", "block", "module") {
			statement = statement.Parent()
		}
		left := statement.Field("left")
		if statement.Is("assignment") && left.Is("subscript") && !constant(left.Field("subscript")) {
			return fmt.Sprintf("line %d: one is kept for each %s", p.Line(statement), short(left.Field("subscript"))), true
		}
	}
	return "", false
}

func hasNumber(n syntax.Node) bool {
	for d := range n.Descendants() {
		if d.Is("integer") {
			return true
		}
	}
	return false
}

// rangeEnd returns the end of the range that a loop goes over; none for others.
func rangeEnd(p *pass, l *pyscope.Loop) syntax.Node {
	if c := p.Call(l.Over()); c != nil && c.Name == "range" && len(c.Args()) == 1 {
		return c.Args()[0]
	}
	return syntax.Node{}
}

// keepsGraph reports whether a value is what a capture makes: the graphed callables, or the graph that
// torch.cuda.graph was given.
func (p *pass) keepsGraph(value syntax.Node, c *pyscope.Call) bool {
	if c.Node.In(value) {
		return true
	}
	if stored := p.storedIn(c.Node); stored != nil {
		return p.mentions(value, stored)
	}
	return c.Name != "torch.cuda.make_graphed_callables" && p.mentions(value, p.Place(c.Arg(0, "cuda_graph")))
}

// constant reports whether an expression is written out.
func constant(n syntax.Node) bool { return n.Is("string", "integer", "none", "true", "false") }
