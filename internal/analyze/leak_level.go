package analyze

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// What grows and is no leak: buffers and caches that stay level, blocks that are
// freed in bursts, and a block that is replaced by a larger one in each step.

const (
	minSwelling    = 8    // steps over which a block must have grown
	swellShare     = 0.95 // of the steps in which it must not have shrunk
	swellFactor    = 1.5  // by which it must have grown at least
	maxLevelNamed  = 3    // findings of level growth
	burstRatio     = 2    // births in so many steps for every step in which blocks died: a burst
	minBurstSteps  = 3 * burstRatio
	burstMaterial  = 0.1 // share of the peak from which on a burst costs memory that matters
	minBufferSteps = 3   // steps that a buffer must hold blocks of
	warmUpSteps    = 2   // first steps, in which workspaces and states are made that stay
)

// swelling is a site whose block is replaced by a larger one step by step.
type swelling struct {
	s            *siteLives
	bytesPerStep float64
	last         int64 // bytes after the last step
}

// swelling returns the sites of that kind, the largest first, and by how much they all
// grow a step.
func (w *leakWindow) swelling() (list []swelling, bytesPerStep float64) {
	for i := range w.lives {
		if r, l, ok := w.swells(&w.lives[i]); ok {
			list = append(list, swelling{&w.lives[i], r, l})
			bytesPerStep += r
		}
	}
	slices.SortStableFunc(list, func(a, b swelling) int { return cmp.Compare(b.last, a.last) })
	return list, bytesPerStep
}

// swellingFinding names these sites. Results that are concatenated grow so, and the
// cache of one long request: the first may be a fault, the second is none, so this is
// only worth knowing. Small ones are named too: a buffer that is copied whole in every
// step costs more as it grows, and whoever reads that nothing grows relies on it.
func (w *leakWindow) swellingFinding(list []swelling, bytesPerStep float64) rules.Finding {
	last := int64(0)
	for _, s := range list {
		last += s.last
	}
	id := list[0].s.stack
	f := rules.Finding{
		Rule: "leak/growing-site", Severity: rules.Info, Confidence: rules.Low,
		Title: fmt.Sprintf("blocks from %s are replaced by ones that are %s larger each step", w.sites.Display(id), bytesText(bytesPerStep)),
		Evidence: []string{
			fmt.Sprintf("%s; %s at the last step; the old block is freed each time, so this is no pile of blocks that nothing frees", units.FormatPlural(len(list), "site", "sites"), units.FormatBytes(last)),
			"steps: " + w.steps.Why,
		},
		Bytes: last, Event: w.bounds[list[0].s.carried[0].step], Stack: w.sites.Frames(id),
		Causes:   []string{"leak/concat-in-loop"},
		Remedies: []rules.Remedy{{Do: "collect the pieces in a list, on the CPU where they are results, and concatenate once; or write into a buffer of a fixed size", Effect: "nothing is copied anew in each step, and the device holds no growing block"}},
	}
	if w.sites.At(id).marks.has(inKVCache) {
		f.Evidence = append(f.Evidence, "it is the cache of keys and values of one request, which goes with it")
		f.Causes, f.Remedies = []string{}, []rules.Remedy{} // none of the rule's
	}
	return f
}

// swells tells whether what a site carries from step to step grows nearly always,
// by how much a step, and to what.
func (w *leakWindow) swells(s *siteLives) (rate float64, last int64, ok bool) {
	n := len(s.carried)
	if n < minSwelling || int(s.carried[n-1].step) < w.n-young || len(s.survivors) >= n/2 || len(s.freed) > n/2 {
		return 0, 0, false
	}
	up, grown := 0, 0
	for i, c := range s.carried[1:] {
		if c.bytes >= s.carried[i].bytes {
			up++
		}
		if c.bytes > s.carried[i].bytes {
			grown++
		}
	}
	first := s.carried[0]
	last = s.carried[n-1].bytes
	if float64(up) < swellShare*float64(n-1) || grown < minBirths || float64(last) < swellFactor*float64(first.bytes) || !w.swellsEvenly(s) {
		return 0, 0, false
	}
	return float64(last-first.bytes) / float64(s.carried[n-1].step-first.step), last, true
}

// swellsEvenly tells whether the second half of the steps has its share of the growth.
func (w *leakWindow) swellsEvenly(s *siteLives) bool {
	n := len(s.carried)
	first, mid, last := s.carried[0].bytes, s.carried[n/2].bytes, s.carried[n-1].bytes
	return (last-mid)*4 >= last-first && (mid-first)*8 >= last-first
}

// boundedFindings names what was held across steps and freed again, or stopped
// growing: in bursts, as garbage in cycles is, or one by one, as in a buffer.
func (w *leakWindow) boundedFindings() []rules.Finding {
	type level struct {
		s     *siteLives
		bytes int64
	}
	if w.n < minBirths+young {
		return nil
	}
	var list []level
	for i := range w.lives {
		s := &w.lives[i]
		if _, leaks := w.judge(s); leaks {
			continue
		}
		if bytes := w.mostHeld(s); float64(bytes) >= materialShare*float64(w.tl.Peak.Allocated.Bytes) {
			list = append(list, level{s, bytes})
		}
	}
	slices.SortStableFunc(list, func(a, b level) int { return cmp.Compare(b.bytes, a.bytes) })
	var out []rules.Finding
	for _, l := range list[:min(len(list), maxLevelNamed)] {
		if f, ok := w.levelFinding(l.s, l.bytes); ok {
			out = append(out, f)
		}
	}
	return out
}

// mostHeld returns the most bytes of a site that were held across steps at one time.
func (w *leakWindow) mostHeld(s *siteLives) int64 {
	change := make(map[int]int64)
	for _, h := range s.freed {
		bytes := w.tl.Life(int(h.block)).SizeBytes
		change[int(h.born)+heldSteps] += bytes
		change[int(h.died)+1] -= bytes
	}
	for _, b := range w.births(s) {
		if b.step >= warmUpSteps && b.step+heldSteps <= w.n {
			change[b.step+heldSteps] += b.bytes
		}
	}
	steps := make([]int, 0, len(change))
	for k := range change {
		steps = append(steps, k)
	}
	slices.Sort(steps)
	now, most := int64(0), int64(0)
	for _, k := range steps {
		now += change[k]
		most = max(most, now)
	}
	return most
}

// levelFinding says what a level growth is: bursts, a buffer, or a cache that is full.
func (w *leakWindow) levelFinding(s *siteLives, bytes int64) (rules.Finding, bool) {
	born, died := s.steps()
	if len(died) > 0 && len(born) >= max(minBurstSteps, burstRatio*len(died)) {
		return w.burstFinding(s, bytes, len(born), len(died)), true
	}
	births := w.births(s)
	if len(born)+len(births) < minBufferSteps+warmUpSteps {
		return rules.Finding{}, false // set-up and warm-up
	}
	f := rules.Finding{
		Rule: "leak/bounded-growth", Severity: rules.Info, Confidence: rules.Medium,
		Title: fmt.Sprintf("%s are held across steps at %s and stay level", units.FormatBytes(bytes), w.sites.Display(s.stack)),
		Bytes: bytes, Event: w.firstHeld(s), Stack: w.sites.Frames(s.stack),
	}
	if len(s.freed) == 0 {
		f.Evidence = []string{fmt.Sprintf("blocks were added in %d steps, the last of them in step %d of %d, and none since", len(births), births[len(births)-1].step, w.n)}
		return f, true
	}
	oldest, _, _ := s.heldFacts()
	f.Evidence = []string{fmt.Sprintf("%s blocks were held and then freed, after %d steps at most: old ones go as new ones come", units.FormatCount(int64(len(s.freed))), oldest)}
	return f, true
}

// steps returns the distinct steps in which blocks that were held and then freed were
// born, and those in which they died.
func (s *siteLives) steps() (born, died []int32) {
	for _, h := range s.freed {
		born, died = append(born, h.born), append(died, h.died)
	}
	slices.Sort(born)
	slices.Sort(died)
	return slices.Compact(born), slices.Compact(died)
}

func (w *leakWindow) firstHeld(s *siteLives) int {
	first := w.end
	if len(s.survivors) > 0 {
		first = w.tl.Life(int(s.survivors[0])).Alloc
	}
	if len(s.freed) > 0 {
		first = min(first, w.tl.Life(int(s.freed[0].block)).Alloc)
	}
	return first
}

// burstFinding tells garbage in cycles from what a program clears by itself: the
// collector runs wherever Python happens to be, so that its bursts have no line of
// their own; a program clears at the same line each time.
func (w *leakWindow) burstFinding(s *siteLives, bytes int64, born, died int) rules.Finding {
	oldest, _, _ := s.heldFacts()
	lines := w.freeSites(s)
	f := rules.Finding{
		Rule: "leak/cycle-bursts", Severity: rules.Info, Confidence: rules.Low,
		Title: fmt.Sprintf("up to %s from %s are freed late and in bursts", units.FormatBytes(bytes), w.sites.Display(s.stack)),
		Bytes: bytes, Event: w.firstHeld(s), Stack: w.sites.Frames(s.stack),
		Evidence: []string{fmt.Sprintf("blocks made in %d steps were freed in %d of the steps, after up to %d steps", born, died, oldest)},
		Causes:   []string{"leak/reference-cycle", "leak/step-outputs", "leak/exception-frame"},
		Remedies: []rules.Remedy{{
			Do: "break the reference cycle, or call gc.collect() every few steps", Bytes: bytes,
			Effect: fmt.Sprintf("up to %s less are held between bursts", units.FormatBytes(bytes)),
		}},
	}
	if len(lines) == 1 {
		f.Rule = "leak/bounded-growth"
		f.Causes, f.Remedies = nil, nil
		f.Title = fmt.Sprintf("up to %s from %s are collected over steps and freed together", units.FormatBytes(bytes), w.sites.Display(s.stack))
		f.Evidence = append(f.Evidence, "always at "+w.sites.Line(lines[0])+": the end of a request or an epoch, or a call of gc.collect")
		return f
	}
	f.Confidence = rules.Medium
	f.Evidence = append(f.Evidence, fmt.Sprintf("at %d different lines: garbage in reference cycles, which goes when Python's collector happens to run", len(lines)))
	if w.steps.Source == StepsAnnotated && died > 1 && float64(bytes) >= burstMaterial*float64(w.tl.Peak.Allocated.Bytes) {
		f.Severity = rules.Warning
	}
	return f
}

// freeSites returns the distinct sites at which the held blocks of s were freed.
func (w *leakWindow) freeSites(s *siteLives) []snapshot.StackID {
	var list []snapshot.StackID
	for _, h := range s.freed {
		id := w.sites.At(w.tl.Dev.Events.StackAt(w.tl.Life(int(h.block)).FreeRequested)).Same
		if !slices.Contains(list, id) && len(list) < 64 {
			list = append(list, id)
		}
	}
	return list
}
