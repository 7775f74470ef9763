// Package report turns results into text, Markdown and JSON. A report is a pure
// function of its result and of what the stream can show.
package report

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/term"
)

// page is a report in the making, as plain text or as Markdown.
type page struct {
	*prose
	look     term.Look
	markdown bool

	x *analyze.Explanation
	o ExplainOptions
}

func newPage(l term.Look, markdown bool) *page {
	if markdown {
		l = term.Look{Unicode: true}
	}
	return &page{prose: newProse(l), look: l, markdown: markdown}
}

// title is the line above everything else.
func (p *page) title(text string) {
	if p.markdown {
		p.line("# " + escape(text))
		p.line("")
		return
	}
	p.line(p.look.Paint(term.Dim, term.Clean(text)))
}

// strong prints a paragraph that stands out.
func (p *page) strong(s term.Style, text string) {
	if p.markdown {
		p.line("**" + escape(text) + "**")
		return
	}
	q := newProse(p.look)
	q.text(0, term.Clean(text))
	for line := range strings.SplitSeq(strings.TrimRight(q.String(), "\n"), "\n") {
		p.line(p.look.Paint(s, line))
	}
}

func (p *page) heading(text string) {
	if !p.markdown || !strings.HasSuffix(p.String(), "\n\n") {
		p.line("")
	}
	if p.markdown {
		p.line("## " + escape(text))
		p.line("")
		return
	}
	p.line(p.look.Paint(term.Bold, text))
}

func (p *page) subheading(text string) {
	if p.markdown {
		p.line("### " + capital(text))
		p.line("")
		return
	}
	p.line("  " + p.look.Paint(term.Dim, text))
}

// text prints running text. In Markdown the reader's program wraps it.
func (p *page) text(indent int, text string) {
	text = term.Clean(text)
	if !p.markdown {
		p.prose.text(indent, text)
		return
	}
	item, ok := strings.CutPrefix(text, "- ")
	if ok {
		p.line("- " + escape(item))
		return
	}
	p.line(escape(text))
	p.line("")
}

// escape keeps names in a report from being read as Markdown or HTML. What stands
// between backticks is code, in which nothing needs it but the border of a table. A
// line break or a control character would end a row of a table, or worse.
func escape(text string) string {
	text = term.Clean(text)
	parts := strings.Split(text, "`")
	if len(parts)%2 == 0 {
		return markdownEscape.Replace(text)
	}
	for i, part := range parts {
		if i%2 == 0 {
			parts[i] = markdownEscape.Replace(part)
		} else {
			parts[i] = strings.ReplaceAll(part, "|", "\\|")
		}
	}
	return strings.Join(parts, "`")
}

var markdownEscape = strings.NewReplacer("\\", "\\\\", "*", "\\*", "_", "\\_", "<", "&lt;", "`", "\\`", "|", "\\|", "[", "\\[", "]", "\\]")

// grid is a table in the making. A title that begins with ">" is of numbers.
type grid struct {
	titles []string
	head   bool // print the titles; Markdown always does
	rows   [][]string
}

func newGrid(titles ...string) *grid { return &grid{titles: titles} }

func (g *grid) row(cells ...string) { g.rows = append(g.rows, cells) }

func (p *page) grid(g *grid) {
	if p.markdown {
		p.markdownTable(g)
		return
	}
	t := term.Table{Indent: 2}
	for i, title := range g.titles {
		c := term.Column{Right: strings.HasPrefix(title, ">")}
		if g.head {
			c.Title = strings.ToUpper(strings.TrimPrefix(title, ">"))
		}
		if i == len(g.titles)-1 {
			c.Cut = term.CutAtEnd
		}
		t.Columns = append(t.Columns, c)
	}
	for _, r := range g.rows {
		cells := make([]string, len(r))
		for i, c := range r {
			cells[i] = p.plain.Replace(term.Clean(c))
		}
		t.Row(cells...)
	}
	_ = t.Print(p, p.look) // a strings.Builder never fails
}

func (p *page) markdownTable(g *grid) {
	head, rule := make([]string, len(g.titles)), make([]string, len(g.titles))
	for i, title := range g.titles {
		head[i], rule[i] = strings.TrimPrefix(title, ">"), "---"
		if head[i] != title {
			rule[i] = "--:"
		}
	}
	p.line("| " + strings.Join(head, " | ") + " |")
	p.line("| " + strings.Join(rule, " | ") + " |")
	for _, r := range g.rows {
		cells := make([]string, len(r))
		for i, c := range r {
			cells[i] = escape(c)
		}
		p.line("| " + strings.Join(cells, " | ") + " |")
	}
	p.line("")
}

func (p *page) tree(t term.Tree, roots ...term.Node) {
	if p.markdown {
		p.line("```")
	}
	_ = t.Print(p, p.look, roots...)
	if p.markdown {
		p.line("```")
	}
}

var severityStyles = map[rules.Severity]term.Style{rules.Error: term.Red, rules.Warning: term.Yellow, rules.Info: term.Cyan}

// maxRemedies and maxFrames bound what a finding shows: the page of its rule has the rest.
const (
	maxRemedies = 3
	maxFrames   = 6
)

// finding prints one finding: what, on which evidence, where, and what to do.
func (p *page) finding(f *rules.Finding) {
	if p.markdown {
		p.line(fmt.Sprintf("### %s: %s%s", f.Severity, f.Rule, sureness(f)))
		p.line("")
	} else {
		p.line("  " + p.look.Paint(severityStyles[f.Severity], f.Severity.String()) + " " + p.look.Paint(term.Bold, f.Rule) + p.look.Paint(term.Dim, sureness(f)))
	}
	p.text(4, capital(f.Title)+".")
	for _, e := range f.Evidence {
		p.text(4, "- "+e)
	}
	matters := f.Severity > rules.Info
	if matters {
		p.frames(f)
		p.causes(f)
	}
	p.named(f)
	for n, r := range f.Remedies {
		if n == maxRemedies || n == 1 && !matters {
			break
		}
		p.text(4, "- Do: "+strings.TrimSuffix(r.Do, ".")+effectText(r))
	}
}

// named prints the mistakes in the source that a finding may come from.
func (p *page) named(f *rules.Finding) {
	for i, n := range f.Named {
		how := map[rules.Confidence]string{rules.Low: "It could come from", rules.Medium: "It may come from", rules.High: "Most likely it comes from"}[n.Confidence]
		if i > 0 {
			how = "What would keep it, too:"
		}
		p.text(4, fmt.Sprintf("- %s %s:%d, %s: %s", how, n.File, n.Line, n.Rule, n.Message))
		p.text(6, n.Code)
		if n.Doubt != "" && i == 0 {
			p.text(6, sentence(n.Doubt))
		}
	}
	if f.Unnamed != "" {
		p.text(4, "- In the source: "+f.Unnamed)
	}
}

// sureness says how sure a finding is, where it is not certain.
func sureness(f *rules.Finding) string {
	if f.Confidence >= rules.High {
		return ""
	}
	return fmt.Sprintf(" (%s confidence)", f.Confidence)
}

func (p *page) causes(f *rules.Finding) {
	if n := min(len(f.Causes), 4); n > 0 {
		p.text(4, "- Causes that fit, likeliest first: "+strings.Join(f.Causes[:n], ", ")+" ('ullage rules ID' explains each)")
	}
}

func effectText(r rules.Remedy) string {
	if r.Effect == "" {
		return "."
	}
	return ". Effect: " + strings.TrimSuffix(r.Effect, ".") + "."
}

// frames prints a finding's stack, library frames folded.
func (p *page) frames(f *rules.Finding) {
	indent := "      "
	if p.markdown {
		indent = ""
		p.line("")
		p.line("```")
	}
	for i, text := range analyze.FoldFrames(f.Stack) {
		if i == maxFrames {
			text = "…"
		}
		p.line(indent + p.plain.Replace(term.Clean(text)))
		if i == maxFrames {
			break
		}
	}
	if p.markdown {
		p.line("```")
	}
}

// sentence makes a sentence of half of one.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.TrimSuffix(capital(s), ".") + "."
}

// capital begins a sentence with a capital, unless its first word is a name that is
// written as it is: cuBLAS, a file, a setting.
func capital(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if s == "" || strings.ContainsAny(first, "._/\\:=") || strings.ToLower(first) != first {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
