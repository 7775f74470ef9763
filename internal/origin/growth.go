// Package origin leads from memory that grew in a recording to the mistake in the source
// that made it grow.
//
// A recording names the lines that allocated what stays; a linter names lines that keep
// what they should not. The two are often not the same line: the loss is added up below the
// call of the model that allocates. So a mistake is tied to a growth by a line of the
// growth's stacks, by a function that was running, or weakest, by being the only one of its
// kind in a file. A source that cannot be the one that ran is found out by the names of the
// functions around the recorded lines.
package origin

import (
	"slices"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/snapshot"
)

// maxFrames bounds the frames of a growth: one with thousands of sites shares most of them.
const maxFrames = 256

// Growth is memory that stays behind, as an analysis found it.
type Growth struct {
	Finding *rules.Finding
	Frames  []snapshot.Frame // of the user's own code, of all its sites: the site's own first, innermost first; each once

	BytesPerStep float64 // 0 where it does not grow evenly
	EverySteps   int     // 1 where each step leaves something
	LiveBytes    int64
}

// growing are the symptoms of memory that stays behind. What is held and stays level is
// none: a mistake near it would be blamed for what does no harm.
var growing = []string{"leak/growing-site", "leak/cycle-bursts"}

// GrowthsOf returns what grows on a device, the most severe first.
func GrowthsOf(x *analyze.Explanation) []Growth {
	var all []Growth
	for i := range x.Findings {
		f := &x.Findings[i]
		if !slices.Contains(growing, f.Rule) || len(f.Stack) == 0 {
			continue
		}
		g := Growth{Finding: f, LiveBytes: f.Bytes}
		if site := siteOf(x, f); site != nil {
			g.BytesPerStep, g.EverySteps, g.LiveBytes = site.BytesPerStep, site.EverySteps, site.LiveBytes
			for _, id := range site.Stacks {
				g.add(x.Sites.UsersOwn(x.Sites.Frames(id)))
			}
		} else {
			g.add(x.Sites.UsersOwn(f.Stack))
		}
		if len(g.Frames) > 0 {
			all = append(all, g)
		}
	}
	return all
}

// siteOf returns the growing site that a finding is about.
func siteOf(x *analyze.Explanation, f *rules.Finding) *analyze.GrowingSite {
	i := slices.IndexFunc(x.Leaks.Growing, func(g analyze.GrowingSite) bool {
		return f.Rule == "leak/growing-site" && g.FirstEvent == f.Event && g.LiveBytes == f.Bytes
	})
	if i < 0 {
		return nil
	}
	return &x.Leaks.Growing[i]
}

// add notes frames that are new.
func (g *Growth) add(frames []snapshot.Frame) {
	for _, f := range frames {
		if len(g.Frames) < maxFrames && !slices.Contains(g.Frames, f) {
			g.Frames = append(g.Frames, f)
		}
	}
}
