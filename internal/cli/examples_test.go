package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestExamples runs each program of examples, from the root of the tree, as a user would.
func TestExamples(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	bin := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin+string(filepath.Separator), "./cmd/ullage", "./examples/churn").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("GITHUB_STEP_SUMMARY", "")

	const healthy, leaking = "testdata/gpu/train_mlp_adamw.pickle.xz", "testdata/leaks/leak_hook_cache.pickle.xz"
	tests := []struct {
		name    string
		command []string
		code    int
		prints  []string // on standard output or standard error
	}{
		{"within its budget", []string{"sh", "examples/ci-budget/check.sh", healthy, "reserved=600MiB"}, 0, []string{"**Healthy: ", "is within the budget of 600.00 MiB"}},
		{"over its budget", []string{"sh", "examples/ci-budget/check.sh", healthy, "reserved=512MiB"}, 1, []string{"peak reserved 558.00 MiB is over the budget of 512.00 MiB"}},
		{"a leak", []string{"sh", "examples/ci-budget/check.sh", leaking, "reserved=8GiB"}, 1, []string{"leak/growing-site"}},
		{"out of memory", []string{"sh", "examples/ci-budget/check.sh", "testdata/gpu/oom_expandable.pickle.xz", "reserved=8GiB"}, 1, []string{"oom/true-shortage"}},
		{"no recording", []string{"sh", "examples/ci-budget/check.sh", "examples/README.md", "reserved=8GiB"}, 2, []string{"a budget is held against the peaks of a recording", "could not be judged"}},
		{"no file", []string{"sh", "examples/ci-budget/check.sh", "none.pickle", "reserved=8GiB"}, 2, []string{"could not be judged"}},
		{"no arguments", []string{"sh", "examples/ci-budget/check.sh"}, 2, []string{"usage: check.sh RECORDING BUDGET"}},
		{"two runs", []string{"sh", "examples/compare-two-runs/compare.sh", "testdata/leaks/eval_loop.pickle.xz", leaking}, 3, []string{"against", "| change | before | after |", "**Leaks 16.00 MiB a step"}},
		{"churn", []string{filepath.Join(bin, "churn"), healthy}, 0, []string{"device 0\n", "1153.5 MiB in   168 blocks  adam.py:791 _multi_tensor_adam"}},
	}
	_, noShell := exec.LookPath("sh")
	if noShell != nil && runtime.GOOS != "windows" {
		t.Fatal("a system that is not Windows has to have sh")
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.command[0] == "sh" && noShell != nil {
				t.Skipf("%s is not run: this machine has no sh", tt.command[1])
			}
			out, code := runExample(t, tt.command)
			if code != tt.code {
				t.Errorf("exit code %d, want %d:\n%s", code, tt.code, out)
			}
			for _, want := range tt.prints {
				if !strings.Contains(out, want) {
					t.Errorf("does not print %q:\n%s", want, out)
				}
			}
		})
	}
}

func runExample(t *testing.T, command []string) (output string, code int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return string(out), code
}

// TestExamplesAreRun: an example that no row of TestExamples runs may have stopped working
// long ago. Those in Python are run by the Python package's tests, which need torch for it.
func TestExamplesAreRun(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join("..", "..", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range []string{"examples_test.go", filepath.Join("..", "..", "python", "tests", "torch", "test_examples.py")} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for _, f := range folders {
		if f.IsDir() && !strings.Contains(source.String(), f.Name()) {
			t.Errorf("no test runs examples/%s", f.Name())
		}
	}
}
