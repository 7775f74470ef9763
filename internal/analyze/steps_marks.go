package analyze

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// mark is one end of an annotation, at the event that follows it.
type mark struct {
	name  string
	start bool
	event int
}

// marker is a kind of annotation that marks steps.
type marker struct {
	match func(name string) bool
	end   bool // the step ends where the annotation ends; else it begins where that begins
	least int  // annotations below which they mark nothing
	what  string
}

// markers are tried in this order. torch writes the first, second and last two by
// itself; the third is what programs and frameworks call their own scopes.
var markers = [...]marker{
	{match: hasPrefix("ProfilerStep#"), least: 2, what: "the profiler's steps"},
	{match: hasPrefix("Optimizer.step#"), end: true, least: 1, what: "ends of optimizer steps"},
	{match: isStepScope, least: 3, what: "starts of a scope that the program annotated"},
	{match: hasPrefix("enumerate(DataLoader)#"), least: 3, what: "batches taken from a DataLoader"},
	{match: isParallelForward, least: 3, what: "forward calls of a parallel module"},
}

func hasPrefix(prefix string) func(string) bool {
	return func(name string) bool { return strings.HasPrefix(name, prefix) }
}

func isParallelForward(name string) bool {
	return name == "DistributedDataParallel.forward" || name == "DataParallel.forward"
}

// isStepScope recognises names such as "train_step", "## step ##", "iteration 12"
// and "[pl][profile]run_training_batch".
func isStepScope(name string) bool {
	if strings.HasPrefix(name, "Optimizer.") || strings.HasPrefix(name, "ProfilerStep") || strings.Contains(name, "optimizer_step") || strings.Contains(name, "zero_grad") {
		return false
	}
	name = strings.ToLower(name)
	for _, word := range [...]string{"step", "iteration", "training_batch", "train_batch", "eval_batch", "request"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// annotatedSteps finds steps by the first kind of annotation that marks any.
func annotatedSteps(tl *timeline.Timeline, trace *allocTrace) (Steps, bool) {
	all := readMarks(tl, trace)
	for i := range markers {
		m := &markers[i]
		var marks []mark
		for _, a := range all {
			if m.match(a.name) {
				marks = append(marks, a)
			}
		}
		s, ok := Steps{}, false
		if m.end {
			s, ok = optimizerSteps(m, marks, trace)
		} else {
			s, ok = m.scopes(marks)
		}
		if ok {
			return s, true
		}
	}
	return Steps{}, false
}

// scopes makes a step of every scope that begins, up to the next one.
func (m *marker) scopes(marks []mark) (Steps, bool) {
	marks = oneScope(marks)
	var bounds []int
	last := 0
	for _, a := range marks {
		if a.start {
			bounds = append(bounds, a.event)
		} else {
			last = max(last, a.event)
		}
	}
	bounds = ascending(append(bounds, last))
	if bounds[0] == 0 && last == 0 {
		bounds = bounds[1:] // no scope ended in the window
	}
	if len(bounds) <= m.least {
		return Steps{}, false
	}
	name := strings.TrimRight(marks[0].name, "0123456789")
	return Steps{Source: StepsAnnotated, Name: name, Bounds: bounds, Confidence: rules.High, Why: fmt.Sprintf("%s of %s, by %s", units.FormatPlural(len(bounds)-1, "step", "steps"), name, m.what)}, true
}

// oneScope keeps the annotations of one name, numbers at its end left aside: of
// several nested ones the outermost that recurs, which is the rarest.
func oneScope(marks []mark) []mark {
	count := make(map[string]int)
	for _, a := range marks {
		if a.start {
			count[strings.TrimRight(a.name, "0123456789")]++
		}
	}
	best := ""
	for name, n := range count {
		if n < 3 && len(count) > 1 {
			continue
		}
		if best == "" || n < count[best] || n == count[best] && name < best {
			best = name
		}
	}
	return slices.DeleteFunc(marks, func(a mark) bool { return strings.TrimRight(a.name, "0123456789") != best })
}

// ascending sorts bounds and drops those that are equal.
func ascending(bounds []int) []int {
	slices.Sort(bounds)
	return slices.Compact(bounds)
}

// readMarks returns the annotations that may mark steps, in order of the events
// that follow them. They carry the device that was current when they were made:
// where this device has none of its own, those of the others stand for the process.
func readMarks(tl *timeline.Timeline, trace *allocTrace) []mark {
	marks := scopeEvents(tl, trace)
	e := tl.Dev.Events
	if !e.HasTimes || e.Len() == 0 {
		return marks
	}
	own := slices.ContainsFunc(tl.Rec.Annotations, func(a snapshot.Annotation) bool {
		return a.Device == tl.Dev.Index && markers[1].match(a.Name)
	})
	first := e.At(0).TimeUS
	for _, a := range tl.Rec.Annotations {
		if own && a.Device != tl.Dev.Index || a.TimeUS < first || !isMarker(a.Name) {
			continue // what lies before the window bounds no step of it
		}
		marks = append(marks, mark{a.Name, a.Start, eventAt(e, a.TimeUS, a.Start)})
	}
	slices.SortStableFunc(marks, func(a, b mark) int { return a.event - b.event })
	return marks
}

func isMarker(name string) bool {
	return slices.ContainsFunc(markers[:], func(m marker) bool { return m.match(name) })
}

// eventAt returns the first event at or after the start of a scope, or after its end.
func eventAt(e *snapshot.Events, timeUS int64, start bool) int {
	return sort.Search(e.Len(), func(i int) bool {
		t := e.At(i).TimeUS
		return t > timeUS || start && t == timeUS
	})
}

// scopeEvents reads the annotations of torch 2.4, which are events of the trace: one
// pseudo frame, named START or END, with the label as its file.
func scopeEvents(tl *timeline.Timeline, trace *allocTrace) []mark {
	var marks []mark
	for _, i := range trace.scopes {
		frames := tl.Rec.Stacks.Frames(tl.Dev.Events.StackAt(int(i)))
		if len(frames) == 0 || int(frames[0]) >= len(tl.Rec.Frames) {
			continue
		}
		f := tl.Rec.Frames[frames[0]]
		if (f.Name == "START" || f.Name == "END") && isMarker(f.Filename) {
			marks = append(marks, mark{f.Filename, f.Name == "START", int(i)})
		}
	}
	return marks
}
