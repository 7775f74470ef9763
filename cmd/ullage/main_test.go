package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// checked is the name under which the test binary runs itself as this program, with the race
// detector if the tests have it.
const checked = "ullage-checked"

// TestMain puts this program on the path, as ullage: built once, as users have it, for the tests
// start it a thousand times, and a test binary with the race detector takes ten times as long to
// begin. What has many goroutines and lives long, the agent, is started as checked.
func TestMain(m *testing.M) {
	testscript.Main(program{m}, map[string]func(){checked: main})
}

// program is the tests with this program on the path.
type program struct{ *testing.M }

// Run builds the program, runs the tests, and returns the exit code.
func (p program) Run() int {
	dir, err := os.MkdirTemp("", "ullage-test-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = build(dir)
	}
	if err == nil {
		err = os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return p.M.Run()
}

// build builds the program into a folder, as make build does.
func build(dir string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", dir+string(filepath.Separator), ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, said)
	}
	return nil
}

// TestScripts runs the scripts of the command line.
func TestScripts(t *testing.T) {
	testdata, err := filepath.Abs(filepath.Join("..", "..", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("..", "..", "internal", "cli", "testdata", "script"),
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ESC", "\x1b")
			env.Setenv("TESTDATA", testdata)
			return nil
		},
	})
}
