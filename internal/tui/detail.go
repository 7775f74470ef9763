package tui

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// factColumns is how far what is known stands from the left, behind its name.
const factColumns = 18

// fact is a name and what is known, on as many lines as it takes.
func (m *model) fact(name, what string) []string {
	lines := wrap("", what, max(1, m.width-factColumns))
	for i, text := range lines {
		lines[i] = m.line(span{fmt.Sprintf("  %-*s", factColumns-2, name), term.Bold}, plain(text))
		name = ""
	}
	return lines
}

// detail draws facts, and below them the history of key up to a whole of top bytes.
func (m *model) detail(facts [][2]string, key rowKey, top int64, room int) []string {
	lines := []string{""}
	for _, f := range facts {
		lines = append(lines, m.fact(f[0], f[1])...)
	}
	all := m.history[key]
	height := room - len(lines) - 3
	if len(all) == 0 || height < 2 || top <= 0 {
		return lines
	}
	const margin = 13 // for amounts as "1023.99 MiB"
	width := max(1, m.width-margin-2)
	shown := m.history.last(key, width)
	for _, s := range shown {
		top = max(top, s.used) // a lease whose processes use more than it holds
	}
	lines = append(lines, "")
	for i, columns := range plot(m.o.Look, shown, top, width, height) {
		label := ""
		switch i {
		case 0:
			label = units.FormatBytes(top)
		case height - 1:
			label = "0"
		}
		lines = append(lines, m.line(append([]span{plain(fmt.Sprintf("%*s |", margin-2, label))}, columns...)...))
	}
	caption := fmt.Sprintf("%*s  the last %s", margin-2, "", spanText(age(shown)))
	if last := shown[len(shown)-1]; last.reserved > 0 {
		caption += fmt.Sprintf("   %s allocated   %s reserved   %s other use", partAllocated.glyphFor(m.o.Look), partReserved.glyphFor(m.o.Look), partRest.glyphFor(m.o.Look))
	}
	return append(lines, m.line(plain(caption)))
}
