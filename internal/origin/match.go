package origin

import (
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/snapshot"
)

// How is what ties a mistake to a growth.
type How uint8

// The ties, weakest first.
const (
	InFile     How = iota // the only mistake of a kind that explains the growth, in a file of its stack
	InFunction            // it is in a function that was running
	OnLine                // it is on a line of the stack
)

// String returns the tie as JSON has it.
func (h How) String() string { return [...]string{"file", "function", "line"}[h] }

// Match is a mistake that explains a growth.
type Match struct {
	File    *File
	Mistake *rules.Mistake
	How     How
	Frame   snapshot.Frame // that ties it; of the file, for InFile

	cause int // rank of the rule among the causes that fit the growth; past them where it is none
	depth int // of the frame, from the innermost
}

// Confidence is how sure it is that the growth comes from the mistake.
func (m *Match) Confidence() rules.Confidence {
	fits := m.cause < notACause
	switch {
	case m.How == OnLine && fits, m.How == InFunction && fits && m.Mistake.Confidence >= rules.Medium:
		return rules.High
	case m.How != InFile:
		return rules.Medium
	}
	return rules.Low
}

// notACause is the rank of a rule that is not among a growth's causes.
const notACause = 1 << 10

// Match returns the mistakes of files that explain a growth, the likeliest first. paths
// leads from the file names of frames to the files; files whose frames do not fit must not
// be among them.
func (g *Growth) Match(paths map[string]*File) []Match {
	best := map[*rules.Mistake]Match{}
	for depth, frame := range g.Frames {
		f := paths[frame.Filename]
		if f == nil {
			continue
		}
		for i := range f.Mistakes {
			m, ok := g.tie(f, &f.Mistakes[i], frame)
			m.depth = depth
			if was, known := best[m.Mistake]; ok && (!known || m.How > was.How) {
				best[m.Mistake] = m
			}
		}
	}
	var all []Match
	for _, m := range best {
		all = append(all, m)
	}
	slices.SortFunc(all, byLikelihood)
	return strongest(all)
}

// tie tells what ties a mistake to a growth through a frame of its file, if anything does.
func (g *Growth) tie(f *File, m *rules.Mistake, frame snapshot.Frame) (Match, bool) {
	match := Match{File: f, Mistake: m, Frame: frame, cause: g.causeRank(m.Rule)}
	if (&rules.Rule{ID: m.Rule}).Family() != "leak" {
		return match, false
	}
	switch {
	case f.onLine(m, frame.Line):
		match.How = OnLine
	case f.functionAt(m.Start) == f.functionOf(frame):
		match.How = InFunction
	}
	switch match.How {
	case OnLine:
		return match, match.cause < notACause || m.Confidence >= rules.Medium
	case InFunction:
		return match, match.cause < notACause
	}
	return match, match.cause < notACause && m.Confidence >= rules.Medium
}

// causeRank is the place of a rule among the causes that fit a growth.
func (g *Growth) causeRank(rule string) int {
	if i := slices.Index(g.Finding.Causes, rule); i >= 0 {
		return i
	}
	return notACause
}

func byLikelihood(a, b Match) int {
	return cmp.Or(
		cmp.Compare(b.strength(), a.strength()), cmp.Compare(a.cause, b.cause), cmp.Compare(b.How, a.How),
		cmp.Compare(b.Mistake.Confidence, a.Mistake.Confidence), cmp.Compare(a.depth, b.depth),
		cmp.Compare(a.File.Path, b.File.Path), cmp.Compare(a.Mistake.Start, b.Mistake.Start),
	)
}

// strength puts a line and a function on one level: which of two mistakes in a function is
// the one, the causes tell better than the line that happened to allocate.
func (m *Match) strength() int {
	if m.How == InFile {
		return 0
	}
	return 1
}

// strongest leaves out what is tied by the file alone where something else is tied better,
// or where there are several of them.
func strongest(all []Match) []Match {
	weak := slices.IndexFunc(all, func(m Match) bool { return m.How == InFile })
	switch {
	case weak > 0:
		return all[:weak]
	case weak == 0 && len(all) > 1:
		return nil
	}
	return all
}
