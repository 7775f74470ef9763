package syntax

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMagics(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"line", "%matplotlib inline\nx = 1\n", "0                 \nx = 1\n"},
		{"in a body", "if a:\n    !ls\n", "if a:\n    0  \n"},
		{"value", "out = !ls -l\n", "out = 0     \n"},
		{"magic value", "t = %timeit -o f()\n", "t = 0             \n"},
		{"not equal", "x = a\n!= b", "x = a\n0   "},
		{"help", "torch.load?\n?x\n", "0          \n0 \n"},
		{"remainder in brackets", "x = (a\n  % b)\n", "x = (a\n  % b)\n"},
		{"in a string", "s = '''\n!ls\n'''\n", "s = '''\n!ls\n'''\n"},
		{"behind a backslash", "x = a \\\n  % b\n", "x = a \\\n  % b\n"},
		{"over lines", "!pip install \\\n  torch\nx\n", "0             \n       \nx\n"},
		{"shell cell", "%%bash\nls | wc\n", "      \n       \n"},
		{"timed cell", "%%time\nf()\n", "      \nf()\n"},
		{"decorator and bracket in a comment", "# (\n%cd x\n", "# (\n0    \n"},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, blankMagics(test.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestNotebook(t *testing.T) {
	p := newParser(t)
	for name, text := range map[string]string{
		"format 4": `{"cells": [
			{"cell_type": "markdown", "source": ["# not code ("]},
			{"cell_type": "code", "source": ["import torch\n", "%time x = 1"], "outputs": [{"data": {"image/png": "AAAA"}}]},
			{"cell_type": "code", "source": "y = 2\nf(y)"}],
			"metadata": {"language_info": {"name": "python"}}, "nbformat": 4}`,
		"format 3": `{"worksheets": [{"cells": [
			{"cell_type": "markdown", "source": "#"},
			{"cell_type": "code", "input": "import torch"},
			{"cell_type": "code", "input": ["y = 2\n", "f(y)"]}]}], "nbformat": 3}`,
	} {
		tree := parse(t, p, "a.ipynb", text)
		if bad := tree.Errors(); len(bad) > 0 {
			t.Errorf("%s: error at %v", name, bad[0].Position())
		}
		for n := range tree.Root().Descendants() {
			if n.Is("call") && n.Position().String() != "cell 3:2:1" {
				t.Errorf("%s: f(y) at %v", name, n.Position())
			}
		}
	}
}

func TestNotebookErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"cells\": [}":              "a.ipynb:2: is not a notebook: ",
		`[]`:                            "a.ipynb:1: is not a notebook: it begins with array, where a notebook has something else",
		"{\n\"cells\": \"none\"}":       "a.ipynb:2: is not a notebook: cells is string, where a notebook has something else",
		`{"cells": [{"cell_type": 7}]}`: "a.ipynb:1: is not a notebook: cells.cell_type is number, where a notebook has something else",
		`{"cells": [{"cell_type": "code", "source": 1}]}`:             "a.ipynb: is not a notebook: the source of a cell",
		`{"cells": [], "metadata": {"language_info": {"name": "R"}}}`: `a.ipynb: is a notebook in "R", not in Python`,
	} {
		_, err := Read("a.ipynb", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
