package lint

import (
	"path/filepath"
	"strings"
)

// maxIgnoreBytes bounds a .gitignore.
const maxIgnoreBytes = 1 << 20

// repository returns the folder that has .git, at or above a folder.
func (w *walker) repository(dir string) (string, bool) {
	root, known := w.roots[dir]
	if !known {
		if _, err := w.opt.Files.Stat(filepath.Join(dir, ".git")); err == nil {
			root = dir
		} else if parent := filepath.Dir(dir); parent != dir {
			root, _ = w.repository(parent)
		}
		w.roots[dir] = root
	}
	return root, root != ""
}

// Project names what a run is about, whichever folder it is started in: the repository of the
// first path, else its folder.
func (o *Options) Project() string {
	w := newWalker(o)
	dir := o.Dir
	for _, name := range o.Paths {
		if name == "-" {
			continue
		}
		dir = w.abs(name)
		if info, err := o.Files.Stat(name); err == nil && !info.IsDir() {
			dir = filepath.Dir(dir)
		}
		break
	}
	if root, ok := w.repository(dir); ok {
		return root
	}
	return dir
}

// ignoresAbove returns what git ignores by, from the repository's root to above a folder. A
// file further down comes later, and counts more.
func (w *walker) ignoresAbove(root, dir string) []*ignoreFile {
	var all []*ignoreFile
	if own := w.readIgnore(root, filepath.Join(root, ".git", "info", "exclude")); own != nil {
		all = append(all, own)
	}
	for _, d := range between(root, dir) {
		if own := w.ignoreIn(d); own != nil {
			all = append(all, own)
		}
	}
	return all
}

// between returns the folders from root to above dir.
func between(root, dir string) []string {
	var all []string
	for at := dir; at != root; {
		at = filepath.Dir(at)
		all = append([]string{at}, all...)
	}
	return all
}

// ignoreIn returns the .gitignore of a folder; nil where there is none, or none to be read.
func (w *walker) ignoreIn(dir string) *ignoreFile {
	known, ok := w.ignored[dir]
	if !ok {
		known = w.readIgnore(dir, filepath.Join(dir, ".gitignore"))
		w.ignored[dir] = known
	}
	return known
}

func (w *walker) readIgnore(dir, name string) *ignoreFile {
	text, err := readFile(w.opt.Files, name, maxIgnoreBytes)
	if err != nil {
		return nil
	}
	lines := parsePatterns(strings.Split(string(text), "\n"))
	if len(lines) == 0 {
		return nil
	}
	return &ignoreFile{dir, lines}
}

// lastWord tells whether git ignores a path whose folder it does not.
func lastWord(above []*ignoreFile, abs string, dir bool) bool {
	for i := len(above) - 1; i >= 0; i-- {
		if fits, meant := above[i].lines.match(relSlash(above[i].dir, abs), dir); fits {
			return meant
		}
	}
	return false
}

// ignoredBy tells whether git ignores a folder, or one that it is in below root.
func ignoredBy(above []*ignoreFile, root, dir string) bool {
	for at := dir; at != root; at = filepath.Dir(at) {
		var over []*ignoreFile
		for _, i := range above {
			if i.dir == root || strings.HasPrefix(at, i.dir+string(filepath.Separator)) {
				over = append(over, i)
			}
		}
		if lastWord(over, at, true) {
			return true
		}
	}
	return false
}
