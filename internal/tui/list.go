package tui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/term"
)

// column is one of a list's: how it looks, and how it sorts.
type column[R any] struct {
	title   string
	from    int // columns of the window from which it shows; it always does while it is sorted by
	right   bool
	cut     term.Cut
	text    func(R) string
	compare func(a, b R) int // what comes first is less
	most    bool             // the largest comes first, not the smallest
}

// list is a table that sorts by any of its columns, of which one row is chosen.
type list[R any, K comparable] struct {
	columns func() []column[R] // the first is what it sorts by when the one of by is missing
	key     func(R) K
	style   func(R) term.Style
	by      string // title of a column
	reverse bool
	chosen  K   // the zero value: whichever is first
	at      int // of the chosen row, for when it goes
	offset  int // of the first row that is shown
}

// sorted is the column that the rows are in order of.
func (l *list[R, K]) sorted() (all []column[R], at int) {
	all = l.columns()
	return all, max(0, slices.IndexFunc(all, func(c column[R]) bool { return c.title == l.by }))
}

// sort brings rows in order. What is alike stays as it was.
func (l *list[R, K]) sort(rows []R) {
	all, at := l.sorted()
	slices.SortStableFunc(rows, all[at].compare)
	if l.reverse {
		slices.Reverse(rows)
	}
}

// sortBy goes on to another column.
func (l *list[R, K]) sortBy(step int) {
	all, at := l.sorted()
	l.by, l.reverse = all[(at+step+len(all))%len(all)].title, false
}

// index finds the row that is chosen; the first, where none is.
func (l *list[R, K]) index(rows []R) int {
	return max(0, slices.IndexFunc(rows, func(r R) bool { return l.key(r) == l.chosen }))
}

// settle keeps the choice on a row: when the chosen one has gone, on that which took its
// place. It returns whether it had gone.
func (l *list[R, K]) settle(rows []R) (gone bool) {
	var none K
	if l.chosen == none || len(rows) == 0 {
		return l.chosen != none
	}
	i := slices.IndexFunc(rows, func(r R) bool { return l.key(r) == l.chosen })
	if gone = i < 0; gone {
		i = clamp(l.at, len(rows))
	}
	l.at, l.chosen = i, l.key(rows[i])
	return gone
}

func (l *list[R, K]) current(rows []R) *R {
	if len(rows) == 0 {
		return nil
	}
	return &rows[l.index(rows)]
}

func (l *list[R, K]) move(rows []R, by int) {
	if len(rows) > 0 {
		l.chosen = l.key(rows[clamp(l.index(rows)+by, len(rows))])
	}
}

// visible are the columns for a window of that width; 0 is one without bounds.
func (l *list[R, K]) visible(width int) []column[R] {
	all, at := l.sorted()
	by := all[at].title
	return slices.DeleteFunc(all, func(c column[R]) bool { return width > 0 && c.from > width && c.title != by })
}

// lines draws the rows that fit into room lines below the titles, among them the chosen one.
func (l *list[R, K]) lines(look term.Look, width, room int, focused bool, rows []R) []string {
	shown := max(1, room-1)
	chosen := l.index(rows)
	l.offset = max(0, min(l.offset, len(rows)-shown, chosen))
	l.offset = max(l.offset, chosen-shown+1)
	rows = rows[l.offset:min(len(rows), l.offset+shown)]
	columns := l.visible(width)
	table := term.Table{Columns: append([]term.Column{{Title: " "}}, l.heads(look, columns)...)}
	for i, r := range rows {
		table.Row(append([]string{marker(focused && i == chosen-l.offset)}, texts(columns, r)...)...)
	}
	return l.paint(look, width, table, rows, chosen-l.offset, focused)
}

func marker(chosen bool) string {
	if chosen {
		return ">"
	}
	return ""
}

func texts[R any](columns []column[R], r R) []string {
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.text(r)
	}
	return cells
}

// heads are the columns for a table, the one that is sorted by with an arrow.
func (l *list[R, K]) heads(look term.Look, columns []column[R]) []term.Column {
	up, down := " ^", " v"
	if look.Unicode {
		up, down = "▲", "▼"
	}
	_, at := l.sorted()
	by := l.columns()[at].title
	heads := make([]term.Column, len(columns))
	for i, c := range columns {
		heads[i] = term.Column{Title: c.title, Right: c.right, Cut: c.cut}
		switch {
		case c.title != by:
		case c.most != l.reverse:
			heads[i].Title += down
		default:
			heads[i].Title += up
		}
	}
	return heads
}

// paint prints a table, and colours whole rows: the chosen one over the width of the window.
func (l *list[R, K]) paint(look term.Look, width int, table term.Table, rows []R, chosen int, focused bool) []string {
	bare := look
	bare.Width, bare.Color = width, false
	var b strings.Builder
	_ = table.Print(&b, bare) // a Builder takes everything
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, text := range lines {
		style := term.Bold
		switch {
		case i == 0:
		case i == chosen+1 && focused:
			style = reversed
			if look.Color {
				text += strings.Repeat(" ", max(0, width-term.Width(text)))
			}
		default:
			style = l.style(rows[i-1])
		}
		lines[i] = paint(look, width, span{text, style})
	}
	return lines
}

// byAmount compares by an amount, the largest first, and what is not told last.
func byAmount[R any](amount func(R) *int64) func(a, b R) int {
	return func(a, b R) int {
		x, y := amount(a), amount(b)
		switch {
		case x == nil || y == nil:
			return cmp.Compare(told(y), told(x))
		default:
			return cmp.Compare(*y, *x)
		}
	}
}

func told(n *int64) int {
	if n == nil {
		return 0
	}
	return 1
}

// byText compares by the alphabet.
func byText[R any](text func(R) string) func(a, b R) int {
	return func(a, b R) int { return cmp.Compare(text(a), text(b)) }
}
