package lint

import "strings"

// choice is which rules are asked for, by beginnings of ids. The longer beginning counts, so
// that a family can be ignored but for one rule; of two that are as long, ignoring does.
type choice struct {
	selected []string // empty: all
	ignored  []string
}

func (c choice) has(id string) bool {
	in := longest(c.selected, id)
	if len(c.selected) == 0 {
		in = 0
	}
	return in > longest(c.ignored, id)
}

// longest is the length of the longest beginning of an id; -1 where none is.
func longest(beginnings []string, id string) int {
	n := -1
	for _, b := range beginnings {
		if strings.HasPrefix(id, b) {
			n = max(n, len(b))
		}
	}
	return n
}
