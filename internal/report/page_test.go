package report

import (
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/term"
)

// TestMarkdownKeepsToTheLine: a name with line breaks and control characters ends no
// row of a table, and reaches no terminal.
func TestMarkdownKeepsToTheLine(t *testing.T) {
	const name = "a\nb\x1b[31m\r\x00\u202e|c"
	p := newPage(term.Look{}, true)
	g := newGrid("where")
	g.row(name)
	p.grid(g)
	p.title(name)
	p.strong(term.Red, name)
	p.text(0, name)
	out := p.String()
	if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && (r < ' ' || r == '\u202e') }); i >= 0 {
		t.Errorf("%q holds a control character", out[i:])
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "b") {
			t.Errorf("a name breaks its line: %q", out)
		}
	}
}
