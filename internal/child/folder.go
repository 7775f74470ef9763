package child

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/ullage-dev/ullage/python"
)

const (
	maxSmallFile = 1 << 20        // bytes read of a file that the companion wrote
	sweepAfter   = 24 * time.Hour // age at which the folder of a run that was killed is removed
	runPrefix    = "run-"         // of a run's folder, before the process id of ullage
)

// Bases returns the folders in which runs may make theirs, the best first: the user's cache,
// where every run of the user on this machine can be found, and else the folder for
// temporary files. env reads the environment.
func Bases(env func(string) (string, bool)) []string {
	var bases []string
	if cache := CacheFolder(env); cache != "" {
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		// Homes may be shared by machines, whose process ids are not.
		bases = append(bases, filepath.Join(cache, "ullage", "live", host))
	}
	return append(bases, filepath.Join(os.TempDir(), "ullage-"+strconv.Itoa(os.Getuid())))
}

// CacheFolder returns the user's folder for caches, as the environment names it; empty for none.
func CacheFolder(env func(string) (string, bool)) string {
	get := func(name string, below ...string) string {
		if v, ok := env(name); ok && filepath.IsAbs(v) {
			return filepath.Join(append([]string{v}, below...)...)
		}
		return ""
	}
	switch runtime.GOOS {
	case "windows":
		return get("LocalAppData")
	case "darwin":
		return get("HOME", "Library", "Caches")
	}
	if dir := get("XDG_CACHE_HOME"); dir != "" {
		return dir
	}
	return get("HOME", ".cache")
}

// makeRunFolder makes the folder of this process's run in a base.
func makeRunFolder(base string) (string, error) {
	if err := makePrivate(base); err != nil {
		return "", err
	}
	sweep(base)
	return os.MkdirTemp(base, fmt.Sprintf("%s%d-*", runPrefix, os.Getpid()))
}

// makePrivate makes a folder that no other user can write to. Python code is run from it, so
// one that another user could have made is refused.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return checkPrivate(dir)
}

func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || !ownedPrivately(info) {
		return fmt.Errorf("%s: not a folder that is this user's alone", dir)
	}
	return nil
}

// sweep removes the folders of runs that were killed before they could.
func sweep(base string) {
	for _, dir := range runFolders(base) {
		info, err := os.Stat(dir)
		if err == nil && !Alive(ownerOf(dir)) && time.Since(info.ModTime()) > sweepAfter {
			_ = os.RemoveAll(dir)
		}
	}
}

// runFolders returns the folders of runs in a base that is this user's alone.
func runFolders(base string) []string {
	if checkPrivate(base) != nil {
		return nil
	}
	entries, err := os.ReadDir(base)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), runPrefix) {
			dirs = append(dirs, filepath.Join(base, e.Name()))
		}
	}
	return dirs
}

// ownerOf returns the process that made a run's folder, or 0.
func ownerOf(dir string) int {
	text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), runPrefix), "-")
	pid, err := strconv.Atoi(text)
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}

// writeCompanion unpacks the companion, the package and what finds it side by side.
func writeCompanion(site string) error {
	for _, part := range []string{"src", "inject"} {
		sub, err := fs.Sub(python.Companion, part)
		if err != nil {
			return err
		}
		if err := copyTree(sub, site); err != nil {
			return err
		}
	}
	return nil
}

func copyTree(from fs.FS, to string) error {
	return fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := filepath.Join(to, filepath.FromSlash(name))
		if d.IsDir() {
			return os.MkdirAll(at, 0o700)
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return os.WriteFile(at, data, 0o600)
	})
}

// removeParts removes recordings of this run that a process began and did not live to end.
// The folder may be shared with other runs, and with machines that have process ids of their
// own.
func (s *Session) removeParts() {
	entries, err := os.ReadDir(s.cfg.Out)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), "."+s.cfg.Job+"_")
		if !ok || !strings.HasSuffix(rest, "."+s.cfg.Run+".part") {
			continue
		}
		_, after, _ := strings.Cut(rest, "pid")
		digits := after[:len(after)-len(strings.TrimLeft(after, "0123456789"))]
		if pid, err := strconv.Atoi(digits); err == nil && !Alive(pid) {
			_ = os.Remove(filepath.Join(s.cfg.Out, e.Name()))
		}
	}
}

// readSmall reads a file that the companion wrote, as far as such files go.
func readSmall(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSmallFile))
}
