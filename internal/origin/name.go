package origin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/snapshot"
)

// maxNamed bounds the mistakes that are named for a growth.
const maxNamed = 2

// Name puts into the growth's finding which mistakes of files it may come from. The
// likeliest becomes its first cause and its first remedy where it is more than a guess. paths
// leads from the file names of frames to files; doubts says of a file's path what cannot be
// known of it.
func (g *Growth) Name(paths map[string]*File, doubts map[string]string) {
	fitting := map[string]*File{}
	var changed []string
	for name, f := range paths {
		if odd, ok := f.Fits(g.framesIn(name)); !ok {
			changed = append(changed, fmt.Sprintf("%s is not as it was when it was recorded: line %d is not in %s", f.Path, odd.Line, odd.Name))
			continue
		}
		fitting[name] = f
	}
	slices.Sort(changed)
	for _, m := range g.Match(fitting) {
		doubt := doubts[m.File.Path]
		if len(changed) > 0 {
			doubt = changed[0] + ", and this file may have changed with it"
		}
		if len(g.Finding.Named) < maxNamed && (doubt == "" || m.How > InFile) {
			g.Finding.Named = append(g.Finding.Named, m.named(doubt))
		}
	}
	switch {
	case len(g.Finding.Named) > 0:
		g.putFirst(&g.Finding.Named[0])
	case len(changed) > 0:
		g.Finding.Unnamed = changed[0]
	case len(fitting) > 0:
		g.Finding.Unnamed = "no known mistake is at these lines or in their functions"
	}
}

// framesIn returns the frames of a file.
func (g *Growth) framesIn(name string) []snapshot.Frame {
	return slices.DeleteFunc(slices.Clone(g.Frames), func(f snapshot.Frame) bool { return f.Filename != name })
}

func (m *Match) named(doubt string) rules.Named {
	at := m.File.Source.Position(m.Mistake.Start)
	confidence := m.Confidence()
	if doubt != "" { // a function of the name may be another one by now
		confidence = min(confidence, rules.Medium)
	}
	return rules.Named{
		Rule: m.Mistake.Rule, Confidence: confidence, File: m.File.Path, Line: at.Line,
		Code:    strings.TrimSpace(m.File.Source.Line(m.File.Source.TextLine(m.Mistake.Start))),
		Message: m.Mistake.Message, Remedy: m.Mistake.Remedy, Tie: m.How.String(), Doubt: doubt,
	}
}

// putFirst makes a mistake the finding's first cause and remedy.
func (g *Growth) putFirst(n *rules.Named) {
	f := g.Finding
	if n.Confidence < rules.Medium {
		return
	}
	f.Causes = slices.DeleteFunc(slices.Clone(f.Causes), func(c string) bool { return c == n.Rule })
	f.Causes = slices.Insert(f.Causes, 0, n.Rule)
	first := rules.Remedy{Do: fmt.Sprintf("%s:%d: %s", n.File, n.Line, n.Remedy)}
	if len(f.Remedies) > 0 {
		first.Effect, first.Bytes = f.Remedies[0].Effect, f.Remedies[0].Bytes
	}
	f.Remedies = append([]rules.Remedy{first}, f.Remedies[min(len(f.Remedies), 1):]...)
}
