package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/ullage-dev/ullage/snapshot"
)

// inputs are the files that a command was given: a folder stands for the recordings
// of one job in it.
type inputs struct {
	files []snapshot.File
	notes []string // what was left out of a folder, and why
}

// resolve looks at the arguments: files, folders, or - for standard input.
func (a *App) resolve(args []string) (*inputs, error) {
	in := new(inputs)
	var named []string
	for _, arg := range args {
		if arg == "-" {
			named = append(named, arg)
			continue
		}
		info, err := a.Files.Stat(arg)
		if err != nil {
			return nil, inputError(fileError(arg, err))
		}
		if !info.IsDir() {
			named = append(named, arg)
			continue
		}
		if err := in.addFolder(a, arg); err != nil {
			return nil, inputError(err)
		}
	}
	ranks := snapshot.RanksOf(named)
	for i, name := range named {
		in.files = append(in.files, snapshot.File{FileInfo: snapshot.FileInfo{Path: name}, Rank: ranks[i], Step: -1})
	}
	return in, nil
}

// addFolder adds the best set of recordings of a folder: one job at one occasion.
func (in *inputs) addFolder(a *App, dir string) error {
	found, err := snapshot.FindFiles(folder{a.Files, dir}, ".")
	if err != nil {
		return renamed(err, dir)
	}
	a.dropBeside(dir, found)
	if len(found.Files) == 0 {
		return &snapshot.NoRecordingsError{Dir: dir, Skipped: found.Skipped}
	}
	sets := snapshot.GroupFiles(found.Files)
	set := sets[0]
	for _, f := range set.Files {
		f.Path = filepath.Join(dir, filepath.FromSlash(f.Path))
		in.files = append(in.files, f)
	}
	in.notes = append(in.notes, set.Notes...)
	if n := otherFiles(sets); n > 0 {
		in.notes = append(in.notes, fmt.Sprintf("%s holds recordings of several jobs: %s is explained; name the files to explain any of the other %d", dir, namesOf(set), n))
	}
	if len(found.Skipped) > 0 {
		in.notes = append(in.notes, "passed over: "+snapshot.SkippedNote(found.Skipped))
	}
	return nil
}

// otherFiles counts the files of other jobs than the chosen one, which is the first; the
// chosen one's own notes tell what was left of it.
func otherFiles(sets []snapshot.Set) int {
	n := 0
	for _, s := range sets[1:] {
		if s.Job != sets[0].Job {
			n += len(s.Files)
		}
	}
	return n
}

// namesOf names the files of a set: the one, or the first and how many.
func namesOf(set snapshot.Set) string {
	name := set.Files[0].Path
	if n := len(set.Files); n > 1 {
		return fmt.Sprintf("one of %d files, with %s,", n, name)
	}
	return name
}

// renamed gives an error about the root of a folder the name that the user knows.
func renamed(err error, dir string) error {
	if e, ok := err.(*snapshot.NoRecordingsError); ok {
		e.Dir = dir
	}
	return err
}

// folder is a folder of Files as a file system, rooted there.
type folder struct {
	files Files
	root  string
}

func (d folder) at(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return filepath.Join(d.root, filepath.FromSlash(path.Clean(name))), nil
}

func (d folder) Open(name string) (fs.File, error) {
	p, err := d.at("open", name)
	if err != nil {
		return nil, err
	}
	return d.files.Open(p)
}

func (d folder) Stat(name string) (fs.FileInfo, error) {
	p, err := d.at("stat", name)
	if err != nil {
		return nil, err
	}
	return d.files.Stat(p)
}

func (d folder) ReadDir(name string) ([]fs.DirEntry, error) {
	p, err := d.at("readdir", name)
	if err != nil {
		return nil, err
	}
	return d.files.ReadDir(p)
}

// readsOnce tells whether an input is gone once it was read: standard input, a pipe.
func (a *App) readsOnce(name string) bool {
	if name == "-" {
		return true
	}
	info, err := a.Files.Stat(name)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// open opens one input, and tells its size, 0 where that is unknown. What waits for another
// program, as a pipe does, is given up once ctx is cancelled.
func (a *App) open(ctx context.Context, name string, stdin io.Reader) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(stdin), 0, nil
	}
	if a.readsOnce(name) {
		return a.openPipe(ctx, name)
	}
	f, err := a.Files.Open(name)
	if err != nil {
		return nil, 0, inputError(fileError(name, err))
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("is a folder: expected a file")
	}
	if err != nil {
		f.Close()
		return nil, 0, inputError(fileError(name, err))
	}
	return f, info.Size(), nil
}

// openPipe opens what has no size and may keep a reader waiting: a pipe's opening waits for
// its writer, and each read for the writer's next words.
func (a *App) openPipe(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	type opened struct {
		file fs.File
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := a.Files.Open(name)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, 0, inputError(fileError(name, o.err))
		}
		return struct {
			io.Reader
			io.Closer
		}{interruptible(ctx, o.file), o.file}, 0, nil
	case <-ctx.Done(): // the process ends next, and the waiting with it
		return nil, 0, context.Cause(ctx)
	}
}

// fileError says what is wrong with a file as every other error does, its name first:
// "train.pickle: permission denied" in place of "open train.pickle: permission denied".
func fileError(name string, err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// base is the last part of a path of any system.
func base(name string) string {
	return name[strings.LastIndexAny(name, `/\`)+1:]
}
