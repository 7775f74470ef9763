package child

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Place is the folder for recordings. It is made when the first one is written.
type Place struct {
	Dir  string // absolute path
	made bool   // by Choose, elsewhere than asked for
}

// Choose returns dir as the place for recordings. Where nothing can be written there, which
// is better known before the program runs for hours, it makes a folder among the temporary
// files instead, and returns why as an error beside it; if that cannot be either, the place
// is dir.
func Choose(dir string) (Place, error) {
	abs, why := filepath.Abs(dir)
	if why != nil {
		why = fmt.Errorf("the current folder has been removed (%w)", why)
	} else {
		dir = abs
		why = writable(dir)
	}
	if why == nil {
		return Place{Dir: dir}, nil
	}
	other, err := os.MkdirTemp("", filepath.Base(dir)+"-*")
	if err != nil {
		return Place{Dir: dir}, fmt.Errorf("recordings cannot be written to %s: %w; nor elsewhere: %w", dir, why, err)
	}
	return Place{Dir: other, made: true}, fmt.Errorf("recordings are written to %s, for they cannot be to %s: %w", other, dir, why)
}

// Close removes the folder if it was made in advance and nothing has come of it.
func (p Place) Close() {
	if p.made {
		_ = os.Remove(p.Dir) // which removes no folder that holds something
	}
}

// writable returns nil if files can be made in dir, or dir itself in the nearest folder above
// that is there. Trying is the only way that is right for every system, user and quota.
func writable(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case err == nil && !info.IsDir():
			return &fs.PathError{Op: "write", Path: at, Err: fmt.Errorf("not a folder")}
		case err == nil:
			return tryIn(at)
		case at == filepath.Dir(at):
			return err
		}
	}
}

// tryIn makes a folder in dir and removes it. Its error names dir, not the trial.
func tryIn(dir string) error {
	try, err := os.MkdirTemp(dir, ".ullage-*")
	if err == nil {
		err = os.Remove(try)
	}
	if path := new(fs.PathError); errors.As(err, &path) {
		return fmt.Errorf("nothing can be made in %s: %w", dir, path.Err)
	}
	return err
}
