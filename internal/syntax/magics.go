package syntax

import (
	"regexp"
	"slices"
	"strings"
)

// IPython's own commands, where Python has nothing: %magic, !shell, ?help, help?, and the
// same behind an assignment. What stands in their place is 0 and spaces, so that every
// statement around them stays one, and every offset behind them stays in its column.
var (
	magicLine   = regexp.MustCompile(`^([ \t]*)(?:[%!?]|,[A-Za-z]|;[A-Za-z]|/[A-Za-z])`)
	magicValue  = regexp.MustCompile(`^([ \t]*[A-Za-z_][\w., \[\]'"]*=[ \t]*)(?:%[A-Za-z]|!)`)
	helpLine    = regexp.MustCompile(`^([ \t]*)[\w.*%][\w.*\[\]'"]*\?\??[ \t;]*$`)
	cellMagic   = regexp.MustCompile(`^%%([A-Za-z]\w*)`)
	pythonCells = []string{"time", "timeit", "capture", "prun", "python", "python3", "pypy", "debug", "memit", "mprun", "snakeviz", "scalene", "heat", "wandb"}
)

// blankMagics leaves of a cell what is Python. The number of lines stays, and the columns
// of all that is left.
func blankMagics(code string) string {
	rows := strings.SplitAfter(code, "\n")
	if blanked := blankCell(rows); blanked {
		return strings.Join(rows, "")
	}
	var state lineState
	for k := 0; k < len(rows); k++ {
		if state.open() {
			state.feed(rows[k])
			continue
		}
		at, magic := magicAt(rows[k])
		if !magic {
			state.feed(rows[k])
			continue
		}
		more := continued(rows[k])
		rows[k] = rows[k][:at] + blank(rows[k][at:], "0")
		for more && k+1 < len(rows) {
			k++
			more = continued(rows[k])
			rows[k] = blank(rows[k], "")
		}
	}
	return strings.Join(rows, "")
}

// blankCell sees to a cell that begins with a magic for the whole of it, and reports whether
// nothing of it is Python.
func blankCell(rows []string) bool {
	first := slices.IndexFunc(rows, func(row string) bool { return strings.TrimSpace(row) != "" })
	if first < 0 {
		return false
	}
	m := cellMagic.FindStringSubmatch(rows[first])
	if m == nil {
		return false
	}
	rows[first] = blank(rows[first], "")
	if slices.Contains(pythonCells, m[1]) {
		return false
	}
	for k := range rows {
		rows[k] = blank(rows[k], "")
	}
	return true
}

// magicAt returns where in a line that begins a statement IPython's own part begins.
func magicAt(row string) (int, bool) {
	row = strings.TrimRight(row, "\n")
	for _, form := range []*regexp.Regexp{magicLine, magicValue, helpLine} {
		if m := form.FindStringSubmatchIndex(row); m != nil {
			return m[3], true
		}
	}
	return 0, false
}

func continued(row string) bool { return strings.HasSuffix(strings.TrimRight(row, "\n"), `\`) }

// blank puts spaces for what is there, with something before them.
func blank(row, first string) string {
	text, hadEnd := strings.CutSuffix(row, "\n")
	text = first + strings.Repeat(" ", max(len(text)-len(first), 0))
	if hadEnd {
		text += "\n"
	}
	return text
}

// lineState is what a line of Python leaves for the next: brackets that are open, a string
// over several lines, a backslash. Only a line that begins a statement can be a magic.
type lineState struct {
	depth int
	quote string // of an open string, three characters
	joint bool   // the line ended in a backslash
}

func (s *lineState) open() bool { return s.depth > 0 || s.quote != "" || s.joint }

func (s *lineState) feed(row string) {
	s.joint = false
	for k := 0; k < len(row); {
		if s.quote != "" {
			k = s.inString(row, k)
			continue
		}
		switch c := row[k]; c {
		case '(', '[', '{':
			s.depth++
		case ')', ']', '}':
			s.depth = max(s.depth-1, 0)
		case '#':
			return
		case '\\':
			s.joint = k+2 >= len(row)
		case '"', '\'':
			k = s.startString(row, k)
			continue
		}
		k++
	}
}

// startString goes over a string of one line, or into one of several.
func (s *lineState) startString(row string, k int) int {
	quote := row[k : k+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(row[k:], triple) {
		s.quote = triple
		return k + 3
	}
	for k++; k < len(row); k++ {
		switch {
		case row[k] == '\\':
			k++
		case row[k] == quote[0], row[k] == '\n':
			return k + 1
		}
	}
	return k
}

// inString goes on to the end of the open string, or of the line.
func (s *lineState) inString(row string, k int) int {
	for ; k < len(row); k++ {
		if row[k] == '\\' {
			k++
		} else if strings.HasPrefix(row[k:], s.quote) {
			s.quote = ""
			return k + 3
		}
	}
	return k
}
