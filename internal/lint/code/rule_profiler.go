package code

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkProfiler looks for profilers without a schedule that stay on for a whole training: they keep
// every event until they stop.
func checkProfiler(p *pass) {
	var judged tally
	for _, c := range p.calls("torch.profiler.profile", "torch.autograd.profiler.profile", "torch.profiler._KinetoProfile", "torch.profiler.profiler.profile") {
		if judged.over() || c.Open() || given(c.Keyword("schedule")) || dependsOnFlag(c.Arg(0, "enabled")) && c.Name == "torch.autograd.profiler.profile" {
			continue
		}
		long, what := p.profiled(c)
		if !long.Ok() {
			continue
		}
		m := rules.Mistake{
			Rule: "leak/profiler", Severity: rules.Warning, Confidence: rules.Medium,
			Message: fmt.Sprintf("%s has no schedule and records %s: every event stays in memory", short(c.Callee), what),
			Remedy:  "give it schedule=torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=1) and call its step() once in each iteration",
			Related: []rules.Related{related(long, "what it records")},
		}
		if costly := costlyFlags(c); costly != "" {
			m.Evidence = append(m.Evidence, costly+": more is kept of each event")
		}
		p.report(c.Node, m)
	}
}

// dependsOnFlag reports whether a flag is there and depends on something.
func dependsOnFlag(n syntax.Node) bool { return n.Ok() && !n.Is("true") }

// costlyFlags names the options of a profiler that make its events large.
func costlyFlags(c *pyscope.Call) string {
	var on []string
	for _, name := range []string{"record_shapes", "profile_memory", "with_stack"} {
		if c.Keyword(name).Is("true") {
			on = append(on, name)
		}
	}
	return strings.Join(on, ", ")
}

// profiled returns what long work a profiler records; none where it is short, or not known.
func (p *pass) profiled(c *pyscope.Call) (syntax.Node, string) {
	item := c.Node.Parent()
	if item.Is("as_pattern") {
		item = item.Parent()
	}
	if item.Is("with_item") {
		return p.longWork(item.Enclosing("with_statement").Field("body"))
	}
	return p.neverStopped(c)
}

// longWork returns the first loop in a block that goes over a data set, or a call that trains.
func (p *pass) longWork(body syntax.Node) (syntax.Node, string) {
	for _, l := range p.Loops {
		if l.Node.In(body) && l.Node.Is("for_statement", "while_statement") && !l.Small() && !leaves(l) && (goesOverData(l) || l.Node.Is("while_statement")) {
			return l.Node.Child(0), "the whole loop over " + loopOver(l)
		}
	}
	for _, call := range p.Calls {
		if call.Node.In(body) && trains(call) {
			return call.Node, "all of " + short(call.Callee)
		}
	}
	return syntax.Node{}, ""
}

// loopOver names what a loop goes over.
func loopOver(l *pyscope.Loop) string {
	if over := l.Over(); over.Ok() {
		return short(over)
	}
	return "while " + short(l.Node.Field("condition"))
}

// leaves reports whether a loop may be left before its end: it is then mostly a few steps.
func leaves(l *pyscope.Loop) bool {
	for d := range l.Node.Descendants() {
		if d.Is("break_statement", "return_statement") {
			return true
		}
	}
	return false
}

// dataSets matches what people go over in training.
var dataSets = regexp.MustCompile(`(?i)loader|dataset|batches|epochs|train_data|data_iter`)

func goesOverData(l *pyscope.Loop) bool { return dataSets.MatchString(l.Over().Text()) }

// trains reports whether a call is a whole training by its name: trainer.fit(…), train(…). With
// no arguments model.train() is a switch.
func trains(c *pyscope.Call) bool {
	name := lastName(c.Callee)
	switch name {
	case "fit", "run_training", "train_loop", "train_model", "train_epoch", "train_one_epoch", "main":
		return true
	case "train", "learn":
		return len(c.Args()) > 0 && !c.Args()[0].Is("true", "false") || strings.Contains(strings.ToLower(c.Object.Text()), "trainer")
	}
	return false
}

// neverStopped is for a profiler in a name or attribute: it is started, and nothing stops it.
func (p *pass) neverStopped(c *pyscope.Call) (syntax.Node, string) {
	place := p.storedIn(c.Node)
	if place == nil {
		return syntax.Node{}, ""
	}
	var started syntax.Node
	for _, other := range p.Calls {
		if p.Place(other.Object) != place {
			continue
		}
		switch other.Method {
		case "start", "__enter__":
			started = other.Node
		case "stop", "__exit__":
			return syntax.Node{}, ""
		}
	}
	for _, r := range place.Loads() { // whoever else has it may stop it
		if r.Node.Parent().Is("with_item", "as_pattern", "argument_list", "return_statement", "assignment") {
			return syntax.Node{}, ""
		}
	}
	return started, "from its start on, and nothing in the source stops it"
}
