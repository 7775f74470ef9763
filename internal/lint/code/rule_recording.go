package code

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
)

const (
	recordHistory = "torch.cuda.memory._record_memory_history"
	dumpSnapshot  = "torch.cuda.memory._dump_snapshot"
	// entriesPosition is that of max_entries among the arguments.
	entriesPosition = 3
)

// recordingKind is what a call of _record_memory_history does.
type recordingKind uint8

const (
	recordsNothing recordingKind = iota // stops, or is not known
	recordsState                        // live blocks only, no events
	recordsBounded
	recordsAll // every event, for ever
)

func kindOfRecording(c *pyscope.Call) recordingKind {
	enabled := c.Arg(0, "enabled")
	text, whole := literal(enabled)
	switch {
	case enabled.Is("none", "false"):
		return recordsNothing
	case whole && text == "state":
		return recordsState
	case c.Open(), enabled.Is("true"), c.Arg(entriesPosition, "max_entries").Ok(), c.Keyword("trace_alloc_max_entries").Ok():
		return recordsBounded
	}
	return recordsAll
}

// stops reports whether a call switches recording off.
func stops(c *pyscope.Call) bool { return c.Arg(0, "enabled").Is("none", "false") }

// checkRecording finds recordings of memory that grow without bound, that begin late, and dumps of what was
// never recorded.
func checkRecording(p *pass) {
	records := p.calls(recordHistory)
	stopped := false
	for _, c := range records {
		stopped = stopped || stops(c)
	}
	for _, c := range records {
		kind := kindOfRecording(c)
		if kind == recordsAll {
			p.reportUnbounded(c, stopped)
		}
		if kind >= recordsBounded {
			p.reportLateStart(c)
		}
	}
	for _, c := range p.calls(dumpSnapshot) {
		p.reportEmptyDump(c, records)
	}
}

func (p *pass) reportUnbounded(c *pyscope.Call, stopped bool) {
	m := rules.Mistake{
		Rule: "rec/unbounded", Severity: rules.Warning, Confidence: rules.High,
		Message:  "memory history is recorded without a limit: every event keeps its stack in main memory as long as the process runs",
		Evidence: []string{"max_entries is not set, and nothing in this file switches the recording off"},
		Remedy:   "pass max_entries, 100_000 to 1_000_000 for a few steps",
	}
	if stopped {
		m.Severity = rules.Info
		m.Evidence = []string{"max_entries is not set; the recording is switched off later"}
	}
	p.report(c.Node, m)
}

// reportLateStart reports what was brought to the GPU before a recording began.
func (p *pass) reportLateStart(c *pyscope.Call) {
	for _, u := range p.gpuUses() {
		if u.Node.Start() >= c.Node.Start() {
			return
		}
		if p.Function(u.Node) != p.Function(c.Node) || exclusive(u.Node, c.Node) || u.Method != "cuda" && u.Method != "to" {
			continue
		}
		p.report(c.Node, rules.Mistake{
			Rule: "rec/late-start", Severity: rules.Info, Confidence: rules.Medium,
			Message:  fmt.Sprintf("the recording begins after %s: nobody will know who allocated that", short(u.Node)),
			Evidence: []string{fmt.Sprintf("line %d: %s", p.Line(u.Node), short(u.Node))},
			Related:  []rules.Related{related(u.Node, "allocated before the recording")},
			Remedy:   "call _record_memory_history before anything is brought to the GPU",
		})
		return
	}
}

// reportEmptyDump reports a dump that holds no events: nothing records in this file, or what did has been
// switched off before.
func (p *pass) reportEmptyDump(c *pyscope.Call, records []*pyscope.Call) {
	m := rules.Mistake{
		Rule: "rec/no-history", Severity: rules.Warning, Confidence: rules.Medium,
		Remedy: "call _record_memory_history(max_entries=…) at the start, and switch it off after the dump",
	}
	last, events := p.lastBefore(c, records), false
	for _, r := range records {
		events = events || kindOfRecording(r) >= recordsBounded
	}
	switch {
	case last != nil && stops(last):
		m.Confidence = rules.High
		m.Message = "the dump comes after the recording was switched off, which forgets all events"
		m.Evidence = []string{fmt.Sprintf("line %d: %s", p.Line(last.Node), short(last.Node))}
		m.Remedy = fmt.Sprintf("dump before line %d", p.Line(last.Node))
	case events || len(records) > 0 && last == nil:
		return
	case last != nil:
		m.Message = `the dump holds no events: enabled="state" records live blocks only`
		m.Evidence = []string{fmt.Sprintf("line %d: %s", p.Line(last.Node), short(last.Node))}
	default:
		m.Message = "the dump holds no events: nothing in this file records memory history"
		if p.Function(c.Node) != nil && !p.mainGuard().Ok() {
			m.Confidence = rules.Low // another module may
		}
	}
	p.report(c.Node, m)
}

// lastBefore returns the last of several calls that comes before a node in the same function.
func (p *pass) lastBefore(c *pyscope.Call, calls []*pyscope.Call) *pyscope.Call {
	var last *pyscope.Call
	for _, k := range calls {
		if k.Node.Start() < c.Node.Start() && p.Function(k.Node) == p.Function(c.Node) && !exclusive(k.Node, c.Node) {
			last = k
		}
	}
	return last
}
