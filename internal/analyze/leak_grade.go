package analyze

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/snapshot"
)

const (
	materialShare = 0.01    // of the peak: a growth that has this much already matters
	longRun       = 10_000  // steps of a long run, in which …
	longRunShare  = 0.1     // … this share of the device is much
	usualDevice   = 8 << 30 // bytes of a device of which nothing is known, if the run used less
	explainsShare = 0.1     // of what was reserved when the run died
)

// grade says how much a growth matters, and how sure it is.
func (w *leakWindow) grade(g *lockstepGroup) (rules.Severity, rules.Confidence) {
	conf := rules.High
	if len(g.sites[0].births) < 2*minBirths || w.steps.Confidence < rules.Medium {
		conf = rules.Medium
	}
	switch {
	case w.isSetUp(g), w.isFilling():
		return rules.Info, rules.Low
	case w.explainsDeath(g):
		return rules.Error, conf
	case w.isMaterial(g.LiveBytes, g.BytesPerStep):
		return rules.Warning, conf
	}
	return rules.Info, conf
}

// isMaterial tells whether a growth matters: by what it has already, or by what it
// will have in a long run.
func (w *leakWindow) isMaterial(liveBytes int64, bytesPerStep float64) bool {
	device := max(w.opt.CapBytes, w.tl.Peak.Reserved.Bytes)
	if w.opt.CapBytes <= 0 {
		device = max(device, usualDevice)
	}
	return float64(liveBytes) >= materialShare*float64(w.tl.Peak.Allocated.Bytes) ||
		bytesPerStep*longRun >= longRunShare*float64(device)
}

// explainsDeath tells whether the request that ended the run would have fitted
// without the growth, and whether the growth is more than a small part of it all.
func (w *leakWindow) explainsDeath(g *lockstepGroup) bool {
	return w.opt.DiedAt >= 0 && g.LiveBytes >= w.wantBytes && float64(g.LiveBytes) >= explainsShare*float64(w.diedWithBytes)
}

// isSetUp tells whether a growth may be a model that is being made or loaded: then
// every round leaves its parameters behind. Where annotations bound the steps there
// is no doubt that the run is past that.
func (w *leakWindow) isSetUp(g *lockstepGroup) bool {
	if w.steps.Source == StepsAnnotated {
		return false
	}
	bytes, all := int64(0), int64(0)
	for _, s := range g.sites {
		all += s.bytes
		if w.makesModel(s.lives.stack) {
			bytes += s.bytes
		}
	}
	return bytes*2 > all
}

// makesModel tells whether a stack is in code that makes or loads a model, by the
// marks of torch's code and by the names that people give their own.
func (w *leakWindow) makesModel(id snapshot.StackID) bool {
	if w.sites.At(id).marks.has(setUpMarks) {
		return true
	}
	return slices.ContainsFunc(w.tl.Rec.Stacks.Frames(id), func(f snapshot.FrameID) bool {
		name := strings.ToLower(w.tl.Rec.Frames[f].Name)
		for _, verb := range [...]string{"load", "build", "create", "make", "init", "setup", "restore"} {
			if rest, ok := strings.CutPrefix(strings.TrimLeft(name, "_"), verb); ok && isModelWord(rest) {
				return true
			}
		}
		return false
	})
}

// isModelWord recognises the rest of names such as load_weights and build_model.
func isModelWord(rest string) bool {
	for _, noun := range [...]string{"model", "weight", "checkpoint", "ckpt", "state", "param", "pretrained", "network", "layer", "engine"} {
		if strings.Contains(rest, noun) {
			return true
		}
	}
	return false
}

// isFilling tells whether rounds do nothing but allocate: a program that fills
// memory on purpose, a list made in one line, cannot be told from a leak.
func (w *leakWindow) isFilling() bool {
	return w.steps.Source == StepsPeriodic && w.brief < w.n
}
