package rules

import (
	"cmp"
	"slices"
	"strings"
)

// near returns up to n ids that look like id, nearest first. An id is near when at
// most a third of it has to be changed, or when it holds the name that was typed.
func near(id string, n int) []string {
	const longest = 64 // no id is half as long, and the cost grows with the square
	if len(id) > longest {
		return nil
	}
	type candidate struct {
		id   string
		cost int
	}
	var found []candidate
	_, typed, _ := strings.Cut(id, "/")
	typed = cmp.Or(typed, id)
	for _, r := range All() {
		_, name, _ := strings.Cut(r.ID, "/")
		cost := min(distance(id, r.ID), distance(typed, name))
		if len(typed) >= 3 && strings.Contains(name, typed) {
			cost = min(cost, 1)
		}
		if cost <= max(len(typed)/3, 1) {
			found = append(found, candidate{r.ID, cost})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	var ids []string
	for _, c := range found[:min(n, len(found))] {
		ids = append(ids, c.id)
	}
	return ids
}

// distance is the number of letters to add, remove or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
