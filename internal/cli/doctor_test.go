package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ullage-dev/ullage/internal/doctor"
	"github.com/ullage-dev/ullage/internal/gpu"
)

// TestDoctor runs the command on the machines of testdata/doctor, which its README
// describes, and compares what it prints with the golden files beside them.
func TestDoctor(t *testing.T) {
	names, err := filepath.Glob("testdata/doctor/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no machines: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			golden(t, strings.TrimSuffix(name, "txtar")+"txt", []byte(loadMachine(t, name).doctor(t)))
		})
	}
}

// TestDoctorJSON prints some of the machines as JSON too.
func TestDoctorJSON(t *testing.T) {
	for _, name := range []string{"fine-h200", "old-driver", "mig", "ecc", "wrong-visible", "small-shm", "ignored-settings", "jetson", "leftover", "nothing"} {
		name = filepath.Join("testdata", "doctor", name+".txtar")
		m := loadMachine(t, name)
		m.args = append(m.args, "--json")
		golden(t, strings.TrimSuffix(name, "txtar")+"json", []byte(m.doctor(t)))
	}
}

// scripted is a machine that an archive describes.
type scripted struct {
	args   []string
	env    map[string]string
	said   map[string]string // what a command prints, by its words
	fails  map[string]bool
	hangs  map[string]bool
	root   fstest.MapFS
	denied map[string]error // files that cannot be opened
	goos   string
}

func loadMachine(t *testing.T, name string) *scripted {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m := &scripted{
		env:  map[string]string{"XDG_CACHE_HOME": t.TempDir()},
		said: map[string]string{}, fails: map[string]bool{}, hangs: map[string]bool{},
		root: fstest.MapFS{}, denied: map[string]error{}, goos: "linux",
	}
	for _, f := range archive.Files {
		if err := m.section(f.Name, strings.TrimSuffix(string(f.Data), "\n")); err != nil {
			t.Fatalf("%s: %s: %v", name, f.Name, err)
		}
	}
	return m
}

func (m *scripted) section(name, text string) error {
	kind, rest, _ := strings.Cut(name, " ")
	switch {
	case name == "args":
		m.args = strings.Fields(text)
	case name == "system":
		m.goos = text
	case name == "env":
		for line := range strings.Lines(text) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			m.env[key] = value
		}
	case kind == "run" || kind == "fail" || kind == "hang":
		said, err := sectionText(text)
		m.said[rest], m.fails[rest], m.hangs[rest] = said, kind == "fail", kind == "hang"
		return err
	case name == "nodes":
		return m.nodes(text)
	case kind == "link":
		m.root[strings.TrimPrefix(rest, "/")] = &fstest.MapFile{Data: []byte(text), Mode: fs.ModeSymlink | 0o777}
	case strings.HasPrefix(name, "/"):
		m.root[name[1:]] = &fstest.MapFile{Data: []byte(text + "\n"), Mode: 0o444}
	default:
		return errors.New("no such section")
	}
	return nil
}

// sectionText is what a command prints: the text, or where that begins with an @ the file named
// there, with each "old -> new" of the further lines replaced.
func sectionText(text string) (string, error) {
	lines := strings.Split(text, "\n")
	path, is := strings.CutPrefix(lines[0], "@")
	if !is {
		return text + "\n", nil
	}
	raw, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		return "", err
	}
	said := string(raw)
	for _, line := range lines[1:] {
		before, after, ok := strings.Cut(line, " -> ")
		if !ok || !strings.Contains(said, before) {
			return "", fmt.Errorf("%q replaces nothing", line)
		}
		said = strings.ReplaceAll(said, before, after)
	}
	return said, nil
}

// nodes reads lines as "/dev/nvidiactl 666", with "denied" behind for one that cannot be opened.
func (m *scripted) nodes(text string) error {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		var mode fs.FileMode
		if _, err := fmt.Sscanf(fields[1], "%o", &mode); err != nil {
			return err
		}
		m.root[fields[0][1:]] = &fstest.MapFile{Mode: mode | fs.ModeDevice | fs.ModeCharDevice}
		if len(fields) > 2 {
			m.denied[fields[0][1:]] = errors.New("operation not permitted")
		}
	}
	return nil
}

// Open refuses what is denied.
func (m *scripted) Open(name string) (fs.File, error) {
	if err := m.denied[name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return m.root.Open(name)
}

func (m *scripted) Stat(name string) (fs.FileInfo, error)      { return m.root.Stat(name) }
func (m *scripted) ReadDir(name string) ([]fs.DirEntry, error) { return m.root.ReadDir(name) }
func (m *scripted) Glob(pattern string) ([]string, error)      { return m.root.Glob(pattern) }
func (m *scripted) ReadLink(name string) (string, error)       { return m.root.ReadLink(name) }
func (m *scripted) Lstat(name string) (fs.FileInfo, error)     { return m.root.Lstat(name) }

// run is what the machine's programs do. Of Python's arguments only the program counts.
func (m *scripted) run(ctx context.Context, program string, args ...string) ([]byte, error) {
	call := strings.Join(append([]string{program}, args...), " ")
	if slices.Contains(args, "-c") {
		call = program
	}
	said, there := m.said[call]
	switch {
	case !there:
		return nil, fmt.Errorf("%s: not installed", program)
	case m.fails[call]:
		return []byte(said), fmt.Errorf("%s: exit status 9: %s", program, strings.TrimSpace(said))
	case m.hangs[call]:
		<-ctx.Done()
		return []byte(said), ctx.Err()
	}
	return []byte(said), nil
}

// doctor runs the command on the machine, and returns what it prints with its exit code.
func (m *scripted) doctor(t *testing.T) string {
	t.Helper()
	o := outside{env: m.env}
	app := o.app()
	app.goos = m.goos
	app.Environ = func() (all []string) {
		for name, value := range m.env {
			all = append(all, name+"="+value)
		}
		return all
	}
	app.GPUs = gpu.NoMachine(stillClock{})
	app.GPUs.Root, app.GPUs.Run, app.GPUs.UID = m, m.run, 1000
	app.GPUs.User = func(uid int) string { return fmt.Sprintf("user%d", uid) }
	code := Run(t.Context(), app, append([]string{"doctor"}, m.args...))
	return fmt.Sprintf("%s%sexit code %d\n", o.stdout.String(), o.stderr.String(), code)
}

// TestDoctorLevels: the exit code is 3 from the level on that was asked for.
func TestDoctorLevels(t *testing.T) {
	for level, want := range map[string]int{"": exitDone, "problem": exitDone, "warning": exitFinding, "note": exitFinding} {
		m := loadMachine(t, "testdata/doctor/small-shm.txtar")
		if level != "" {
			m.args = append(m.args, "--fail-on", level)
		}
		if got := m.doctor(t); !strings.HasSuffix(got, fmt.Sprintf("exit code %d\n", want)) {
			t.Errorf("--fail-on %q: expected %d:\n%s", level, want, got)
		}
	}
}

// TestDoctorVariables: every variable that a check speaks of is one that is collected.
func TestDoctorVariables(t *testing.T) {
	known := doctor.Variables()
	sources, err := filepath.Glob("../doctor/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatal(err)
	}
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{`f.env("`, `f.isSet("`, `f.Env["`} {
			for _, rest := range strings.Split(string(text), call)[1:] {
				variable, _, _ := strings.Cut(rest, `"`)
				if !slices.Contains(known, variable) {
					t.Errorf("%s looks at %s, which doctor.Variables lacks", name, variable)
				}
			}
		}
	}
}
