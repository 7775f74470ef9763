package term

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sites is a table as the reports have it.
func sites() *Table {
	t := &Table{Indent: 2, Columns: []Column{{Title: "size", Right: true}, {Title: "where", Cut: CutAtStart}, {Title: "what", Cut: CutAtEnd}}}
	t.Row("1.50 GiB", "/home/me/project/train.py:120", "the logits of every step of the evaluation")
	t.Cells(Cell{Text: "20.00 MiB", Style: Red}, Cell{Text: "模型.py:7"})
	t.Row()
	return t
}

func TestTable(t *testing.T) {
	tests := []struct {
		name string
		look Look
		want string
	}{
		{"in a pipe nothing is cut", Look{Unicode: true}, `
       size  where                          what
   1.50 GiB  /home/me/project/train.py:120  the logits of every step of the evaluation
  20.00 MiB  模型.py:7

`},
		{"a narrow terminal", Look{Terminal: true, Width: 30}, `
       size  where         what
   1.50 GiB  ...in.py:120  the logit...
  20.00 MiB  模型.py:7

`},
		{"colour", Look{Unicode: true, Color: true}, `
       ` + "\x1b[1msize\x1b[0m  \x1b[1mwhere\x1b[0m                          \x1b[1mwhat\x1b[0m" + `
   1.50 GiB  /home/me/project/train.py:120  the logits of every step of the evaluation
  ` + "\x1b[31m20.00 MiB\x1b[0m" + `  模型.py:7

`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := print(t, sites(), tt.look); got != tt.want[1:] {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want[1:])
			}
		})
	}
}

// TestTableFits: at any width that the columns can shrink to, no line is longer.
func TestTableFits(t *testing.T) {
	l := Look{Unicode: true, Terminal: true}
	for l.Width = 39; l.Width < 100; l.Width++ {
		for line := range strings.Lines(print(t, sites(), l)) {
			if got := Width(strings.TrimSuffix(line, "\n")); got > l.Width {
				t.Errorf("width %d: a line of %d columns: %q", l.Width, got, line)
			}
		}
	}
}

func print(t *testing.T, table *Table, l Look) string {
	t.Helper()
	var b strings.Builder
	if err := table.Print(&b, l); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTableIsHarmless: cells come from files.
func TestTableIsHarmless(t *testing.T) {
	table := &Table{Columns: []Column{{}}}
	table.Row("\x1b[2J")
	if got := print(t, table, Look{}); got != "\\x1b[2J\n" {
		t.Errorf("got %q", got)
	}
}

func TestTree(t *testing.T) {
	root := Node{Label: "reserved", Bytes: 16 << 30, Style: Bold, Children: []Node{
		{Label: "activations", Bytes: 9 << 30, Note: "saved for backward", Children: []Node{
			{Label: "layer.py:12 forward", Bytes: 9 << 30},
		}},
		{Label: "other\x1b[0m", Bytes: 1},
	}}
	tests := []struct {
		name string
		look Look
		want string
	}{
		{"unicode", Look{Unicode: true}, `
16.00 GiB  100.0 %  ████████  reserved
 9.00 GiB   56.2 %  ████▌     ├─ activations  saved for backward
 9.00 GiB   56.2 %  ████▌     │  └─ layer.py:12 forward
      1 B   <0.1 %  ▏         └─ other\x1b[0m
`},
		{"ascii", Look{}, `
16.00 GiB  100.0 %  ########  reserved
 9.00 GiB   56.2 %  #####     |- activations  saved for backward
 9.00 GiB   56.2 %  #####     |  ` + "`" + `- layer.py:12 forward
      1 B   <0.1 %  #         ` + "`" + `- other\x1b[0m
`},
		{"narrow", Look{Unicode: true, Width: 52}, `
16.00 GiB  100.0 %  ████████  reserved
 9.00 GiB   56.2 %  ████▌     ├─ activations  saved…
 9.00 GiB   56.2 %  ████▌     │  └─ layer.py:12 for…
      1 B   <0.1 %  ▏         └─ other\x1b[0m
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			if err := (Tree{Bar: 8}).Print(&b, tt.look, root); err != nil {
				t.Fatal(err)
			}
			if got := b.String(); got != tt.want[1:] {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want[1:])
			}
		})
	}
}

// TestBarWidth: a bar always takes its width, and shows what is there.
func TestBarWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part, whole := rapid.Int64().Draw(t, "part"), rapid.Int64().Draw(t, "whole")
		width := rapid.IntRange(0, 40).Draw(t, "width")
		l := Look{Unicode: rapid.Bool().Draw(t, "unicode")}
		bar := l.Bar(part, whole, width)
		if Width(bar) != width {
			t.Fatalf("Bar(%d, %d, %d) = %q", part, whole, width, bar)
		}
		if shows := strings.TrimSpace(bar) != ""; shows != (part > 0 && whole > 0 && width > 0) {
			t.Fatalf("Bar(%d, %d, %d) = %q", part, whole, width, bar)
		}
	})
}
