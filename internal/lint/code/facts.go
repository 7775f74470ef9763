package code

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// facts are what several rules ask about a source; each is found once.
type facts struct {
	uses     *[]gpuUse
	settings *[]setting
	spread   *spread
	sizes    *[]randomSize
	main     *syntax.Node
	callsIn  *map[*pyscope.Loop][]*pyscope.Call
	wants    *[]int                             // offsets of what needs gradients
	frozen   *bool                              // parameters are kept from needing them
	asked    *map[*pyscope.Function]syntax.Node // loops around calls by the names of methods
}

// memo returns what is kept, or finds and keeps it.
func memo[T any](kept **T, find func() T) T {
	if *kept == nil {
		found := find()
		*kept = &found
	}
	return **kept
}

// spread is how a source takes part in distributed work.
type spread struct {
	inits   []*pyscope.Call // of init_process_group
	wraps   []*pyscope.Call // in DistributedDataParallel and its like
	cpuOnly bool            // by gloo or mpi alone
}

// wrappers make a model distributed.
var wrappers = []string{
	"torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.distributed.DistributedDataParallel",
	"torch.distributed.fsdp.FullyShardedDataParallel", "torch.distributed.fsdp.fully_shard",
	"torch.distributed._composable.fsdp.fully_shard",
}

// spread returns how the source takes part in distributed work.
func (p *pass) spread() spread {
	return memo(&p.facts.spread, func() spread {
		var s spread
		for _, c := range p.Calls {
			switch {
			case c.Name == "torch.distributed.init_process_group" || c.Name == "torch.distributed.distributed_c10d.init_process_group":
				s.inits = append(s.inits, c)
			case slices.Contains(wrappers, c.Name):
				s.wraps = append(s.wraps, c)
			}
		}
		s.cpuOnly = len(s.inits) > 0 && !slices.ContainsFunc(s.inits, func(c *pyscope.Call) bool { return !onCPU(c) })
		return s
	})
}

// distributed reports whether the source itself sets up several processes with GPUs.
func (s spread) distributed() bool { return (len(s.inits) > 0 || len(s.wraps) > 0) && !s.cpuOnly }

// onCPU reports whether a process group is one for the CPU.
func onCPU(init *pyscope.Call) bool {
	backend, ok := literal(init.Arg(0, "backend"))
	return ok && (backend == "gloo" || backend == "mpi" || backend == "fake")
}

// calls returns the calls of functions by their qualified names.
func (p *pass) calls(names ...string) []*pyscope.Call {
	var found []*pyscope.Call
	for _, c := range p.Calls {
		if c.Name != "" && slices.Contains(names, c.Name) {
			found = append(found, c)
		}
	}
	return found
}

// exclusive reports whether two nodes stand in different branches of one statement, so that no
// run has both.
func exclusive(a, b syntax.Node) bool {
	for statement := range a.Ancestors() {
		if !statement.Is("if_statement", "match_statement", "conditional_expression") || !b.In(statement) {
			continue
		}
		condition := statement.Field("condition")
		if a.In(condition) || b.In(condition) {
			return false
		}
		return arm(statement, a) != arm(statement, b)
	}
	return false
}

// arm returns the part of a branching statement in which a node is.
func arm(statement, n syntax.Node) syntax.Node {
	for part := range statement.Children() {
		if n.In(part) {
			if part.Is("block") && statement.Is("match_statement") {
				return arm(part, n)
			}
			return part
		}
	}
	return statement
}

// condition is one that a node runs under.
type condition struct {
	syntax.Node
	negated bool // it runs where the condition does not hold
}

// conditions returns the conditions of the if statements that a node runs under, from the
// inside out, up to a node.
func conditions(n, up syntax.Node) []condition {
	var found []condition
	child := n
	for a := range n.Ancestors() {
		if a == up || a.Is("function_definition", "lambda") {
			break
		}
		if c := a.Field("condition"); c.Ok() && a.Is("if_statement", "elif_clause") && child.FieldName() != "condition" {
			found = append(found, condition{c, child.FieldName() == "alternative"})
		}
		if a.Is("conditional_expression") && child.Index() != a.Child(1).Index() {
			found = append(found, condition{a.Child(1), child.Index() == a.Child(2).Index()})
		}
		child = a
	}
	return found
}

// ofFirstRank matches conditions under which one rank runs alone.
var ofFirstRank = regexp.MustCompile(`(?i)(rank|process_index)\w*(\(\))?\s*(==\s*0|in\s*[\[({]\s*(-1\s*,\s*)?0)|main_process|is_main\b|is_master|is_primary|rank_?zero|is_first_rank|not\s+[\w.]*rank\b`)

// ofOtherRanks matches conditions under which all ranks but one leave.
var ofOtherRanks = regexp.MustCompile(`(?i)(rank|process_index)\w*(\(\))?\s*(!=\s*0|>\s*0)|not\s+[\w.]*(main_process|is_main|is_master|rank_?zero)`)

// byOneRank reports whether a node runs in one rank only: by the conditions around it, or because the
// others have returned.
func (p *pass) byOneRank(n syntax.Node) bool {
	for _, c := range conditions(n, syntax.Node{}) {
		if text := c.Text() + " " + p.followed(c.Node).Text(); !c.negated && ofFirstRank.MatchString(text) || c.negated && ofOtherRanks.MatchString(text) {
			return true
		}
	}
	if p.othersLeft(n) {
		return true
	}
	f := p.Function(n)
	return f != nil && slices.ContainsFunc(f.Decorators, func(d pyscope.Decorator) bool {
		return strings.Contains(strings.ToLower(d.Node.Text()), "rank_zero")
	})
}

// othersLeft reports whether all ranks but one have returned from a function before a node.
func (p *pass) othersLeft(n syntax.Node) bool {
	f := p.Function(n)
	if f == nil {
		return false
	}
	for d := range f.Body().Descendants() {
		if d.Is("return_statement") && d.Start() < n.Start() {
			for _, c := range conditions(d, f.Node) {
				if !c.negated && ofOtherRanks.MatchString(c.Text()) {
					return true
				}
			}
		}
	}
	return false
}

// mainGuard returns the statement if __name__ == "__main__"; none where there is none.
func (p *pass) mainGuard() syntax.Node {
	return memo(&p.facts.main, func() syntax.Node {
		for s := range p.Tree.Root().Children() {
			if c := s.Field("condition"); s.Is("if_statement") && strings.Contains(c.Text(), "__name__") && strings.Contains(c.Text(), "__main__") {
				return s
			}
		}
		return syntax.Node{}
	})
}

// notebook reports whether the source is one: its top level is the program.
func (p *pass) notebook() bool { return p.Tree.Source.Cells() != nil }

// mentions reports whether an expression uses a place, or a part of it.
func (p *pass) mentions(n syntax.Node, place *pyscope.Place) bool {
	if !n.Ok() || place == nil {
		return false
	}
	for d := range n.Descendants() {
		for q := p.Place(d); q != nil; q = q.Base {
			if q == place {
				return true
			}
		}
	}
	return false
}

// functionsIn returns the functions that an expression hands on: collate of
// partial(collate, pad=0), or a lambda.
func (p *pass) functionsIn(n syntax.Node) []*pyscope.Function {
	if !n.Ok() {
		return nil
	}
	var found []*pyscope.Function
	for _, f := range p.Functions {
		if f.Node == n || slices.ContainsFunc(f.Escapes, func(e syntax.Node) bool { return e.In(n) }) {
			found = append(found, f)
		}
	}
	return found
}

// storedIn returns the place that the value of a call is assigned to, alone; nil where it goes elsewhere.
func (p *pass) storedIn(call syntax.Node) *pyscope.Place {
	n := call
	for n.Parent().Is("parenthesized_expression", "await") {
		n = n.Parent()
	}
	a := n.Parent()
	if !a.Is("assignment", "named_expression") || n.FieldName() != "right" && n.FieldName() != "value" {
		return nil
	}
	left := a.Field("left")
	if a.Is("named_expression") {
		left = a.Field("name")
	}
	return p.Place(left)
}
