package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/snapshot"
)

// recorded is a recording of a run, with what stands beside it.
type recorded struct {
	file   snapshot.FileInfo
	beside *sidecar
}

// better tells which of two recordings of one process is worth explaining. The number tells
// the later one: clocks are set back.
func (r recorded) better(old recorded) bool {
	if failure := r.beside.Reason == "oom"; failure != (old.beside.Reason == "oom") {
		return failure
	}
	return r.beside.Number > old.beside.Number
}

// latest returns of each process the latest recording, one of a failure before others.
func latest(all []recorded) []snapshot.FileInfo {
	best := map[int]recorded{}
	for _, r := range all {
		old, ok := best[r.beside.PID]
		if !ok || r.better(old) {
			best[r.beside.PID] = r
		}
	}
	var files []snapshot.FileInfo
	for _, r := range all {
		if best[r.beside.PID] == r {
			files = append(files, r.file)
		}
	}
	return files
}

// explainFiles explains the recordings of a run: of each rank the latest, those of a run
// that died before others.
func (r *runner) explainFiles(ctx context.Context, files []recorded) error {
	set := snapshot.GroupFiles(latest(files))[0]
	w, look := r.app.Stderr, r.app.ErrLook()
	fmt.Fprintf(w, "\nullage: %s\n\n", look.Paint(term.Bold, term.Clean(recordedLine(set, len(files), r.cfg.Out))))
	r.explain.sources = newSources(r.app, "")
	defer r.explain.sources.close()
	devices, err := r.explain.explainAll(ctx, set.Files)
	if err != nil {
		return err
	}
	if err := r.explain.print(devices); err != nil {
		return err
	}
	paths := term.Clean(pathsOf(set))
	fmt.Fprintf(w, "\nullage: for more: ullage explain %s\nullage: to look at it: ullage view %s\n", paths, paths)
	return r.explain.verdict()
}

// recordedLine says what was written, and what of it is explained.
func recordedLine(set snapshot.Set, total int, out string) string {
	line := fmt.Sprintf("%s in %s", plural(total, "recording"), out)
	if len(set.Files) < total {
		line += fmt.Sprintf("; explained: %s", base(set.Files[0].Path))
		if n := len(set.Files) - 1; n > 0 {
			line += fmt.Sprintf(" and %d like it", n)
		}
	}
	return line
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// pathsOf names the files of a set as arguments: each of few, or else their folder.
func pathsOf(set snapshot.Set) string {
	if len(set.Files) > 2 {
		return shellWord(filepath.Dir(set.Files[0].Path))
	}
	var names []string
	for _, f := range set.Files {
		names = append(names, shellWord(f.Path))
	}
	return strings.Join(names, " ")
}

// shellWord is a path as it can be pasted into a shell.
func shellWord(path string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(`/\:._-+=,@%`, r)
	}
	switch {
	case !strings.ContainsFunc(path, func(r rune) bool { return !plain(r) }):
		return path
	case runtime.GOOS == "windows":
		return `"` + path + `"`
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// recordingsOf returns the recordings of one run in a folder, as the files beside them tell:
// a folder may hold those of many runs. Where there is no folder, nothing was written.
func (a *App) recordingsOf(dir, run string) []recorded {
	entries, err := a.Files.ReadDir(dir)
	if err != nil {
		return nil
	}
	var files []recorded
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		s := a.readSidecar(path)
		if s == nil || s.Run != run {
			continue
		}
		if info, err := a.Files.Stat(path); err == nil {
			files = append(files, recorded{snapshot.FileInfo{Path: path, SizeBytes: info.Size(), ModTime: info.ModTime()}, s})
		}
	}
	slices.SortFunc(files, func(a, b recorded) int { return strings.Compare(a.file.Path, b.file.Path) })
	return files
}
