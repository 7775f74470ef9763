package cli

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
)

var update = flag.Bool("update", false, "rewrite golden files and manual pages")

// outside is a world for commands under test: what they write is kept, nothing in the
// environment is set, and the clock stands still.
type outside struct {
	stdin          string
	env            map[string]string
	terminal       term.Terminal // what standard output and standard error are
	stdout, stderr bytes.Buffer
}

// run runs a whole command line in-process and returns its exit code.
func (o *outside) run(t *testing.T, args ...string) int {
	t.Helper()
	return Run(t.Context(), o.app(), args)
}

func (o *outside) app() *App {
	return &App{
		Stdin:  strings.NewReader(o.stdin),
		Stdout: &o.stdout,
		Stderr: &o.stderr,
		LookupEnv: func(name string) (string, bool) {
			v, ok := o.env[name]
			return v, ok
		},
		Environ: os.Environ,
		Signals: func(chan<- os.Signal, ...os.Signal) func() { return func() {} },
		Files:   diskFiles{},
		Now:     func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) },
		Probe:   func(any) term.Terminal { return o.terminal },
		GPUs:    gpu.NoMachine(stillClock{}),
		Version: "v1.2.3",
		goos:    "linux",
	}
}

// stillClock stands still for probes: no timer of theirs goes off.
type stillClock struct{}

func (stillClock) Now() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func (stillClock) Timer(time.Duration) (<-chan time.Time, func()) {
	return nil, func() {}
}

// diskFiles is the real file system.
type diskFiles struct{}

func (diskFiles) Open(name string) (fs.File, error)          { return os.Open(name) }
func (diskFiles) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Stat does not see the agent of the machine that tests run on.
func (diskFiles) Stat(name string) (fs.FileInfo, error) {
	if name == client.SystemSocket {
		return nil, fs.ErrNotExist
	}
	return os.Stat(name)
}

// golden compares got with a golden file, or rewrites the file under -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v; make it with -update", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs; if that is wanted, rewrite it with -update (-want +got):\n%s", name, diff)
	}
}
