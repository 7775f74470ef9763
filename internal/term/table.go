package term

import (
	"io"
	"strings"
)

// Table lays out rows of text in columns, two spaces apart. On a terminal, columns that
// may be cut are, so that a row keeps to its line; in a pipe nothing is ever cut.
type Table struct {
	Columns []Column
	Indent  int // columns left free before each row

	rows [][]Cell
}

// Column says how a column of a Table looks.
type Column struct {
	Title string // a table in which no column has a title prints no head
	Right bool   // aligned to the right: numbers
	Cut   Cut
}

// Cut says whether a column may lose text where the terminal is too narrow.
type Cut uint8

// The ways to cut.
const (
	CutNever Cut = iota
	CutAtEnd
	CutAtStart
)

// minColumn is the width below which a column is not cut: less says nothing.
const minColumn = 12

const columnGap = 2

// Cell is a text in a Style.
type Cell struct {
	Text  string
	Style Style
}

// Row adds a row of plain cells. Missing ones are empty.
func (t *Table) Row(texts ...string) {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	t.Cells(row...)
}

// Cells adds a row. It panics where there are more cells than columns.
func (t *Table) Cells(cells ...Cell) {
	row := make([]Cell, len(t.Columns))
	if len(cells) > len(row) {
		panic("term: a row has more cells than the table has columns")
	}
	copy(row, cells)
	for i := range row {
		row[i].Text = Clean(row[i].Text)
	}
	t.rows = append(t.rows, row)
}

// Print writes the table for a stream that looks like l.
func (t *Table) Print(w io.Writer, l Look) error {
	rows := t.rows
	if head, ok := t.head(); ok {
		rows = append([][]Cell{head}, rows...)
	}
	widths := t.widths(rows)
	if l.Width > 0 {
		t.shrink(widths, l.Width)
	}
	var b strings.Builder
	for _, row := range rows {
		t.line(&b, l, row, widths)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) head() (row []Cell, ok bool) {
	row = make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		row[i] = Cell{c.Title, Bold}
		ok = ok || c.Title != ""
	}
	return row, ok
}

// widths returns what each column takes uncut.
func (t *Table) widths(rows [][]Cell) []int {
	widths := make([]int, len(t.Columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], Width(cell.Text))
		}
	}
	return widths
}

// shrink takes from the widest column that may be cut until the row fits in total columns
// or nothing is left to take.
func (t *Table) shrink(widths []int, total int) {
	excess := t.Indent + columnGap*(len(widths)-1) - total
	for _, w := range widths {
		excess += w
	}
	for ; excess > 0; excess-- {
		widest := -1
		for i, w := range widths {
			if t.Columns[i].Cut != CutNever && w > minColumn && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// line writes one row. Paint ends before the padding, so trimming takes only spaces that
// nobody sees.
func (t *Table) line(b *strings.Builder, l Look, row []Cell, widths []int) {
	line := strings.Repeat(" ", t.Indent)
	for i, cell := range row {
		if i > 0 {
			line += strings.Repeat(" ", columnGap)
		}
		text := t.fit(l, cell.Text, i, widths[i])
		pad := padding(text, widths[i])
		if t.Columns[i].Right {
			line += pad + l.Paint(cell.Style, text)
		} else {
			line += l.Paint(cell.Style, text) + pad
		}
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

func (t *Table) fit(l Look, text string, column, width int) string {
	switch t.Columns[column].Cut {
	case CutAtEnd:
		return l.CutEnd(text, width)
	case CutAtStart:
		return l.CutStart(text, width)
	}
	return text
}
