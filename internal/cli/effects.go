package cli

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/tune"
)

// expandable is the remedy whose effect a replay computes.
const expandable = "expandable_segments:True"

// addEffects puts the computed effect of expandable segments into the findings that
// name them as a remedy. Where the replay shows that they do not help, the remedy
// becomes evidence: people try it first. Findings that only inform are not worth the
// replay.
func addEffects(x *analyze.Explanation) {
	var effect *tune.Effect
	for i := range x.Findings {
		f := &x.Findings[i]
		k := slices.IndexFunc(f.Remedies, func(r rules.Remedy) bool { return strings.Contains(r.Do, expandable) })
		if k < 0 || f.Severity == rules.Info {
			continue
		}
		if effect == nil {
			if effect = effectOf(x); effect == nil {
				return
			}
		}
		f.Remedies = slices.Clone(f.Remedies) // they may be the catalogue's own
		if effect.Fits || effect.Near {
			f.Remedies[k].Effect, f.Remedies[k].Bytes = effect.Text(), effect.SavesBytes()
			continue
		}
		f.Remedies = slices.Delete(f.Remedies, k, k+1)
		f.Evidence = append(f.Evidence, effect.Text())
	}
	if effect != nil && ofFragmentation(x) {
		x.Verdict.Text += " " + capital(effect.Text()) + "."
	}
}

// ofFragmentation tells whether the run ended for want of one piece, and nothing else.
func ofFragmentation(x *analyze.Explanation) bool {
	leaks := slices.ContainsFunc(x.Findings, func(f rules.Finding) bool {
		return f.Severity == rules.Error && strings.HasPrefix(f.Rule, "leak/")
	})
	return x.OOMs.Fatal != nil && x.OOMs.Fatal.Cause == analyze.Fragmentation && !leaks
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// effectOf replays the recording with expandable segments, or returns nil where it
// cannot be replayed.
func effectOf(x *analyze.Explanation) *tune.Effect {
	died := -1
	if o := x.OOMs.Fatal; o != nil {
		died = o.Event
	}
	e, err := tune.WouldFit(x.TL, died, expandable)
	if err != nil {
		return nil
	}
	return &e
}
