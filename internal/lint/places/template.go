package places

import (
	"regexp"
	"strings"
)

// action is what a template of Go, as a chart's, puts something in the place of.
var action = regexp.MustCompile(`(?s)\{\{.*?\}\}`)

// withoutActions makes YAML of a template of it, every byte at its place: a line of actions
// alone becomes blank, an action beside text a value that is not known. template tells
// whether there were any. What a template makes when it is filled in has more than what is
// left, or less: both branches of a condition are in it.
func withoutActions(text string) (plain string, template bool) {
	if !strings.Contains(text, "{{") {
		return text, false
	}
	b := []byte(text)
	for _, at := range action.FindAllStringIndex(text, -1) {
		with := byte('$') // begins what is made when the template is filled in
		if aloneOnLines(text, at[0], at[1]) {
			with = ' '
		}
		for i := at[0]; i < at[1]; i++ {
			if b[i] != '\n' && b[i] != '\r' {
				b[i] = with
			}
		}
	}
	return string(b), true
}

// aloneOnLines tells whether nothing but actions is on the lines of a piece of the text.
func aloneOnLines(text string, start, end int) bool {
	first := strings.LastIndexByte(text[:start], '\n') + 1
	last := len(text)
	if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
		last = end + i
	}
	return strings.TrimSpace(action.ReplaceAllString(text[first:last], "")) == ""
}
