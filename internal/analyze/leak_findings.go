package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// maxOthers is how many further sites of a leak are named in its finding.
const maxOthers = 5

// growingFinding puts a growth into words.
func (w *leakWindow) growingFinding(g lockstepGroup) rules.Finding {
	f := rules.Finding{
		Rule: "leak/growing-site", Severity: g.Severity, Confidence: g.Confidence,
		Title: fmt.Sprintf("%s a step stay behind at %s", bytesText(g.BytesPerStep), w.sites.Display(g.Stack)),
		Bytes: g.LiveBytes, Event: g.FirstEvent, Stack: w.sites.Frames(g.Stack),
		Causes: w.causesOf(&g),
	}
	if g.EverySteps > 1 {
		f.Title = fmt.Sprintf("%s every %d steps stay behind at %s", bytesText(g.BytesPerStep*float64(g.EverySteps)), g.EverySteps, w.sites.Display(g.Stack))
	}
	f.Evidence = append(f.Evidence, w.survival(&g))
	f.Evidence = append(f.Evidence, w.company(&g)...)
	f.Evidence = append(f.Evidence, w.outlook(&g)...)
	if g.Severity > rules.Info && g.Confidence < rules.High {
		f.Evidence = append(f.Evidence, fmt.Sprintf("a buffer that holds more than %d steps and is still filling would look the same", w.n-g.SinceStep))
	}
	f.Evidence = append(f.Evidence, causeReason(f.Causes[0], g.EverySteps)...)
	f.Evidence = append(f.Evidence, "steps: "+w.steps.Why)
	f.Remedies = w.growingRemedies(&g, f.Causes)
	return f
}

func bytesText(bytes float64) string { return units.FormatBytes(int64(bytes + 0.5)) }

// survival is the evidence itself: which blocks live on.
func (w *leakWindow) survival(g *lockstepGroup) string {
	last := w.steps.Of(w.end - 1)
	freed := 0
	for _, s := range g.sites {
		freed += len(s.lives.freed)
	}
	text := fmt.Sprintf("%s blocks made since step %d, %s, are live after step %d", units.FormatCount(int64(g.Blocks)), g.SinceStep, units.FormatBytes(g.LiveBytes), last)
	if freed > 0 {
		return text + fmt.Sprintf("; %s others from there were kept across steps and freed", units.FormatCount(int64(freed)))
	}
	return text + "; none that was kept across steps has been freed"
}

// company names the other sites of a growth, and where most of it comes from.
func (w *leakWindow) company(g *lockstepGroup) []string {
	if len(g.sites) == 1 {
		return nil
	}
	var others []string
	for _, s := range g.sites {
		if s.lives.stack == g.Stack {
			continue
		}
		if len(others) == maxOthers {
			others = append(others, fmt.Sprintf("and %d more sites", len(g.sites)-1-maxOthers))
			break
		}
		perStep, _ := s.rates()
		others = append(others, fmt.Sprintf("%s (%s a step)", w.sites.Display(s.lives.stack), bytesText(perStep)))
	}
	list := []string{"growing in the same steps: " + strings.Join(others, "; ")}
	if root := w.commonRoot(g); root != "" {
		list = append(list, "nearly all of it is allocated under "+root)
	}
	return list
}

// nearlyAll is the share of a growth's bytes whose sites have to share a line.
const nearlyAll = 0.9

// commonRoot returns the innermost line of the user's code that the sites with nearly
// all of a group's bytes share, or "" if that says no more than its title.
func (w *leakWindow) commonRoot(g *lockstepGroup) string {
	var shared []snapshot.FrameID // outermost first
	all, counted := int64(0), int64(0)
	for _, s := range g.sites {
		all += s.bytes
	}
	for _, s := range g.sites { // the most bytes first
		if float64(counted) >= nearlyAll*float64(all) {
			break
		}
		counted += s.bytes
		if w.sites.At(s.lives.stack).User < 0 {
			continue
		}
		frames := slices.Clone(w.tl.Rec.Stacks.Frames(s.lives.stack))
		slices.Reverse(frames)
		if shared == nil {
			shared = frames
		}
		shared = shared[:sharedPrefix(shared, frames)]
	}
	for _, f := range slices.Backward(shared) {
		if name := w.tl.Rec.Frames[f].Name; w.sites.frame(f).whose == Users && name != "<module>" {
			if line := w.sites.Position(f) + " " + name; line != w.sites.Line(g.Stack) {
				return line
			}
			break
		}
	}
	return ""
}

func sharedPrefix(a, b []snapshot.FrameID) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// outlook says what the growth has led to, or will.
func (w *leakWindow) outlook(g *lockstepGroup) []string {
	switch {
	case g.Severity == rules.Error:
		return []string{fmt.Sprintf("the run died for want of %s: without this growth they would have been there", units.FormatBytes(w.wantBytes))}
	case g.FillsAtStep >= 0 && w.opt.DiedAt < 0:
		return []string{fmt.Sprintf("at this rate %s are full in step %s", units.FormatBytes(w.opt.CapBytes), units.FormatCount(int64(g.FillsAtStep)))}
	case g.Severity == rules.Info && g.Confidence > rules.Low:
		return []string{fmt.Sprintf("small: %s of the peak so far, %s in %s steps", units.FormatShare(g.LiveBytes, w.tl.Peak.Allocated.Bytes), bytesText(g.BytesPerStep*longRun), units.FormatCount(longRun))}
	case g.Confidence == rules.Low:
		return []string{"these rounds may be a model or a list that is being made: they leave blocks behind by intent"}
	}
	return nil
}

// growingRemedies says what to change for the two likeliest causes.
func (w *leakWindow) growingRemedies(g *lockstepGroup, causes []string) []rules.Remedy {
	var list []rules.Remedy
	for _, c := range causes[:min(len(causes), 2)] {
		if do := causeRemedies[c]; do != "" {
			list = append(list, rules.Remedy{Do: do})
		}
	}
	if len(list) == 0 {
		list = append(list, rules.Remedy{Do: "find what keeps the result of " + w.sites.Line(g.Stack) + " after its step, and let go of it"})
	}
	peak := w.tl.Peak.Allocated.Bytes
	list[0].Bytes = g.PeakBytes
	list[0].Effect = fmt.Sprintf("at the event of the peak %s are allocated instead of %s, and each step leaves %s less", units.FormatBytes(peak-g.PeakBytes), units.FormatBytes(peak), bytesText(g.BytesPerStep))
	return list
}

// shortFinding says that a run is too short, where something looks like growth.
func (w *leakWindow) shortFinding() []rules.Finding {
	if w.n >= minBirths+young {
		return nil
	}
	best, bestBytes := -1, int64(0)
	for i := range w.lives {
		list := before(w.births(&w.lives[i]), w.n-1)
		bytes := int64(0)
		for _, b := range list {
			bytes += b.bytes
		}
		if len(w.lives[i].freed) == 0 && w.stillGrowing(list) && bytes > bestBytes {
			best, bestBytes = i, bytes
		}
	}
	if best < 0 || float64(bestBytes) < materialShare*float64(w.tl.Peak.Allocated.Bytes) {
		return nil
	}
	s := &w.lives[best]
	return []rules.Finding{{
		Rule: "leak/too-short-to-tell", Severity: rules.Info, Confidence: rules.Low,
		Title:    fmt.Sprintf("%d steps are too few to tell whether memory grows at %s", w.n, w.sites.Display(s.stack)),
		Evidence: []string{fmt.Sprintf("%s made there in earlier steps are live at the end; this takes %d whole steps to judge", units.FormatBytes(bestBytes), minBirths+young), "steps: " + w.steps.Why},
		Bytes:    bestBytes, Event: w.tl.Life(int(s.survivors[0])).Alloc, Stack: w.sites.Frames(s.stack),
		Remedies: []rules.Remedy{{Do: fmt.Sprintf("record at least %d steps", 2*(minBirths+young))}},
	}}
}

// stillGrowing tells whether each step since the first birth left something behind,
// up to the last one that can be judged.
func (w *leakWindow) stillGrowing(list []birth) bool {
	return len(list) >= 2 && list[len(list)-1].step-list[0].step == len(list)-1 && list[len(list)-1].step == w.n-2
}
