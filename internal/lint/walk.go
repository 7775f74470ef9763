package lint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// file is a file that is to be checked.
type file struct {
	name string // as the user named it
	abs  string
	path string // relative to the repository or the project, with slashes
	size int64
	in   bool // it is standard input
	data bool // it may be others' data, and was not named

	checker Checker
	test    bool
	choice  choice
	failOn  Threshold
	known   *baseline // nil: none
}

// skippedFolders have nothing in them that somebody here wrote. A folder with pyvenv.cfg is
// an environment, whatever it is called.
var skippedFolders = []string{
	".git", ".hg", ".svn", ".tox", ".nox", ".venv", "__pycache__", "__pypackages__", "node_modules", "build", "dist", "_build",
	".eggs", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".pytype", ".direnv", ".terraform",
}

// walker finds the files below paths.
type walker struct {
	opt     *Options
	configs configs
	roots   map[string]string      // of repositories, by folder; empty where there is none
	ignored map[string]*ignoreFile // by folder; nil where there is none
	bases   *baselines
	seen    map[string]bool

	files   []*file
	notices []Notice
}

// ignoreFile is a .gitignore, or what git keeps beside it.
type ignoreFile struct {
	dir   string
	lines patterns
}

func newWalker(opt *Options) *walker {
	return &walker{
		opt: opt, roots: map[string]string{}, ignored: map[string]*ignoreFile{}, seen: map[string]bool{}, bases: newBaselines(opt),
		configs: configs{files: opt.Files, base: opt.Dir, byDir: map[string]*Config{}},
	}
}

// walk adds the files of all paths, in the order of their names.
func (w *walker) walk(ctx context.Context) error {
	for _, name := range w.opt.Paths {
		if name == "-" {
			if err := w.addStdin(); err != nil {
				return err
			}
			continue
		}
		if err := w.addPath(ctx, name); err != nil {
			return err
		}
	}
	slices.SortFunc(w.files, func(a, b *file) int {
		return strings.Compare(a.abs, b.abs)
	})
	return nil
}

// addPath adds a file, or those of a folder, that the user named.
func (w *walker) addPath(ctx context.Context, name string) error {
	info, err := w.opt.Files.Stat(name)
	if err != nil {
		w.unread(name, err)
		return nil
	}
	abs := w.abs(name)
	if !info.IsDir() {
		return w.addFile(name, abs, filepath.Dir(abs), info.Size(), true)
	}
	v := visit{name: name, abs: abs, top: abs}
	root, rooted := w.repository(abs)
	if v.git = rooted; rooted {
		if v.above = w.ignoresAbove(root, abs); ignoredBy(v.above, root, abs) {
			v.above = nil // what was named is taken, and what is in it
		}
	}
	return w.folder(ctx, v)
}

// visit is a folder that is walked.
type visit struct {
	name, abs string
	top       string // the one that the user named
	git       bool   // it is in a repository
	above     []*ignoreFile
}

func (w *walker) abs(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(w.opt.Dir, name)
}

func (w *walker) unread(name string, err error) {
	w.notices = append(w.notices, Notice{Kind: Unread, File: name, Text: reason(err).Error()})
}

// reason is what went wrong with a file, without the path that the system was asked for: a message
// begins with the name that the user gave.
func reason(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	if e := (*os.LinkError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// folder adds what is in a folder.
func (w *walker) folder(ctx context.Context, v visit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := w.opt.Files.ReadDir(v.abs)
	if err != nil {
		w.unread(v.name, err)
		return nil
	}
	if v.abs != v.top && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "pyvenv.cfg" }) {
		return nil
	}
	if own := w.ignoreIn(v.abs); v.git && own != nil {
		v.above = append(slices.Clip(v.above), own)
	}
	conf, err := w.configs.of(v.abs)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.entry(ctx, v, e, conf); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(ctx context.Context, v visit, e fs.DirEntry, conf *Config) error {
	inside := v
	inside.name, inside.abs = filepath.Join(v.name, e.Name()), filepath.Join(v.abs, e.Name())
	isDir := e.IsDir()
	if isDir && slices.Contains(skippedFolders, e.Name()) || conf.excludes(inside.abs, isDir) || lastWord(v.above, inside.abs, isDir) {
		return nil
	}
	switch {
	case isDir:
		return w.folder(ctx, inside)
	case e.Type()&fs.ModeSymlink != 0:
		w.link(inside.name, inside.abs)
		return nil
	case !e.Type().IsRegular():
		return nil
	}
	var size int64
	if info, err := e.Info(); err == nil {
		size = info.Size()
	}
	return w.addFile(inside.name, inside.abs, v.top, size, false)
}

// link tells of a link that would be checked if it were a file, or that leads to a folder.
// Links are not followed: what they lead to is checked where it is, and they may lead back.
func (w *walker) link(shown, abs string) {
	info, err := w.opt.Files.Stat(abs)
	if err == nil && !info.IsDir() && w.checkerOf(shown, nil) == nil {
		return
	}
	text := "a link, which is not followed"
	if err != nil {
		text = "a link that leads nowhere"
	}
	w.notices = append(w.notices, Notice{Kind: Passed, File: shown, Text: text, Hint: "name it to have it checked"})
}

func (c *Config) excludes(abs string, dir bool) bool {
	if len(c.exclude) == 0 {
		return false
	}
	_, meant := c.exclude.match(relSlash(c.dir, abs), dir)
	return meant
}

// headBytes is how much of a file tells of what kind it is.
const headBytes = 512

// checkerOf returns the checker for a file; nil where there is none.
func (w *walker) checkerOf(name string, head []byte) Checker {
	slashed := filepath.ToSlash(name)
	for _, c := range w.opt.Checkers {
		if c.Takes(slashed, head) {
			return c
		}
	}
	return nil
}

// addFile adds a file if a checker takes it. One that the user named and none takes is told.
func (w *walker) addFile(name, abs, top string, size int64, named bool) error {
	if w.seen[abs] {
		return nil
	}
	checker := w.checkerOf(name, nil)
	if checker == nil && (named || mayHaveHead(name)) {
		head, err := w.head(abs)
		if err != nil {
			w.unread(name, err)
			return nil
		}
		checker = w.checkerOf(name, head)
	}
	if checker == nil {
		if named {
			w.unknown(name)
		}
		return nil
	}
	w.seen[abs] = true
	f := &file{name: name, abs: abs, size: size, checker: checker, data: !named && checker.MayBeData(name)}
	return w.configure(f, filepath.Dir(abs), top)
}

// unknown tells of a file that was named and that no checker takes.
func (w *walker) unknown(name string) {
	w.notices = append(w.notices, Notice{Kind: Unread, File: name, Text: "is neither Python, nor a notebook, nor a script or configuration of a kind that lint knows"})
}

// mayHaveHead tells whether a file may be a script that its name does not tell of.
func mayHaveHead(name string) bool { return filepath.Ext(name) == "" }

func (w *walker) head(abs string) ([]byte, error) {
	f, err := w.opt.Files.Open(abs)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, headBytes))
	if head == nil {
		head = []byte{}
	}
	return head, err
}

// addStdin adds standard input, which is Python unless a name says otherwise.
func (w *walker) addStdin() error {
	name := cmp.Or(w.opt.StdinName, "stdin.py")
	f := &file{name: name, size: int64(len(w.opt.Stdin))}
	if w.opt.StdinName == "" {
		f.name = "-"
	}
	head := w.opt.Stdin[:min(len(w.opt.Stdin), headBytes)]
	if f.checker = w.checkerOf(name, bytes.Clone(head)); f.checker == nil {
		w.unknown(name)
		return nil
	}
	f.abs, f.in = w.abs(name), true
	return w.configure(f, filepath.Dir(f.abs), filepath.Dir(f.abs))
}

// configure gives a file what is in force for it.
func (w *walker) configure(f *file, dir, top string) error {
	conf, err := w.configs.of(dir)
	if err != nil {
		return err
	}
	f.path = relSlash(w.root(conf, dir, top), f.abs)
	rel := conf.below(f)
	f.test = conf.tests.covers(rel)
	f.choice, f.failOn = conf.choice, conf.failOn
	if w.opt.Select != nil {
		f.choice.selected = w.opt.Select
	}
	if w.opt.Ignore != nil {
		f.choice.ignored = w.opt.Ignore
	}
	for _, p := range conf.perFile {
		if p.files.covers(rel) {
			f.choice.ignored = append(slices.Clip(f.choice.ignored), p.ignore...)
		}
	}
	if w.opt.FailOn != nil {
		f.failOn = *w.opt.FailOn
	}
	f.known, err = w.bases.of(conf)
	w.files = append(w.files, f)
	return err
}

// root is what paths in fingerprints and reports are relative to: the repository, else the
// folder of the configuration, else the working folder, else what the user named.
func (w *walker) root(conf *Config, dir, top string) string {
	if root, ok := w.repository(dir); ok {
		return root
	}
	for _, root := range []string{conf.dir, w.opt.Dir} {
		if root != "" && (dir == root || strings.HasPrefix(dir, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))) {
			return root
		}
	}
	return top
}
