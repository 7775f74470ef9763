package syntax

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestRewrite makes one change, and compares the whole file.
func TestRewrite(t *testing.T) {
	const notebook = `{
 "cells": [
  {"cell_type": "markdown", "source": ["total += loss\n"]},
  {"metadata": {"a": [1, {}]}, "source": ["%time x\r\n", "s = \"é \\ud83d\\ude00\"\n", "total += loss\n", "f()"], "cell_type": "code",
   "outputs": [{"text": "total += loss"}]},
  {"cell_type": "code", "source": ""}
 ],
 "nbformat": 4
}`
	tests := []struct{ name, file, in, old, new, want string }{
		{"text", "a.py", "total += loss\nf()\n", "loss", "loss.item()", "total += loss.item()\nf()\n"},
		{"mark", "a.py", "\xef\xbb\xbftotal += loss\n", "loss", "x", "\xef\xbb\xbftotal += x\n"},
		{"CR LF", "a.py", "if a:\r\n    loss\r\n", "loss", "x\n    y", "if a:\r\n    x\r\n    y\r\n"},
		{"CR alone", "a.py", "if a:\r    loss\r", "loss", "x\n    y", "if a:\r    x\r    y\r"},
		{"latin-1", "a.py", "# coding: latin-1\ns = '\xe9\xff'; loss\n# \xe9", "loss", "x", "# coding: latin-1\ns = '\xe9\xff'; x\n# \xe9"},
		{"cp1252", "a.py", "# coding: cp1252\ns = '\x80'; loss", "loss", "x", "# coding: cp1252\ns = '\x80'; x"},
		{"GBK without Chinese", "a.py", "# coding: gbk\nloss", "loss", "x", "# coding: gbk\nx"},
		{"cell", "a.ipynb", notebook, "loss", "loss.item() # \"<é>\"", strings.Replace(notebook, "total += loss\\n\", \"f", "total += loss.item() # \\\"<é>\\\"\\n\", \"f", 1)},
		{"end of a cell", "a.ipynb", notebook, "f()", "g()", strings.Replace(notebook, `"f()"`, `"g()"`, 1)},
		{"over two texts", "a.ipynb", notebook, "loss\nf", "x\ng", strings.Replace(notebook, `loss\n", "f()"`, `x\ng()"`, 1)},
		{"escaped", "a.ipynb", notebook, "é 😀", "e", strings.Replace(notebook, `é \\ud83d\\ude00`, "e", 1)},
		{"format 3", "a.ipynb", `{"worksheets": [{"cells": [{"cell_type": "code", "input": ["a\n", "loss"]}], "m": 1}]}`, "loss", "x", `{"worksheets": [{"cells": [{"cell_type": "code", "input": ["a\n", "x"]}], "m": 1}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in, want := strings.ReplaceAll(tt.in, `\\ud`, `\ud`), strings.ReplaceAll(tt.want, `\\ud`, `\ud`)
			src, err := Read(tt.file, []byte(in))
			if err != nil {
				t.Fatal(err)
			}
			raw, err := NewRaw(src, []byte(in))
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.Index(src.Text, []byte(tt.old))
			got, err := raw.Rewrite([]Edit{{at, at + len(tt.old), tt.new}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRewriteRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"# coding: gbk\ns = '\xc4\xe3'\n":     "a.py: has text in gbk",
		"# coding: latin-1\ns = '\xe9'\nloss": "a.py: 3:1: the change has characters",
	} {
		src, err := Read("a.py", []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := NewRaw(src, []byte(in))
		if err == nil {
			at := bytes.Index(src.Text, []byte("loss"))
			_, err = raw.Rewrite([]Edit{{at, at + 4, "é"}})
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestRawPosition: a place in a cell is a line of the file.
func TestRawPosition(t *testing.T) {
	in := []byte("{\"cells\": [{\"cell_type\": \"code\",\n \"source\": [\n  \"a\\n\",\n  \"é = loss\"\n]}]}")
	src, err := Read("a.ipynb", in)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := NewRaw(src, in)
	if err != nil {
		t.Fatal(err)
	}
	if got := raw.Position(bytes.Index(src.Text, []byte("loss"))); got != (Position{Line: 4, Column: 8}) {
		t.Errorf("got %v", got)
	}
}

// TestRewriteNotebook: whatever is in the cells, a change of the text is the same change of
// the file's text when it is read again.
func TestRewriteNotebook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[a-z "\\é😀\t]{0,6}(\r\n|\n|\r|)`)
		var b bytes.Buffer
		b.WriteString(`{"cells": [`)
		for k, cell := range rapid.SliceOfN(rapid.SliceOf(line), 1, 3).Draw(t, "cells") {
			if k > 0 {
				b.WriteString(",\n")
			}
			b.WriteString(`{"cell_type": "code", "source": [`)
			for i, text := range cell {
				if i > 0 {
					b.WriteString(", ")
				}
				b.WriteString(`"` + string(escapeJSON(text)) + `"`)
			}
			b.WriteString("]}")
		}
		b.WriteString("]}")
		src, err := Read("a.ipynb", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		raw, err := NewRaw(src, b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		runes := bytes.Runes(src.Text)
		from := rapid.IntRange(0, len(runes)-1).Draw(t, "from")
		to := rapid.IntRange(from, min(from+3, len(runes)-1)).Draw(t, "to")
		if strings.Contains(string(runes[from:to+1]), "\n") {
			return // whether a cell ends in a line end is not in its text
		}
		start, end := len(string(runes[:from])), len(string(runes[:to]))
		out, err := raw.Rewrite([]Edit{{start, end, `x="1"`}})
		if err != nil {
			return // an empty cell
		}
		again, err := Read("a.ipynb", out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want := string(src.Text[:start]) + `x="1"` + string(src.Text[end:])
		if got := string(again.Text); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// FuzzRaw: whatever a file has, a change of its text is made in the file or refused, and no
// change leaves it as it is.
func FuzzRaw(f *testing.F) {
	f.Add("a.ipynb", `{"cells": [{"cell_type": "code", "source": ["a\r", "\nb", "\ud800\u00e9"]}, {"cell_type": "code", "cell_type": "raw", "source": 1}]}`, uint8(2))
	f.Add("a.ipynb", `{"worksheets": [{"cells": [{"cell_type": "code", "input": "a", "source": []}]}], "Cells": [{"cell_type": "code", "source": "x"}]}`, uint8(0))
	f.Add("a.py", "# coding: latin-1\n\xe9 = 1\r", uint8(5))
	f.Fuzz(func(t *testing.T, name, file string, at uint8) {
		src, err := Read(name, []byte(file))
		if err != nil {
			return
		}
		raw, err := NewRaw(src, []byte(file))
		if err != nil {
			return
		}
		if same, err := raw.Rewrite(nil); err != nil || string(same) != file {
			t.Fatalf("%v: %q", err, same)
		}
		from := min(int(at), len(src.Text))
		raw.Position(from)
		out, err := raw.Rewrite([]Edit{{from, min(from+1, len(src.Text)), "x"}})
		if err != nil || !utf8.RuneStart(append(src.Text, 'x')[from]) {
			return
		}
		if again, err := Read(name, out); err == nil && len(again.Text) == 0 {
			t.Fatalf("nothing is left of %q", file)
		}
	})
}
