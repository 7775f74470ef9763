package report

import (
	"regexp"
	"strings"

	"github.com/ullage-dev/ullage/internal/term"
)

// Widths of running text: that of a pipe, and the most that reads well.
const (
	pipeColumns = 80
	proseMost   = 100
)

// prose lays out the little Markdown that the rules' pages use (paragraphs, lists, code
// blocks, links) as plain text.
type prose struct {
	strings.Builder
	columns int
	plain   *strings.Replacer
}

var (
	markdownLink     = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)
	markdownEmphasis = regexp.MustCompile(`(^|[\s(])\*([^*\s][^*]*)\*`)
)

func newProse(l term.Look) *prose {
	p := &prose{columns: pipeColumns, plain: strings.NewReplacer()}
	if l.Width > 0 {
		p.columns = max(min(l.Width, proseMost), 20)
	}
	if !l.Unicode {
		p.plain = strings.NewReplacer("→", "->", "×", "x", "÷", "/", "–", "-", "−", "-", "…", "...", "µ", "u")
	}
	return p
}

func (p *prose) line(text string) {
	p.WriteString(p.plain.Replace(text))
	p.WriteByte('\n')
}

// text prints Markdown, indented.
func (p *prose) text(indent int, markdown string) {
	margin := strings.Repeat(" ", indent)
	var paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			p.paragraph(margin, strings.Join(paragraph, " "))
			paragraph = nil
		}
	}
	code := false
	for line := range strings.SplitSeq(markdown, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			code = !code
		case code:
			p.line(strings.TrimRight(margin+"  "+line, " "))
		case line == "":
			flush()
			p.line("")
		case strings.HasPrefix(line, "- "):
			flush()
			paragraph = []string{line}
		default:
			paragraph = append(paragraph, strings.TrimSpace(line))
		}
	}
	flush()
}

// paragraph wraps words; an item of a list hangs.
func (p *prose) paragraph(margin, text string) {
	text = markdownLink.ReplaceAllString(text, "$1")
	text = p.plain.Replace(markdownEmphasis.ReplaceAllString(text, "$1$2"))
	hang := margin
	if strings.HasPrefix(text, "- ") {
		hang += "  "
	}
	line, width := margin, term.Width(margin)
	for i, word := range strings.Fields(text) {
		w := term.Width(word)
		if i > 0 && width+1+w > p.columns {
			p.line(line)
			line, width = hang, term.Width(hang)
		} else if i > 0 {
			line += " "
			width++
		}
		line += word
		width += w
	}
	p.line(line)
}

// hanging prints text behind a label, wrapped to the right of it.
func (p *prose) hanging(label, text string) { p.hangingBehind(label, len(label), text) }

// hangingBehind does so behind a label that is painted, and so wide.
func (p *prose) hangingBehind(label string, width int, text string) {
	inner := &prose{columns: max(p.columns-width, 20), plain: p.plain}
	inner.paragraph("", term.Clean(text))
	for i, line := range strings.Split(strings.TrimRight(inner.String(), "\n"), "\n") {
		if i > 0 {
			label = strings.Repeat(" ", width)
		}
		p.line(label + line)
	}
}
