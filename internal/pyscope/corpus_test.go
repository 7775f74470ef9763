package pyscope

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/syntax"
)

// ask asks a module everything that can be asked of its nodes.
func ask(m *Module) {
	for k := range m.Tree.Len() {
		n := m.Tree.At(k)
		if !n.Named() {
			continue
		}
		m.Value(n)
		m.OnCUDA(n)
		m.Grad(n)
		m.Qualified(n)
		m.Repeated(n)
		m.StoresAt(n)
		m.ObjectClass(n)
		if l := m.Loop(n); l != nil {
			l.Small()
			l.Varies(n)
		}
		if p := m.Place(n); p != nil {
			m.Grows(p, n)
			m.Fate(p)
		}
	}
}

// TestCorpus asks everything of every file of a folder: the standard library's, or that which
// PYSCOPE_CORPUS names, when it says how long that takes.
func TestCorpus(t *testing.T) {
	root := os.Getenv("PYSCOPE_CORPUS")
	everything := os.Getenv("PYSCOPE_ASK") != ""
	if root == "" {
		root = standardLibrary(t)
		everything = true
	}
	p, err := parser()
	if err != nil {
		t.Fatal(err)
	}
	var bytes, files int
	var parsing, scoping, asking time.Duration
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".py" || files > 160 && os.Getenv("PYSCOPE_CORPUS") == "" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		src, err := syntax.Read(path, data)
		if err != nil {
			return nil
		}
		start := time.Now()
		tree, err := p.Parse(context.Background(), src)
		if err != nil {
			return nil
		}
		parsing += time.Since(start)
		start = time.Now()
		m := New(tree)
		scoping += time.Since(start)
		if everything {
			start = time.Now()
			ask(m)
			took := time.Since(start)
			asking += took
			if took > time.Second {
				t.Logf("%s (%d bytes): %v", path, len(data), took)
			}
		}
		files++
		bytes += len(data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 150 {
		t.Errorf("only %d files in %s", files, root)
	}
	mb := float64(bytes) / 1e6
	t.Logf("%d files, %.1f MB: parsed %.1f MB/s, New %.1f MB/s, all asked %.2f MB/s", files, mb, mb/parsing.Seconds(), mb/scoping.Seconds(), mb/asking.Seconds())
}

func standardLibrary(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "python"} {
		out, err := exec.Command(python, "-c", "import os; print(os.path.dirname(os.__file__))").Output()
		if err == nil {
			return strings.TrimSpace(string(out))
		}
	}
	t.Fatal("needs a Python on the path, for its standard library")
	return ""
}
