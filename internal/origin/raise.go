package origin

import (
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
)

// Raise returns the mistakes of a file, those raised that a growth comes from, and whether
// there are any. names are what frames call the file; from names the recording, doubt is what
// cannot be known of the file. A mistake that a run has confirmed is as sure and does as much
// harm as the growth: it is an error where the run ended of it.
func (g *Growth) Raise(f *File, names []string, from, doubt string) (raised []rules.Mistake, any bool) {
	raised = slices.Clone(f.Mistakes)
	paths := map[string]*File{}
	for _, name := range names {
		paths[name] = f
	}
	for _, m := range g.Match(paths) {
		if m.How == InFile {
			continue
		}
		i := slices.IndexFunc(f.Mistakes, func(o rules.Mistake) bool { return same(&o, m.Mistake) })
		raised[i] = g.raise(raised[i], &m, from, doubt)
		any = true
	}
	return raised, any
}

// same tells whether two are one mistake: no rule reports a place twice.
func same(a, b *rules.Mistake) bool { return a.Rule == b.Rule && a.Start == b.Start && a.End == b.End }

func (g *Growth) raise(m rules.Mistake, match *Match, from, doubt string) rules.Mistake {
	sure := min(match.Confidence(), g.Finding.Confidence)
	m.Evidence = append(slices.Clone(m.Evidence), fmt.Sprintf("%s: %s, line %d in %s", from, g.Amount(), match.Frame.Line, match.Frame.Name))
	if doubt != "" {
		sure = min(sure, rules.Medium)
		m.Evidence = append(m.Evidence, doubt)
	}
	m.Confidence = max(m.Confidence, sure)
	m.Severity = max(m.Severity, g.Finding.Severity)
	if g.Finding.Severity == rules.Error {
		m.Evidence = append(m.Evidence, "that run died of it")
	}
	return m
}

// Amount says how much grew.
func (g *Growth) Amount() string {
	switch {
	case g.BytesPerStep > 0 && g.EverySteps > 1:
		return fmt.Sprintf("%s every %d steps stay behind here, %s in the end", units.FormatBytes(int64(g.BytesPerStep*float64(g.EverySteps)+0.5)), g.EverySteps, units.FormatBytes(g.LiveBytes))
	case g.BytesPerStep > 0:
		return fmt.Sprintf("%s a step stay behind here, %s in the end", units.FormatBytes(int64(g.BytesPerStep+0.5)), units.FormatBytes(g.LiveBytes))
	}
	return units.FormatBytes(g.LiveBytes) + " come from here"
}
