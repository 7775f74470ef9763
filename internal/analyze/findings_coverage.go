package analyze

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
)

// coverageFindings tell what the recording lacks, and how to record it next time.
func (x *Explanation) coverageFindings() []rules.Finding {
	var list []rules.Finding
	add := func(rule string, title string, evidence ...string) {
		list = append(list, rules.Finding{Rule: rule, Severity: rules.Info, Confidence: rules.High, Event: -1, Title: title, Evidence: evidence})
	}
	c := &x.Coverage
	if t := x.TL.Rec.Truncated; t != nil {
		add("rec/truncated", fmt.Sprintf("the file breaks off after %s", units.FormatBytes(t.Offset)), x.truncatedTexts(t.Reason)...)
	}
	switch c.Begins {
	case NoEvents:
		if !x.TL.Dev.Cut {
			add("rec/no-history", "no history was recorded: only the state at the dump can be shown")
		}
	case RingCut:
		add("rec/ring-cut", fmt.Sprintf("the ring of %s entries lost the beginning", units.FormatCount(int64(c.Events))), x.startText())
	case RingLikely:
		add("rec/ring-cut", fmt.Sprintf("the beginning is missing; with exactly %s entries, a full ring is the likely reason", units.FormatCount(int64(c.Events))), x.startText())
	case MidRun:
		add("rec/late-start", "recording began while memory was in use", x.startText())
	}
	if c.Events > 0 && c.Allocs > 0 {
		x.stackFindings(add)
	}
	if n := oddTotal(c.Odd); n > 0 {
		add("rec/inconsistent", units.FormatPlural(n, "entry does", "entries do")+" not fit the others", OddTexts(c.Odd)...)
		if c.doubtful() {
			list[len(list)-1].Severity = rules.Warning
		}
	}
	return list
}

func (x *Explanation) truncatedTexts(reason string) []string {
	list := []string{reason, "what could be read before that is used"}
	if x.TL.Dev.Cut {
		list = append(list, fmt.Sprintf("of this device's history %s could be read; what came after them is not known", units.FormatPlural(x.Coverage.Events, "event", "events")))
	}
	if x.TL.Replay.Guessed {
		list = append(list, "the file's segments are those of its end: what of them was there before the first event is a guess, and amounts may be too high")
	}
	return list
}

func (x *Explanation) startText() string {
	if x.TL.Replay.Guessed {
		return "how much was allocated before the first event cannot be told from a file that breaks off"
	}
	return fmt.Sprintf("%s in %s were allocated before the first event; what allocated and then freed before it cannot be known",
		units.FormatBytes(x.Coverage.StartBytes), units.FormatPlural(x.Coverage.StartBlocks, "block", "blocks"))
}

func (x *Explanation) stackFindings(add func(string, string, ...string)) {
	c := &x.Coverage
	switch {
	case c.WithStack == 0:
		add("rec/no-stacks", "no stacks were recorded: nothing can be traced to a line")
	case !c.Cpp && c.Allocs-c.WithStack > c.Allocs/5:
		add("rec/no-backward-stacks", fmt.Sprintf("%s of the allocations carry no Python stack: they come from autograd's threads", units.FormatShare(int64(c.Allocs-c.WithStack), int64(c.Allocs))))
	}
}
