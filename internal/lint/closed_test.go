package lint

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// closedFiles refuses what is in some folders, as a system does whose user may not enter them, and
// some files. Tests may run as a user who may enter everything.
type closedFiles struct {
	diskFiles
	folders []string // may not be entered
	names   bool     // of what is in them can be listed all the same
	file    string   // may not be read
}

func (c closedFiles) refuse(op, name string) error {
	for _, dir := range c.folders {
		if strings.HasPrefix(name, dir+string(filepath.Separator)) {
			return &fs.PathError{Op: op, Path: name, Err: fs.ErrPermission}
		}
	}
	return nil
}

func (c closedFiles) Open(name string) (fs.File, error) {
	if err := c.refuse("open", name); err != nil || name == c.file {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return c.diskFiles.Open(name)
}

func (c closedFiles) Stat(name string) (fs.FileInfo, error) {
	if err := c.refuse("stat", name); err != nil {
		return nil, err
	}
	return c.diskFiles.Stat(name)
}

func (c closedFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	for _, dir := range c.folders {
		if name == dir && !c.names {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
		}
	}
	return c.diskFiles.ReadDir(name)
}

// TestClosed: what may not be entered is told, and the rest is checked.
func TestClosed(t *testing.T) {
	for _, tt := range []struct {
		names bool
		told  string
	}{
		{false, "unread b permission denied"},
		{true, "unread b/b.py permission denied"},
	} {
		tr := newTree(t, map[string]string{"a.py": "LEAK", "b/b.py": "LEAK", "c/c.py": "LEAK"})
		tr.opt.Files = closedFiles{folders: []string{filepath.Join(tr.dir, "b")}, names: tt.names}
		r := tr.run(".")
		if got := found(r); got != "a.py:1:1:LEAK c/c.py:1:1:LEAK" {
			t.Errorf("names %v: found %s", tt.names, got)
		}
		if got := strings.ReplaceAll(told(r), `\`, "/"); got != tt.told {
			t.Errorf("names %v: told %s", tt.names, got)
		}
	}
}

// TestClosedConfig: a configuration that is there and cannot be read ends the run, by its name.
func TestClosedConfig(t *testing.T) {
	tr := newTree(t, map[string]string{"a/a.py": "LEAK", "a/pyproject.toml": ""})
	tr.opt.Files = closedFiles{file: filepath.Join(tr.dir, "a", "pyproject.toml")}
	tr.opt.Paths = []string{"a"}
	_, err := Run(t.Context(), tr.opt)
	if want := filepath.Join("a", "pyproject.toml") + ": permission denied"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
