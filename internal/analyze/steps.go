package analyze

import (
	"slices"
	"sort"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// StepSource tells how the steps of a run were found.
type StepSource string

// Sources of steps, the surest first.
const (
	StepsAnnotated StepSource = "annotation"  // marks that torch or the program put in the recording
	StepsPeriodic  StepSource = "periodicity" // allocation sites that take turns regularly
	StepsUnknown   StepSource = "none"
)

// Steps are the rounds of the program's main loop: an optimizer step, a batch, a
// request. Step k is the events [Bounds[k], Bounds[k+1]); steps are numbered from 0
// at the first one in the recording, which in one that begins mid-run is not the
// program's first. What comes before Bounds[0] is set-up, what follows the last
// bound a round that was not finished.
type Steps struct {
	Source     StepSource
	Name       string // the annotation, or the line at which a round begins
	Bounds     []int  // ascending event ordinals, one more than there are steps; empty when there are none
	Tail       int    // steps from this one on were found by periodicity behind the last annotation; Len() where none were
	Confidence rules.Confidence
	Why        string // one sentence
}

// Len returns the number of whole steps.
func (s Steps) Len() int { return max(len(s.Bounds)-1, 0) }

// Of returns the step that an event falls into: -1 before the first step, Len()
// after the last.
func (s Steps) Of(event int) int {
	return sort.Search(len(s.Bounds), func(k int) bool { return s.Bounds[k] > event }) - 1
}

// fewSteps is how many annotated steps are so few that rounds within them say more,
// if there are many of these: gradients that are accumulated over batches.
const fewSteps = 2

// What follows the last annotation counts as a phase of its own, such as an
// evaluation after training, from so many rounds and so many steps' allocations on.
const (
	minTailSteps  = 4
	minTailLength = 2
)

// FindSteps finds the steps of a run: by annotations where the recording has some,
// else by allocation sites that recur once a round.
func FindSteps(tl *timeline.Timeline, sites *Sites) Steps {
	trace := readAllocs(tl, sites)
	s, ok := annotatedSteps(tl, trace)
	if !ok || s.Len() <= fewSteps {
		p := periodicSteps(trace)
		if !ok || p.Confidence >= rules.Medium && p.Len() >= minTailSteps*(s.Len()+1) {
			return p
		}
	}
	s.Tail = s.Len()
	extendSteps(tl, trace, &s)
	return s
}

// extendSteps appends the rounds that follow the last annotation: an evaluation
// after training has no optimizer to mark its batches.
func extendSteps(tl *timeline.Timeline, trace *allocTrace, s *Steps) {
	if s.Len() == 0 {
		return
	}
	last := s.Bounds[s.Len()]
	from := trace.firstFrom(last)
	if len(trace.event)-from < minTailLength*trace.allocsPerStep(s.Bounds) {
		return
	}
	tail, ok := findPeriod(trace, from, len(trace.event))
	if !ok || tail.support < 2 || len(tail.bounds) <= minTailSteps {
		return
	}
	for _, b := range tail.bounds {
		if b > last {
			s.Bounds = append(s.Bounds, b)
		}
	}
	s.Why += "; the rounds after the last one were found by what they allocate (" + tail.line + ")"
}

// allocTrace is the allocations of a device in order: what finding a period needs,
// 12 bytes an allocation.
type allocTrace struct {
	sites *Sites
	same  []uint32 // by StackID: Site.Same
	stack []uint32 // as in same
	event []int32
	level []uint32 // requested bytes that are live before it, in units of levelUnit

	scopes []int32 // events that are annotations (torch 2.4)
}

// levelUnit is the granularity of allocTrace.level: with 512 bytes 32 bits reach 2 TiB.
const levelUnit = 512

func readAllocs(tl *timeline.Timeline, sites *Sites) *allocTrace {
	n := tl.Replay.Allocs
	t := &allocTrace{sites: sites, same: make([]uint32, sites.Len()), stack: make([]uint32, 0, n), event: make([]int32, 0, n), level: make([]uint32, 0, n)}
	for id := range t.same {
		t.same[id] = uint32(sites.sites[id].Same)
	}
	b := snapshot.Batch{Want: snapshot.WithAction | snapshot.WithSize | snapshot.WithStack}
	live := tl.Start.Requested
	for k := range tl.Dev.Events.Chunks() {
		tl.Dev.Events.Chunk(k, &b)
		live = t.read(&b, live)
	}
	return t
}

// read takes in one batch and returns the bytes that are live after it.
func (t *allocTrace) read(b *snapshot.Batch, live int64) int64 {
	for j, a := range b.Action {
		switch snapshot.Action(a) {
		case snapshot.Alloc:
			id := uint32(0)
			if s := b.Stack[j]; s < uint64(len(t.same)) {
				id = t.same[s]
			}
			t.stack = append(t.stack, id)
			t.event = append(t.event, int32(b.First+j))
			t.level = append(t.level, uint32(min(max(live, 0)/levelUnit, 1<<32-1)))
			live += int64(b.Size[j])
		case snapshot.FreeRequested:
			live -= int64(b.Size[j])
		case snapshot.UserDefined:
			t.scopes = append(t.scopes, int32(b.First+j))
		}
	}
	return live
}

// firstFrom returns the index of the first allocation at or after an event.
func (t *allocTrace) firstFrom(event int) int {
	i, _ := slices.BinarySearch(t.event, int32(event))
	return i
}

// allocsPerStep returns the median number of allocations in a step.
func (t *allocTrace) allocsPerStep(bounds []int) int {
	if len(bounds) < 2 {
		return 0
	}
	counts := make([]int, 0, len(bounds)-1)
	at := t.firstFrom(bounds[0])
	for _, b := range bounds[1:] {
		next := t.firstFrom(b)
		counts = append(counts, next-at)
		at = next
	}
	slices.Sort(counts)
	return counts[len(counts)/2]
}
