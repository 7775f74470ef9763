package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/lint"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// LintVerdict is what was found, in one sentence.
func LintVerdict(r *lint.Result) string {
	in := map[string]bool{}
	var leaks, others, minor int
	for _, f := range r.Findings {
		in[f.File] = true
		switch {
		case !f.Probable():
			minor++
		case strings.HasPrefix(f.Rule, "leak/"):
			leaks++
		default:
			others++
		}
	}
	var found []string
	if leaks > 0 {
		found = append(found, units.FormatPlural(leaks, "probable leak", "probable leaks"))
	}
	if others > 0 && leaks > 0 {
		found = append(found, units.FormatPlural(others, "other mistake", "other mistakes"))
	} else if others > 0 {
		found = append(found, units.FormatPlural(others, "probable mistake", "probable mistakes"))
	}
	if minor > 0 {
		found = append(found, fmt.Sprintf("%d that may be none or do little harm", minor))
	}
	if len(found) == 0 {
		return "Nothing found in " + units.FormatPlural(r.Files, "file", "files")
	}
	return fmt.Sprintf("%s in %s", joinAnd(found), ofFiles(len(in), r.Files))
}

func ofFiles(some, all int) string {
	if some == all {
		return units.FormatPlural(all, "file", "files")
	}
	return fmt.Sprintf("%d of %s", some, units.FormatPlural(all, "file", "files"))
}

func joinAnd(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// LintText prints findings for people.
func LintText(w io.Writer, l term.Look, r *lint.Result) error {
	p := &lintPage{prose: newProse(l), look: l}
	p.line(l.Paint(term.Bold, LintVerdict(r)+"."))
	for i := range r.Findings {
		p.finding(&r.Findings[i])
	}
	p.grew(r.Grew)
	if hidden := lintHidden(r.Hidden); hidden != "" {
		p.line("")
		p.line(l.Paint(term.Dim, hidden))
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// grew prints where memory grew, and no rule says why.
func (p *lintPage) grew(places []lint.Grew) {
	if len(places) == 0 {
		return
	}
	p.line("")
	p.line(p.look.Paint(term.Bold, "Memory grew here too, and no rule matches:"))
	for _, g := range places {
		at := fmt.Sprintf("%s:%d", g.File, g.Line)
		if g.File == "" {
			at = fmt.Sprintf("line %d of a file that is not among these", g.Line)
		}
		p.line("")
		p.line(term.Clean(fmt.Sprintf("%s: in %s", at, g.Function)))
		if g.Source != "" {
			p.line(p.look.Paint(term.Dim, fmt.Sprintf("%5d | ", g.Line)) + term.Clean(g.Source))
		}
		p.item("grew", g.What)
		p.item("in", g.Recording)
	}
}

// lintHidden says what is not shown, and why.
func lintHidden(h lint.Hidden) string {
	var parts []string
	if h.Level > 0 {
		parts = append(parts, fmt.Sprintf("%d that may be none or do little harm (--all)", h.Level))
	}
	if h.Comments > 0 {
		parts = append(parts, fmt.Sprintf("%d that comments hide", h.Comments))
	}
	if h.Baseline > 0 {
		parts = append(parts, fmt.Sprintf("%d in the baseline", h.Baseline))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Not shown: " + strings.Join(parts, ", ") + "."
}

type lintPage struct {
	*prose
	look term.Look
}

func (p *lintPage) finding(f *lint.Finding) {
	p.line("")
	sure := ""
	if f.Confidence == rules.Low {
		sure = " (may be none)"
	}
	p.line(fmt.Sprintf("%s:%s: %s %s: %s%s", term.Clean(f.File), f.From.Position, p.look.Paint(severityStyles[f.Severity], f.Severity.String()),
		p.look.Paint(term.Bold, f.Rule), term.Clean(f.Message), sure))
	p.source(f)
	for _, e := range f.Evidence {
		p.item("because", e)
	}
	for i, r := range f.Related {
		if at := lintLine(f, f.Places[i]); !mentions(f.Evidence, at) {
			p.item("see", at+": "+r.What)
		}
	}
	if f.Remedy != "" {
		p.item("do", f.Remedy)
	}
	if f.Fix != nil {
		p.item("fix", f.Fix.What+" (--fix does it)")
	}
}

// lintLine names a place of the file that a finding is in.
func lintLine(f *lint.Finding, at lint.Place) string {
	if at.Cell > 0 && at.Cell != f.From.Cell {
		return fmt.Sprintf("cell %d, line %d", at.Cell, at.Line)
	}
	return fmt.Sprintf("line %d", at.Line)
}

// mentions tells whether one of some texts is about a line, whose place need not be told again.
func mentions(texts []string, line string) bool {
	return slices.ContainsFunc(texts, func(t string) bool { return strings.HasPrefix(t, line+":") })
}

// item prints a text behind a word, with its further lines below its first.
func (p *lintPage) item(word, text string) {
	p.hangingBehind("  "+p.look.Paint(term.Dim, fmt.Sprintf("%-8s", word)), 10, text)
}

// Bounds of the source line that is shown, in characters.
const (
	lintLineMost   = 120
	lintLineBefore = 60 // of what is marked, where the line is longer
)

// source prints the line with its mark.
func (p *lintPage) source(f *lint.Finding) {
	line := []rune(strings.ReplaceAll(f.Line, "\t", " "))
	from := min(f.From.Column-1, len(line))
	to := len([]rune(strings.TrimRight(string(line), " ")))
	if f.To.Cell == f.From.Cell && f.To.Line == f.From.Line {
		to = min(f.To.Column-1, len(line))
	}
	to = max(to, from)
	begin := 0
	if len(line) > lintLineMost {
		begin = max(0, from-lintLineBefore)
	}
	end := min(len(line), begin+lintLineMost)
	to = min(to, end)
	number := fmt.Sprintf("%5d", f.From.Line)
	before, marked := term.Clean(string(line[begin:from])), term.Clean(string(line[from:to]))
	p.line(p.look.Paint(term.Dim, number+" | ") + before + marked + term.Clean(string(line[to:end])))
	mark := strings.Repeat(" ", term.Width(before)) + strings.Repeat("^", max(term.Width(marked), 1))
	p.line(p.look.Paint(term.Dim, strings.Repeat(" ", len(number))+" | ") + p.look.Paint(severityStyles[f.Severity], mark))
}

// LintDiff prints what repairs change, as a patch.
func LintDiff(w io.Writer, l term.Look, fixed []lint.Fixed) error {
	styles := map[byte]term.Style{'+': term.Green, '-': term.Red, '@': term.Cyan}
	var b strings.Builder
	for _, f := range fixed {
		for line := range strings.SplitSeq(strings.TrimSuffix(f.Diff, "\n"), "\n") {
			style := term.Plain
			if line != "" {
				style = styles[line[0]]
			}
			b.WriteString(l.Paint(style, cleanTabs(line)) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cleanTabs cleans a line of source, whose tabs are harmless.
func cleanTabs(line string) string {
	parts := strings.Split(strings.TrimSuffix(line, "\r"), "\t")
	for i := range parts {
		parts[i] = term.Clean(parts[i])
	}
	return strings.Join(parts, "\t")
}
