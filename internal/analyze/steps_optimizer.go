package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
)

const (
	maxPhases = 8   // optimizer calls a step at most, beyond which each call counts as a step
	phaseLike = 0.5 // two spans between optimizer calls do the same work if this share of the smaller one's sites is in both
	phaseFits = 0.9 // share of the calls that must follow a cycle
)

// optimizerSteps ends a step where an optimizer's step ends. Several optimizers, as
// a GAN has, or several calls a step make one step of one cycle of calls: calls
// with nothing allocated in between are one, and calls whose spans take turns in
// allocating at different sites form a cycle.
func optimizerSteps(m *marker, marks []mark, trace *allocTrace) (Steps, bool) {
	ends, names := optimizerEnds(marks, trace)
	if len(ends) < m.least {
		return Steps{}, false
	}
	spans := siteSpans(trace, ends)
	cycle := cycleOf(spans)
	bounds := []int{firstStepBegins(trace, spans, ends)}
	for k := cycle - 1; k < len(ends); k += cycle {
		bounds = append(bounds, ends[k])
	}
	bounds = ascending(bounds)
	if len(bounds) < 2 {
		return Steps{}, false
	}
	s := Steps{Source: StepsAnnotated, Name: strings.Join(names, ", "), Bounds: bounds, Confidence: rules.High}
	s.Why = fmt.Sprintf("%s of %s, by %s", units.FormatPlural(len(ends), "step", "steps"), s.Name, m.what)
	if cycle > 1 {
		s.Why += fmt.Sprintf(", %d of which make a step: the work before them takes turns", cycle)
	}
	return s, true
}

// optimizerEnds returns where optimizer steps end, those that follow one another
// without an allocation in between taken together, and the optimizers' names.
func optimizerEnds(marks []mark, trace *allocTrace) (ends []int, names []string) {
	from := 0 // of the call that is open
	for _, a := range marks {
		if a.start {
			from = a.event
			continue
		}
		if a.event == 0 {
			continue
		}
		if name := strings.TrimPrefix(a.name, "Optimizer.step#"); !slices.Contains(names, name) && len(names) < 4 {
			names = append(names, name)
		}
		if n := len(ends); n > 0 && (ends[n-1] == a.event || from >= ends[n-1] && trace.firstFrom(ends[n-1]) == trace.firstFrom(from)) {
			ends[n-1] = a.event
			continue
		}
		ends = append(ends, a.event)
	}
	return ends, names
}

// siteSpans returns the distinct sites that allocate between one end and the next,
// optimizers' own and those of the backward pass left out: what a span is known by.
func siteSpans(trace *allocTrace, ends []int) [][]uint32 {
	spans := make([][]uint32, len(ends))
	seen := make([]int, len(trace.same)) // by stack: 1 + the last span in which it was met
	skip := make([]bool, len(trace.same))
	for id := range skip {
		site := &trace.sites.sites[id]
		skip[id] = site.User < 0 || site.marks.has(inOptimizer|inClip|inScaler)
	}
	at := 0
	for k, end := range ends {
		for to := trace.firstFrom(end); at < to; at++ {
			if s := trace.stack[at]; !skip[s] && seen[s] != k+1 {
				seen[s] = k + 1
				spans[k] = append(spans[k], s)
			}
		}
	}
	return spans
}

// cycleOf returns after how many spans the same work comes again. The first span
// holds set-up and is left out.
func cycleOf(spans [][]uint32) int {
	labels, kinds := labelSpans(spans)
	if kinds < 2 || kinds > maxPhases {
		return 1
	}
	for p := 1; p <= maxPhases && len(labels) > 2*p+1; p++ {
		same := 0
		for k := 1 + p; k < len(labels); k++ {
			if labels[k] == labels[k-p] {
				same++
			}
		}
		if float64(same) >= phaseFits*float64(len(labels)-1-p) {
			return p
		}
	}
	return 1
}

// labelSpans gives spans that do the same work the same label.
func labelSpans(spans [][]uint32) (labels []int, kinds int) {
	var first []map[uint32]bool // of each label, the sites of the first span that has it
	for _, span := range spans {
		label := slices.IndexFunc(first, func(sites map[uint32]bool) bool { return alike(span, sites) })
		if label < 0 {
			if len(first) > maxPhases {
				return nil, len(first)
			}
			sites := make(map[uint32]bool, len(span))
			for _, s := range span {
				sites[s] = true
			}
			label = len(first)
			first = append(first, sites)
		}
		labels = append(labels, label)
	}
	return labels, len(first)
}

func alike(span []uint32, sites map[uint32]bool) bool {
	both := 0
	for _, s := range span {
		if sites[s] {
			both++
		}
	}
	return float64(both) >= phaseLike*float64(min(len(span), len(sites)))
}

// firstStepBegins finds where set-up ends and the first step begins: at the first
// allocation of a site that the second step has too. Without one it is the
// beginning of the recording.
func firstStepBegins(trace *allocTrace, spans [][]uint32, ends []int) int {
	if len(spans) < 2 {
		return 0
	}
	for at := range trace.firstFrom(ends[0]) {
		s := trace.stack[at]
		if slices.Contains(spans[1], s) && !trace.sites.sites[s].marks.has(setUpMarks) {
			return int(trace.event[at])
		}
	}
	return 0
}

// setUpMarks are the marks of code that makes a model, loads it or puts it in place.
const setUpMarks = inConstructor | inConvert | inLoad | inShardInit
