package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/zip"
)

// tracked lists the files at root as git knows them, new ones too: what is ignored never
// reaches the module proxy, which reads the repository.
func tracked(root string) ([]zip.File, error) {
	out, err := output(exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"))
	if err != nil {
		return nil, err
	}
	names := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	nested := nestedModules(names)
	var files []zip.File
	for _, name := range names {
		full := filepath.Join(root, filepath.FromSlash(name))
		if _, err := os.Lstat(full); err != nil {
			continue // removed, but not yet in a commit
		}
		if !within(name, nested) {
			files = append(files, file{name, full})
		}
	}
	return files, nil
}

// nestedModules returns the folders that are modules of their own.
func nestedModules(names []string) []string {
	var dirs []string
	for _, name := range names {
		if dir, ok := strings.CutSuffix(name, "/go.mod"); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func within(name string, dirs []string) bool {
	for _, dir := range dirs {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// file is a file to pack. Its methods are those of zip.File.
type file struct{ name, full string }

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.full) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.full) }
