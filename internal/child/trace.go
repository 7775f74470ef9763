package child

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// TraceVariable is the environment variable that names the folder of a traced run to the
// companion.
const TraceVariable = "ULLAGE_FIT"

// TraceConfig is what the companion has to know to trace a program on a GPU that is not
// there: docs/formats/trace.md.
type TraceConfig struct {
	Steps   int         `json:"steps"`   // optimizer steps after which the program is stopped
	Calls   int         `json:"calls"`   // calls of a model without gradients after which it is
	Devices int         `json:"devices"` // how many GPUs the program is shown
	Device  TraceDevice `json:"device"`
	Driver  int         `json:"driver"` // version of CUDA that the driver supports: 13000
	Ranks   int         `json:"ranks"`  // of the job, in place of what its launcher says; 0: as it says
	Rank    []int       `json:"rank"`   // those that are traced; none: the first and the last

	Remedies []string `json:"remedies,omitempty"` // changes to try on the program
}

// TraceDevice is the GPU that the program is shown.
type TraceDevice struct {
	Name            string `json:"name"`
	TotalBytes      int64  `json:"total_bytes"`
	Major           int    `json:"major"`
	Minor           int    `json:"minor"`
	Multiprocessors int    `json:"multiprocessors"`
	MaxThreads      int    `json:"max_threads_per_multiprocessor"`
}

// TraceSession is the folder of one traced run.
type TraceSession struct{ dir string }

// OpenTrace makes the folder in the first of bases that will do. Close removes it.
func OpenTrace(bases []string, cfg TraceConfig) (*TraceSession, error) {
	return openFolder(bases, cfg)
}

func openFolder(bases []string, cfg any) (*TraceSession, error) {
	var err error
	for _, base := range bases {
		var dir string
		if dir, err = makeRunFolder(base); err != nil {
			continue
		}
		s := &TraceSession{dir}
		if err = s.fill(cfg); err == nil {
			return s, nil
		}
		s.Close()
	}
	return nil, fmt.Errorf("no private folder for the companion can be made: %w", err)
}

func (s *TraceSession) fill(cfg any) error {
	if err := writeCompanion(s.site()); err != nil {
		return err
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, configFile), text, 0o600)
}

func (s *TraceSession) site() string { return filepath.Join(s.dir, "site") }

// Close removes the folder, and what stands for the program's checkpoints in its own folders.
func (s *TraceSession) Close() {
	s.removeWritten()
	_ = os.RemoveAll(s.dir)
}

// writtenFile is a file without contents that the tracer put where the program saved one.
type writtenFile struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	TimeNS int64  `json:"time_ns"`
}

// removeWritten removes such files. One that is not as the tracer left it is somebody else's.
func (s *TraceSession) removeWritten() {
	text, err := readSmall(filepath.Join(s.dir, "written"))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		var w writtenFile
		if json.Unmarshal([]byte(line), &w) != nil || !filepath.IsAbs(w.Path) {
			continue
		}
		if now, err := os.Lstat(w.Path); err == nil && now.Mode().IsRegular() && now.Size() == w.Bytes && now.ModTime().UnixNano() == w.TimeNS {
			_ = os.Remove(w.Path)
		}
	}
}

// Environ returns environ with what makes Python find the companion and trace.
func (s *TraceSession) Environ(environ []string) []string {
	return WithEnv(FindFirst(environ, s.site()), TraceVariable+"="+s.dir)
}

// Traces returns the files that traced processes wrote.
func (s *TraceSession) Traces() []string {
	files, _ := filepath.Glob(filepath.Join(s.dir, "trace-*.jsonl")) // the pattern is sound
	return files
}

// Launched tells whether the program has a launcher that started its ranks.
func (s *TraceSession) Launched() bool {
	_, err := os.Stat(filepath.Join(s.dir, "launched"))
	return err == nil
}

// Messages returns how many objects the ranks have sent to each other.
func (s *TraceSession) Messages() int {
	files, _ := filepath.Glob(filepath.Join(s.dir, "message-*"))
	return len(files)
}

// Missing returns the ranks that ended because of a message that was not there yet, and
// which.
func (s *TraceSession) Missing() map[int]string {
	files, _ := filepath.Glob(filepath.Join(s.dir, "missing-*"))
	missing := map[int]string{}
	for _, name := range files {
		text, err := readSmall(name)
		rank, wrong := strconv.Atoi(strings.TrimPrefix(filepath.Base(name), "missing-"))
		if err == nil && wrong == nil {
			missing[rank] = string(text)
		}
	}
	return missing
}

// TraceProblem is why a process could not be traced.
type TraceProblem struct {
	Kind    string `json:"kind"` // python, torch, wheel, tracer or program
	Message string `json:"message"`
	Hint    string `json:"hint"`
	Fault   string `json:"fault"` // of kind program: whose, as that of the end of a trace
}

// Problems returns what processes said of why they were not traced, each once.
func (s *TraceSession) Problems() []TraceProblem {
	files, _ := filepath.Glob(filepath.Join(s.dir, "problem-*.json"))
	var list []TraceProblem
	for _, name := range files {
		var p TraceProblem
		text, err := readSmall(name)
		if err == nil && json.Unmarshal(text, &p) == nil && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// Reached tells how far the processes got: Nothing, Python or Torch.
func (s *TraceSession) Reached() Reached {
	for _, m := range []struct {
		at   Reached
		mark string
	}{{Torch, "torch"}, {Python, "reported"}} {
		if _, err := os.Stat(filepath.Join(s.dir, m.mark)); err == nil {
			return m.at
		}
	}
	return Nothing
}

// Without returns environ without variables of some names.
func Without(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.ContainsFunc(names, func(n string) bool { return sameName(n, name) })
	})
}
