package analyze

import (
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// lockstepGroup is sites that leave blocks behind in the same steps.
type lockstepGroup struct {
	GrowingSite
	sites []growing // the most bytes first
}

// lockstep joins sites whose blocks are born in the same steps: one object that is
// kept, a loss with its graph, holds blocks of many sites.
func (w *leakWindow) lockstep() []lockstepGroup {
	var list []growing
	for i := range w.lives {
		if g, ok := w.judge(&w.lives[i]); ok {
			list = append(list, g)
		}
	}
	slices.SortStableFunc(list, func(a, b growing) int { return cmp.Compare(b.bytes, a.bytes) })
	var groups []lockstepGroup
	for _, g := range list {
		i := slices.IndexFunc(groups, func(o lockstepGroup) bool { return sameSteps(o.sites[0].births, g.births) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, lockstepGroup{})
		}
		groups[i].sites = append(groups[i].sites, g)
	}
	for i := range groups {
		w.measure(&groups[i])
	}
	slices.SortStableFunc(groups, func(a, b lockstepGroup) int { return cmp.Compare(b.LiveBytes, a.LiveBytes) })
	return groups
}

// sameSteps tells whether two lists of births share four fifths of their steps.
// Where blocks are left only now and then, the next step counts as the same: what
// was made before an optimizer's step and after it lies in two.
func sameSteps(a, b []birth) bool {
	slack := 0
	if gap := a[len(a)-1].step - a[0].step; gap > 2*len(a) {
		slack = 1
	}
	both, i := 0, 0
	for _, x := range a {
		for i < len(b) && b[i].step < x.step-slack {
			i++
		}
		if i < len(b) && b[i].step <= x.step+slack {
			both++
		}
	}
	return both*5 >= (len(a)+len(b)-both)*4
}

// measure fills in the figures of a group.
func (w *leakWindow) measure(g *lockstepGroup) {
	first := g.sites[0]
	g.SinceStep, g.FirstEvent, g.EverySteps, g.FillsAtStep = first.births[0].step, timeline.Never, 1, -1
	if gaps := len(first.births) - 1; gaps > 0 {
		g.EverySteps = max(1, (first.births[gaps].step-g.SinceStep+gaps/2)/gaps)
	}
	peak := w.tl.Peak.Allocated.Event
	for _, s := range g.sites {
		g.Stacks = append(g.Stacks, s.lives.stack)
		first := timeline.Never
		bytes, blocks := s.rates()
		g.BytesPerStep += bytes
		g.BlocksPerStep += blocks
		for _, i := range s.lives.survivors {
			l := w.tl.Life(int(i))
			if w.steps.Of(l.Alloc) < s.births[0].step {
				continue
			}
			g.Blocks++
			g.LiveBytes += l.SizeBytes
			first = min(first, l.Alloc)
			if l.LiveAfter(peak) {
				g.PeakBytes += l.SizeBytes
			}
		}
		g.FirstEvents = append(g.FirstEvents, first)
		g.FirstEvent = min(g.FirstEvent, first)
	}
	g.Stack = w.representative(g)
	g.FillsAtStep = w.fillsAt(g.BytesPerStep)
	g.Severity, g.Confidence = w.grade(g)
}

// representative picks the site that stands for a group: the one with the most bytes
// of those that lead to the user's own code.
func (w *leakWindow) representative(g *lockstepGroup) snapshot.StackID {
	for _, id := range g.Stacks {
		if w.sites.At(id).User >= 0 {
			return id
		}
	}
	return g.Stacks[0]
}

// fillsAt returns the step in which the cap is reached, if the peak of a step goes
// on growing at this rate.
func (w *leakWindow) fillsAt(bytesPerStep float64) int {
	room := float64(w.opt.CapBytes - w.tl.Peak.Allocated.Bytes)
	if w.opt.DiedAt < 0 && w.opt.CapBytes < w.tl.Peak.Reserved.Bytes {
		return -1 // the size that was given is not the device's
	}
	if w.opt.CapBytes <= 0 || bytesPerStep <= 0 || room/bytesPerStep > 1e9 {
		return -1
	}
	return w.n + int(max(room, 0)/bytesPerStep)
}
