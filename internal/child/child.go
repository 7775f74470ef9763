// Package child starts a program with Ullage's companion on its path, and meets the
// companion in a private folder while the program runs and after it has ended.
//
// The folder is made by Open, for one run. It holds the companion's Python code (site), what
// the flags of the run said (config.json, out), and what the watched processes leave: marks
// that something has happened, a file for each process that can be asked for a recording, and
// a list of problems. Python's start-up finds the companion through PYTHONPATH, which children
// of the program inherit.
//
// A recording on demand is asked for with a file, and answered with one: no signal is taken
// from the program, and it works on every system.
package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Variable is the environment variable that names the run's folder to the companion.
const Variable = "ULLAGE_RUN"

// Config is what the companion has to know. It is written as JSON and read by
// python/src/ullage/_companion/job.py.
type Config struct {
	Run        string  `json:"run"`         // the run's name, the same in all that it writes; set by Open
	Out        string  `json:"-"`           // absolute path of the folder for recordings; in a file of its own, since it may not be UTF-8
	Job        string  `json:"job"`         // what the names of recordings begin with
	History    int     `json:"history"`     // events kept for each device
	AtExit     bool    `json:"at_exit"`     // a recording when a process ends
	Budgets    []int64 `json:"budgets"`     // bytes reserved at which a recording is written
	LimitBytes int64   `json:"limit_bytes"` // what a process may reserve on a device; 0 for no limit
	Socket     string  `json:"socket"`      // the agent's, which processes tell of their memory; "" for none
	Lease      *Lease  `json:"lease"`       // that the run is under; nil for none
}

// Session is one run's folder.
type Session struct {
	dir string
	cfg Config
}

// Open makes a folder for a run in the first of bases that will do, and writes into it what
// the companion needs. Close removes it.
func Open(bases []string, cfg Config) (*Session, error) {
	if cfg.Budgets == nil {
		cfg.Budgets = []int64{}
	}
	var failed []error
	for _, base := range bases {
		s, err := openIn(base, cfg)
		if err == nil {
			return s, nil
		}
		failed = append(failed, err)
	}
	return nil, fmt.Errorf("no private folder for the companion can be made: %w", errors.Join(failed...))
}

func openIn(base string, cfg Config) (*Session, error) {
	dir, err := makeRunFolder(base)
	if err != nil {
		return nil, err
	}
	s := &Session{dir: dir, cfg: cfg}
	s.cfg.Run = filepath.Base(dir)
	if err := s.fill(); err != nil { // the disk may be full
		s.Close()
		return nil, err
	}
	return s, nil
}

const (
	configFile = "config.json"
	outFile    = "out"    // holds Config.Out as it is
	nestedMark = "nested" // is there once a run within this one has begun
)

// fill writes config.json last: where it is, all is.
func (s *Session) fill() error {
	if err := writeCompanion(s.Site()); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.dir, outFile), []byte(s.cfg.Out), 0o600); err != nil {
		return err
	}
	text, err := json.Marshal(s.cfg)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, configFile), text, 0o600)
}

// Close removes the folder, and what killed processes left half-written among the
// recordings. A nil session has none.
func (s *Session) Close() {
	if s == nil {
		return
	}
	s.removeParts()
	_ = os.RemoveAll(s.dir) // what is left is swept by a later run
}

// Dir is the run's folder.
func (s *Session) Dir() string { return s.dir }

// Run is the run's name.
func (s *Session) Run() string { return s.cfg.Run }

// Site is the folder that Python finds the companion in.
func (s *Session) Site() string { return filepath.Join(s.dir, "site") }

// Environ returns environ with what makes Python find the companion, first on its path.
func (s *Session) Environ(environ []string) []string {
	return WithEnv(FindFirst(environ, s.Site()), Variable+"="+s.dir)
}

// FindFirst returns environ with a folder in which Python looks for modules before all others.
func FindFirst(environ []string, dir string) []string {
	if old := lookup(environ, "PYTHONPATH"); old != "" {
		dir += string(filepath.ListSeparator) + old
	}
	return WithEnv(environ, "PYTHONPATH="+dir)
}

// WithEnv returns environ with variables set, given as NAME=VALUE.
func WithEnv(environ []string, set ...string) []string {
	out := make([]string, 0, len(environ)+len(set))
	for _, e := range environ {
		replaced := false
		for _, v := range set {
			name, _, _ := strings.Cut(v, "=")
			replaced = replaced || isVar(e, name)
		}
		if !replaced {
			out = append(out, e)
		}
	}
	return append(out, set...)
}

func lookup(environ []string, name string) string {
	for _, e := range environ {
		if isVar(e, name) {
			return e[len(name)+1:]
		}
	}
	return ""
}

// isVar tells whether an entry of an environment is of a variable.
func isVar(entry, name string) bool {
	return len(entry) > len(name) && entry[len(name)] == '=' && sameName(entry[:len(name)], name)
}

// Reached is how far the processes of a run got, the farthest of them.
type Reached int

// From nothing to all.
const (
	Removed Reached = iota // the run's folder is gone: a program removed it, and what was in it
	Nothing                // no Python process found the companion
	Python                 // one did
	Torch                  // one imported torch
	Nested                 // a run within this one watches what it has started
	CUDA                   // one used CUDA, and is or was watched
)

// TellOuter tells the run that this process is a part of, if it is one, that a run within it
// begins: that one watches what it starts, and the outer one does not. env reads the environment.
func TellOuter(env func(string) (string, bool)) {
	outer, ok := env(Variable)
	if !ok || !filepath.IsAbs(outer) {
		return
	}
	if s := (&Session{dir: outer}); s.has(configFile) {
		_ = os.WriteFile(filepath.Join(outer, nestedMark), nil, 0o600) // the outer one then knows less of what it has not seen
	}
}

// Reached tells how far the processes got so far.
func (s *Session) Reached() Reached {
	for _, m := range []struct {
		at   Reached
		mark string
	}{{CUDA, "cuda"}, {Nested, nestedMark}, {Torch, "torch"}, {Python, "reported"}} {
		if s.has(m.mark) {
			return m.at
		}
	}
	if !s.has(configFile) {
		return Removed
	}
	return Nothing
}

func (s *Session) has(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}
