package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const (
	maxFolderFiles = 20_000 // a folder of checkpoints and logs has some thousands
	maxFolderDepth = 8
)

// Found is what a folder holds.
type Found struct {
	Files   []FileInfo // that can be recordings
	Skipped []Skipped  // what else there is
}

// Skipped is a file that is not a recording.
type Skipped struct {
	Path     string
	Identity Identity
	Err      error // why it could not be looked at, or nil
}

// NoRecordingsError reports a folder without recordings.
type NoRecordingsError struct {
	Dir     string
	Skipped []Skipped
}

func (e *NoRecordingsError) Error() string {
	return fmt.Sprintf("%s: no recordings of GPU memory in this folder: %s", e.Dir, SkippedNote(e.Skipped))
}

// Hint is advice for the user.
func (e *NoRecordingsError) Hint() string { return howToRecord }

// finder looks through a folder.
type finder struct {
	Found
	unsure []candidate
}

// candidate is a file whose beginning does not tell whether it is a recording.
type candidate struct {
	info FileInfo
	id   Identity
}

// FindFiles looks through dir, and the folders in it, for recordings. It reads the
// beginning of every file, for names say nothing; hidden files are passed over. Where
// files begin as recordings do, others whose beginning does not tell are taken for what
// else a job leaves: a tokenizer, the trainer's state, data.
func FindFiles(fsys fs.FS, dir string) (*Found, error) {
	found := &finder{}
	seen := 0
	err := fs.WalkDir(fsys, dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && p == dir:
			return err
		case err != nil:
			found.Skipped = append(found.Skipped, Skipped{Path: p, Err: err})
			return fs.SkipDir
		case p != dir && strings.HasPrefix(d.Name(), "."):
			return skip(d)
		case d.IsDir():
			if strings.Count(strings.TrimPrefix(p, dir), "/") >= maxFolderDepth {
				return fs.SkipDir
			}
			return nil
		}
		if seen++; seen > maxFolderFiles {
			return &TooLargeError{What: "the number of files in " + dir, Limit: maxFolderFiles, Unit: "files", hint: "give the folder of one job, or the files"}
		}
		found.look(fsys, p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	found.settle()
	if len(found.Files) == 0 {
		return nil, &NoRecordingsError{Dir: dir, Skipped: found.Skipped}
	}
	return &found.Found, nil
}

// settle decides about the files that are unsure.
func (f *finder) settle() {
	sure := len(f.Files) > 0
	for _, c := range f.unsure {
		if sure {
			f.Skipped = append(f.Skipped, Skipped{Path: c.info.Path, Identity: c.id})
		} else {
			f.Files = append(f.Files, c.info)
		}
	}
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// look decides about one file.
func (f *finder) look(fsys fs.FS, p string) {
	info, err := fs.Stat(fsys, p) // follows a link to a file
	if err == nil && !info.Mode().IsRegular() {
		return
	}
	var id Identity
	if err == nil {
		id, err = identifyFile(fsys, p)
	}
	if err != nil {
		f.Skipped = append(f.Skipped, Skipped{Path: p, Identity: id, Err: err})
		return
	}
	form := id.Content == ContentPickle || id.Content == ContentHTML || id.Content == ContentJSON
	switch {
	case form && id.holds == doesHold:
		f.Files = append(f.Files, FileInfo{Path: p, SizeBytes: info.Size(), ModTime: info.ModTime()})
	case form && id.holds == mayHold:
		f.unsure = append(f.unsure, candidate{FileInfo{Path: p, SizeBytes: info.Size(), ModTime: info.ModTime()}, id})
	default:
		f.Skipped = append(f.Skipped, Skipped{Path: p, Identity: id})
	}
}

func identifyFile(fsys fs.FS, p string) (Identity, error) {
	file, err := fsys.Open(p)
	if err != nil {
		return Identity{}, err
	}
	defer file.Close()
	in, err := Open(file, Options{})
	if err != nil {
		return Identity{}, err
	}
	defer in.Close()
	return in.Identity, nil
}

// unreadable says in words that follow "is" why a file was passed over.
func unreadable(err error) string {
	var e *fs.PathError
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "not readable"
	case errors.Is(err, fs.ErrNotExist):
		return "a link to nothing, or gone by now"
	case errors.As(err, &e): // which names the file again
		return "not readable: " + e.Err.Error()
	}
	return err.Error()
}

// SkippedNote tells in one line what was passed over: "3 files of text, 1 PyTorch checkpoint …".
func SkippedNote(skipped []Skipped) string {
	if len(skipped) == 0 {
		return "it is empty"
	}
	count := map[string]int{}
	example := map[string]string{}
	for _, s := range skipped {
		what := s.Identity.What
		if s.Err != nil {
			what = unreadable(s.Err)
		}
		if count[what]++; count[what] == 1 {
			example[what] = path.Base(s.Path)
		}
	}
	var parts []string
	for what, n := range count {
		part := fmt.Sprintf("%q is %s", example[what], what)
		if n > 1 {
			part += fmt.Sprintf(", and so %s %s", isAre(n-1), plural(n-1, "other"))
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	if len(parts) > 5 {
		parts = append(parts[:5], "…")
	}
	return strings.Join(parts, "; ")
}
