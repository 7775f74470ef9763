package code

import (
	"strings"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// stringText returns what a string says. What an f-string puts in when the program runs is {}
// in it, and then it is not whole. Escapes stay as they are written.
func stringText(n syntax.Node) (text string, whole, ok bool) {
	switch n.Kind() {
	case "parenthesized_expression":
		return stringText(n.Child(0))
	case "concatenated_string":
		whole = true
		for part := range n.Children() {
			t, w, _ := stringText(part)
			text, whole = text+t, whole && w
		}
		return text, whole, true
	case "string":
		var b strings.Builder
		whole = true
		for part := range n.Children() {
			switch part.Kind() {
			case "string_content":
				b.WriteString(part.Text())
			case "interpolation":
				b.WriteString("{}")
				whole = false
			}
		}
		return b.String(), whole, true
	}
	return "", false, false
}

// literal returns the text of a string that is known before the run.
func literal(n syntax.Node) (string, bool) {
	text, whole, ok := stringText(n)
	return text, ok && whole
}

// longestName is how much of an expression a message shows.
const longestName = 40

// short returns an expression on one line, cut where it is long, for messages.
func short(n syntax.Node) string {
	text := strings.Join(strings.Fields(n.Text()), " ")
	if r := []rune(text); len(r) > longestName {
		return string(r[:longestName-1]) + "…"
	}
	return text
}

// lastPart returns the last part of a dotted name.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// lastName returns the last part of a dotted name in the source, in small letters.
func lastName(n syntax.Node) string { return lastPart(strings.ToLower(n.Text())) }

// startsUpper reports whether the last part of a dotted name begins as a class's does, by custom.
func startsUpper(name string) bool {
	last := lastPart(name)
	return last != "" && last[0] >= 'A' && last[0] <= 'Z'
}
