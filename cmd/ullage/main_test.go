package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the scripts run this program under its own name: the test binary runs
// itself as ullage, so that what is tested is the real main.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ullage": main})
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
