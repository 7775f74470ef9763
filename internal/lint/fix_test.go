package lint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fix checks and repairs, and returns what is told of repairs.
func (tr *tree) fix(write Write, paths ...string) (*Result, []Fixed) {
	tr.t.Helper()
	opt := tr.opt
	opt.Paths = paths
	r := tr.run(paths...)
	fixed, err := r.Fix(tr.t.Context(), opt, write)
	if err != nil {
		tr.t.Fatal(err)
	}
	return r, fixed
}

func writePlain(name string, data []byte) error { return os.WriteFile(name, data, 0o644) }

func (tr *tree) read(name string) string {
	tr.t.Helper()
	text, err := os.ReadFile(filepath.Join(tr.dir, filepath.FromSlash(name)))
	if err != nil {
		tr.t.Fatal(err)
	}
	return string(text)
}

func TestFix(t *testing.T) {
	files := map[string]string{
		"a.py":      "x FIX y FIX\r\nLEAK\r\n",
		"bom.py":    "\xef\xbb\xbfFIX",
		"latin.py":  "# coding: latin-1\ns = '\xe9'; FIX",
		"gbk.py":    "# coding: gbk\ns = '\xc4\xe3'; FIX",
		"meet.py":   "TWICE TWICE FIX",
		"nb.ipynb":  `{"cells": [{"cell_type": "code", "source": ["a\n", "FIX"], "outputs": ["FIX"]}]}`,
		"hidden.py": "FIX  # ullage: ignore[leak] x",
		"none.py":   "LEAK",
	}
	tr := newTree(t, files)
	r, fixed := tr.fix(nil, ".")
	if len(fixed) != 5 || len(r.Findings) != 11 {
		t.Errorf("%d files would be repaired; found %s", len(fixed), found(r))
	}
	for name, text := range files {
		if tr.read(name) != text {
			t.Errorf("%s was changed without being asked for", name)
		}
	}
	if diff := cmp.Diff("--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n-x FIX y FIX\r\n+x DONE y DONE\r\n LEAK\r\n", fixed[0].Diff); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	r, _ = tr.fix(writePlain, ".")
	if got, want := found(r), "a.py:2:1:LEAK gbk.py:2:10:FIX none.py:1:1:LEAK"; got != want {
		t.Errorf("left %s, want %s", got, want)
	}
	if got, want := told(r), "unfixed gbk.py gbk.py: has text in gbk, which can be read but not written"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	for name, want := range map[string]string{
		"a.py":      "x DONE y DONE\r\nLEAK\r\n",
		"bom.py":    "\xef\xbb\xbfDONE",
		"latin.py":  "# coding: latin-1\ns = '\xe9'; DONE",
		"gbk.py":    files["gbk.py"],
		"meet.py":   " DONE DONE DONE",
		"nb.ipynb":  strings.Replace(files["nb.ipynb"], `"FIX"],`, `"DONE"],`, 1),
		"hidden.py": files["hidden.py"],
	} {
		if got := tr.read(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestFixRefused: a file is as it was where a repair cannot be made.
func TestFixRefused(t *testing.T) {
	tr := newTree(t, map[string]string{"a.py": "FIX", "b.py": "FIX"})
	r, _ := tr.fix(func(string, []byte) error { return errors.New("disk full") }, "a.py")
	if got := told(r); got != "unfixed a.py is not repaired: it cannot be replaced: disk full" || found(r) != "a.py:1:1:FIX" {
		t.Errorf("told %s, found %s", got, found(r))
	}
	opt := tr.opt
	opt.Paths = []string{"b.py"}
	opt.Files = &changingFiles{}
	r, err := Run(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Fix(t.Context(), opt, writePlain); err != nil || told(r) != "unfixed b.py is not repaired: it has changed meanwhile" {
		t.Errorf("%v, told %s", err, told(r))
	}
}

// changingFiles are files that somebody writes to whenever they are read.
type changingFiles struct{ diskFiles }

func (c *changingFiles) Open(name string) (fs.File, error) {
	f, err := c.diskFiles.Open(name)
	if text, readErr := os.ReadFile(name); readErr == nil && filepath.Base(name) == "b.py" {
		_ = os.WriteFile(name, append(text, '#'), 0o644) // the test fails if it is not
	}
	return f, err
}

// TestPatchName: a name cannot end the line that it is on, nor steer a terminal.
func TestPatchName(t *testing.T) {
	for name, want := range map[string]string{
		"a b.py":         "a b.py",
		"a\nb.py":        `"a\nb.py"`,
		"\x1b[31mred.py": `"\x1b[31mred.py"`,
	} {
		if got := patchName(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
