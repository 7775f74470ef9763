package term

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Width returns the columns that s takes on a terminal: two for East Asian wide characters
// and most emoji, none for combining marks. s holds no escape sequences: paint after
// measuring.
func Width(s string) int {
	if isASCII(s) {
		return len(s)
	}
	return uniseg.StringWidth(s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Clean makes text from a file harmless on a terminal: anyone may have made the file, so
// control characters (escape sequences begin with one), the marks that reverse the order
// of writing, and bytes that are no UTF-8 are shown escaped, as in Go source. A line break
// becomes "; ".
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n':
			b.WriteString("; ")
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !isHarmful(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func isClean(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, isHarmful) < 0
}

func isHarmful(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// CutEnd shortens s to at most width columns, the last of which then shows that something
// is missing.
func (l Look) CutEnd(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	mark := l.ellipsis()
	room := width - Width(mark)
	if room < 0 {
		return ""
	}
	end := 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if room -= g.Width(); room < 0 {
			break
		}
		_, end = g.Positions()
	}
	return s[:end] + mark
}

// CutStart shortens s from the front: of a path the end tells most.
func (l Look) CutStart(s string, width int) string {
	excess := Width(s) - width
	if excess <= 0 {
		return s
	}
	mark := l.ellipsis()
	if Width(mark) > width {
		return ""
	}
	excess += Width(mark)
	start := 0
	for g := uniseg.NewGraphemes(s); excess > 0 && g.Next(); {
		excess -= g.Width()
		_, start = g.Positions()
	}
	return mark + s[start:]
}

func (l Look) ellipsis() string {
	if l.Unicode {
		return "…"
	}
	return "..."
}

// padding returns the spaces that bring s to width columns.
func padding(s string, width int) string {
	return strings.Repeat(" ", max(0, width-Width(s)))
}
