package code

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// aboutDevice matches conditions that ask whether there is a GPU, or which process this is: always so
// where it matters.
var aboutDevice = regexp.MustCompile(`(?i)cuda|device|gpu|accelerator|\brank|_rank|main_process|process_zero|is_master`)

// checkEmptyCache finds empty_cache in loops of steps. In an except clause, between phases and
// between models it is in its place.
func checkEmptyCache(p *pass) {
	for _, c := range p.calls("torch.cuda.empty_cache", "torch.cuda.memory.empty_cache", "torch.accelerator.empty_cache", "torch.accelerator.memory.empty_cache") {
		if handlesError(c.Node) {
			continue
		}
		if l := p.loopStatement(c.Node); l != nil {
			if s := p.stepOf(l); s.hot() && !p.makesModel(l) {
				p.reportEmptyCache(c, l.Node, s, fmt.Sprintf("line %d: each iteration is a step, with %s in line %d", p.Line(l.Node), short(s.node), p.Line(s.node)))
			}
			continue
		}
		if f := p.inStepMethod(c.Node); f != nil {
			both := slices.ContainsFunc(f.Calls, func(k *pyscope.Call) bool { return strings.Contains(k.Method, "generate") })
			p.reportEmptyCache(c, f.Node, step{trains: both, generates: both}, fmt.Sprintf("%s runs for every batch", f.Name))
		}
	}
}

// handlesError reports whether a node stands in an except clause.
func handlesError(n syntax.Node) bool {
	return n.Enclosing("except_clause", "except_group_clause", "function_definition").Is("except_clause", "except_group_clause")
}

// makesModel reports whether a loop goes over models or settings: it loads one, and drops it.
func (p *pass) makesModel(l *pyscope.Loop) bool {
	for _, c := range p.callsIn(l) {
		if c.Method == "from_pretrained" || strings.HasSuffix(c.Name, ".from_pretrained") {
			return true
		}
	}
	return false
}

func (p *pass) reportEmptyCache(c *pyscope.Call, around syntax.Node, s step, why string) {
	m := rules.Mistake{
		Rule: "frag/empty-cache-loop", Severity: rules.Warning, Confidence: rules.Medium,
		Message:  "empty_cache in every step frees no tensor: it hands the cache back, waits for the GPU, and the next step asks for it again",
		Evidence: []string{why},
		Remedy:   "remove it here; call it once where a phase ends, if at all",
	}
	seldom := s.trains && s.generates // two phases take turns in one iteration
	for _, condition := range conditions(c.Node, around) {
		seldom = seldom || !aboutDevice.MatchString(condition.Text())
	}
	if seldom {
		m.Severity = rules.Info
		m.Message = "empty_cache in a loop of steps waits for the GPU and makes the next step ask for its memory again"
	}
	p.report(c.Node, m)
}
