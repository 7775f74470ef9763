package analyze

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// notes are the spans of time in which annotations say that an optimizer worked.
// torch.optim writes them by itself: "Optimizer.step#AdamW.step".
type notes struct {
	events *snapshot.Events
	steps  []period
	zeros  []period
	nested bool // zero_grad is called within steps: they enclose the whole pass, by a closure
}

// period is a span of Unix microseconds, both ends included: many events share one.
type period struct{ fromUS, toUS int64 }

func newNotes(tl *timeline.Timeline) *notes {
	n := &notes{events: tl.Dev.Events}
	if !tl.Dev.Events.HasTimes {
		return n
	}
	n.steps = periods(tl, "Optimizer.step#")
	n.zeros = periods(tl, "Optimizer.zero_grad#")
	for _, z := range n.zeros {
		i := n.stepAt(z.fromUS)
		n.nested = n.nested || i >= 0 && n.steps[i].fromUS < z.fromUS && z.toUS < n.steps[i].toUS
	}
	return n
}

// periods pairs the starts and ends of annotations whose name begins with prefix. A
// start without an end is left out. Annotations of all devices count: a process that
// drives several writes them for one, and the clock is the same.
func periods(tl *timeline.Timeline, prefix string) []period {
	var out []period
	type scope struct {
		name   string
		device int
	}
	open := make(map[scope]int64)
	for _, a := range tl.Rec.Annotations {
		if !strings.HasPrefix(a.Name, prefix) {
			continue
		}
		k := scope{a.Name, a.Device}
		if a.Start {
			open[k] = a.TimeUS
		} else if from, ok := open[k]; ok {
			out = append(out, period{from, a.TimeUS})
			delete(open, k)
		}
	}
	slices.SortFunc(out, func(a, b period) int { return cmp.Compare(a.fromUS, b.fromUS) })
	return out
}

// at returns what annotations tell of an event.
func (n *notes) at(event int) marks {
	if len(n.steps) == 0 {
		return 0
	}
	t := n.events.At(event).TimeUS
	switch {
	case indexOf(n.zeros, t) >= 0:
		return inZeroGrad
	case !n.nested && n.stepAt(t) >= 0:
		return inOptimizer
	}
	return betweenSteps
}

// beforeFirstStep tells whether an event lies before every optimizer step.
func (n *notes) beforeFirstStep(event int) bool {
	return len(n.steps) > 0 && n.events.At(event).TimeUS < n.steps[0].fromUS
}

// stepsBetween returns how many optimizer steps begin between two events.
func (n *notes) stepsBetween(from, to int) int {
	if len(n.steps) == 0 {
		return 0
	}
	return n.stepsBegun(to) - n.stepsBegun(from)
}

func (n *notes) stepsBegun(event int) int {
	t := n.events.At(event).TimeUS
	i, _ := slices.BinarySearchFunc(n.steps, t, func(p period, t int64) int { return cmp.Compare(p.fromUS, t) })
	return i
}

func (n *notes) stepAt(t int64) int { return indexOf(n.steps, t) }

// indexOf returns the period that t lies in, or -1.
func indexOf(list []period, t int64) int {
	i, exact := slices.BinarySearchFunc(list, t, func(p period, t int64) int { return cmp.Compare(p.fromUS, t) })
	if !exact {
		i--
	}
	if i >= 0 && t <= list[i].toUS {
		return i
	}
	return -1
}
