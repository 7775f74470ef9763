package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// watching is a place in which the real program runs others, with a torch that is not one:
// python/tests/fake says how far it goes.
type watching struct {
	t              *testing.T
	dir            string
	env            []string
	python         string
	stdout, stderr bytes.Buffer
}

func newWatching(t *testing.T, env ...string) *watching {
	t.Helper()
	w := &watching{t: t, dir: t.TempDir(), python: findPython(t)}
	root := treeRoot(t)
	w.env = append(os.Environ(),
		"HOME="+w.dir, "XDG_CACHE_HOME="+filepath.Join(w.dir, "cache"), "LocalAppData="+w.dir,
		"PYTHONPATH="+filepath.Join(root, "python", "tests", "fake"), "PYTHONDONTWRITEBYTECODE=1",
		"FAKE_RECORDING="+filepath.Join(root, "testdata", "gpu", "oom_batch_too_large.pickle.xz"))
	w.env = append(w.env, env...)
	return w
}

func treeRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// findPython finds the interpreter itself: tools that manage versions put scripts in front,
// which would take the signals.
func findPython(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "python"} {
		out, err := exec.CommandContext(t.Context(), name, "-c", "import sys; print(sys.executable)").Output()
		if err == nil {
			return strings.TrimSpace(string(out))
		}
	}
	t.Fatal("the tests of ullage run need Python 3.9 or newer as python3 or python")
	return ""
}

func (w *watching) writeFile(name, text string, mode os.FileMode) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		w.t.Fatal(err)
	}
}

// behave is a command line for the program that does what it is told.
func (w *watching) behave(actions ...string) []string {
	program := filepath.Join(treeRoot(w.t), "python", "tests", "programs", "behave.py")
	return append([]string{w.python, program}, actions...)
}

func (w *watching) command(args ...string) *exec.Cmd {
	cmd := exec.Command("ullage", args...) // TestMain put it on the path
	cmd.Dir, cmd.Env = w.dir, w.env
	cmd.Stdout, cmd.Stderr = &w.stdout, &w.stderr
	return cmd
}

// run runs ullage run and returns its exit code.
func (w *watching) run(flags []string, command ...string) int {
	w.t.Helper()
	w.stdout.Reset()
	w.stderr.Reset()
	return exitOf(w.t, w.command(slices.Concat([]string{"run", "--out", "out"}, flags, []string{"--"}, command)...).Run())
}

func exitOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

// recordings returns the names of what lies in the folder for recordings, by ending.
func (w *watching) recordings(ending string) []string {
	w.t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.dir, "out"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ending) {
			names = append(names, e.Name())
		}
	}
	// By reason: by name, the second in which each was written would come first.
	slices.SortStableFunc(names, func(a, b string) int {
		return strings.Compare(a[strings.LastIndexByte(a, '_')+1:], b[strings.LastIndexByte(b, '_')+1:])
	})
	return names
}

func (w *watching) beside(recording string) map[string]any {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, "out", strings.TrimSuffix(recording, ".pickle")+".json"))
	if err != nil {
		w.t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		w.t.Fatal(err)
	}
	return v
}

const verdict = "Out of memory by true shortage"

// TestRun: what programs do, and what is left of it.
func TestRun(t *testing.T) {
	const anyPID = `behave_pid\d+_\d{8}-\d{6}_`
	tests := []struct {
		name    string
		env     []string
		flags   []string
		actions []string
		code    int
		files   []string // patterns of the recordings' names
		prints  []string // on standard output or standard error
		not     []string
	}{
		{name: "healthy", actions: []string{"use"}, not: []string{"ullage"}},
		{name: "its own exit code", actions: []string{"use", "exit-5"}, code: 5, not: []string{"ullage"}},
		{name: "out of memory", actions: []string{"use", "oom"}, code: 1, files: []string{anyPID + "oom"}, prints: []string{"torch.OutOfMemoryError: CUDA out of memory", "ullage: 1 recording in ", verdict, "ullage: for more: ullage explain "}},
		{name: "out of memory, survived thirty times", actions: []string{"survive"}, files: []string{anyPID + "oom", anyPID + "oom"}, prints: []string{"ullage: 2 recordings in ", "; explained: behave_pid"}},
		{name: "out of memory, and killed", actions: []string{"survive", "kill"}, code: 137, files: []string{anyPID + "oom"}, prints: []string{verdict}},
		{name: "killed", actions: []string{"use", "kill"}, code: 137},
		{name: "a library ran out", actions: []string{"hidden"}, code: 1, files: []string{anyPID + "oom"}, prints: []string{"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED"}},
		{name: "a library ran out, raised from", actions: []string{"wrapped"}, code: 1, files: []string{anyPID + "oom"}, prints: []string{"ValueError: step 3 failed"}},
		{name: "own excepthook", actions: []string{"replace-excepthook", "use", "hidden"}, code: 1, files: []string{anyPID + "oom"}, prints: []string{"own hook: RuntimeError"}, not: []string{"Traceback"}},
		{name: "own excepthook, set later", actions: []string{"use", "replace-excepthook", "hidden"}, code: 1, files: []string{anyPID + "oom"}, prints: []string{"own hook: RuntimeError"}, not: []string{"Traceback"}},
		{name: "in a thread", actions: []string{"oom-in-thread"}, files: []string{anyPID + "oom"}, prints: []string{"Exception in thread"}},
		{name: "its run's folder is gone", actions: []string{"use", "remove-folder", "subprocess-oom", "oom"}, code: 1, files: []string{anyPID + "oom"}, prints: []string{"child: 1", verdict}, not: []string{"warning"}},
		{name: "its run's folder is gone at once", actions: []string{"remove-folder", "use"}, prints: []string{"warning: the folder in which the program's processes meet ullage is gone"}},
		{name: "the clock is set back", actions: []string{"use", "survive", "clock-back", "hidden"}, code: 1, files: []string{anyPID + "oom", anyPID + "oom"}, prints: []string{"ullage: 2 recordings in "}},
		{name: "another error", actions: []string{"use", "no-such-action"}, code: 1, prints: []string{"KeyError"}, not: []string{"ullage"}},

		{name: "torch is not imported for the program", actions: []string{"print-modules", "use", "print-modules"}, prints: []string{"torch imported: False", "torch imported: True"}},
		{name: "no torch", actions: []string{"print-modules"}, prints: []string{"warning: nothing was watched: no process imported torch"}},
		{name: "torch without CUDA", actions: []string{"import"}, prints: []string{"warning: nothing was watched: torch was imported, but CUDA was not used"}},
		{name: "no GPU", env: []string{"FAKE_NO_GPU=1"}, actions: []string{"use"}, code: 1, prints: []string{"Found no NVIDIA driver", "CUDA was not used"}},

		{name: "history", flags: []string{"--history", "500"}, actions: []string{"use", "print-history"}, prints: []string{"history: [{'enabled': 'all', 'context': 'alloc', 'stacks': 'python', 'max_entries': 500}]"}},
		{name: "history of torch 2.1", env: []string{"FAKE_TORCH=2.1.0"}, actions: []string{"use", "print-history"}, prints: []string{"history: [{'enabled': 'all', 'context': 'alloc', 'stacks': 'python', 'max_entries': 200000}]"}},
		{name: "history of torch 2.0", env: []string{"FAKE_TORCH=2.0.1"}, actions: []string{"use", "print-history"}, prints: []string{"'max_entries': 200000, 'trace_context': True}]"}},
		{name: "no history", flags: []string{"--history", "0"}, actions: []string{"use", "print-history"}, prints: []string{"history: []"}},
		{name: "a torch that cannot record", env: []string{"FAKE_TORCH=1.13"}, actions: []string{"use"}, prints: []string{"this torch cannot record its memory", "does not tell when an allocation fails"}},

		{name: "at exit", flags: []string{"--snapshot-at", "exit"}, actions: []string{"use"}, files: []string{anyPID + "end"}, prints: []string{verdict}},
		{name: "at exit, after a failure", flags: []string{"--snapshot-at=exit"}, actions: []string{"use", "oom"}, code: 1, files: []string{anyPID + "end", anyPID + "oom"}},
		{name: "a budget, reached for a moment", flags: []string{"--snapshot-at", "8GiB", "--snapshot-at", "12GiB"}, actions: []string{"use-10", "free-10", "wait-for-recording"}, files: []string{anyPID + "budget"}},
		{name: "a budget, reached and over at once", flags: []string{"--snapshot-at", "8GiB"}, actions: []string{"use-10"}, files: []string{anyPID + "budget"}},
		{name: "counters", actions: []string{"use", "wait-for-counters"}},

		{name: "a limit", flags: []string{"--limit", "4GiB"}, actions: []string{"import", "print-limits", "use", "print-limits", "use-10"}, code: 1, files: []string{anyPID + "oom"}, prints: []string{"limits: {}\nlimits: {0: 0.25}\n", "OutOfMemoryError"}},
		{name: "a limit, in the explanation", flags: []string{"--limit", "2GiB"}, actions: []string{"use", "oom"}, code: 1, files: []string{anyPID + "oom"}, prints: []string{verdict + " within a limit of 2.00 GiB: "}},
		{name: "a limit, of a rank", env: []string{"FAKE_DEVICES=4", "RANK=6", "LOCAL_RANK=2"}, flags: []string{"--limit", "4GiB"}, actions: []string{"import", "print-limits", "use", "print-limits"}, prints: []string{"limits: {2: 0.25}"}},
		{name: "a limit, of a program that chooses its device", env: []string{"FAKE_DEVICES=4"}, flags: []string{"--limit", "4GiB"}, actions: []string{"use-device-2", "wait-for-limit", "print-limits", "print-contexts", "oom-device-2"}, code: 1, files: []string{anyPID + "oom"}, prints: []string{"limits: {2: 0.25}\ncontexts: {2}\n"}},
		{name: "settings", flags: []string{"--alloc-conf", "expandable_segments:True"}, actions: []string{"use", "print-conf"}, prints: []string{"conf: expandable_segments:True expandable_segments:True"}},
		{name: "fail on, found", flags: []string{"--fail-on", "oom"}, actions: []string{"use"}, code: 3, files: []string{anyPID + "end"}, prints: []string{"ullage: error: oom/true-shortage"}},
		{name: "fail on, not found", flags: []string{"--fail-on", "leak"}, actions: []string{"use"}, files: []string{anyPID + "end"}},
		{name: "fail on, of a program that failed", flags: []string{"--fail-on", "oom"}, actions: []string{"use", "exit-5"}, code: 5, files: []string{anyPID + "end"}},
		{name: "fail on, without a recording", flags: []string{"--fail-on", "oom"}, actions: []string{"import"}, code: 1, prints: []string{"ullage: error: --fail-on: no recording was written"}},

		{name: "a spawned child", actions: []string{"spawned-oom"}, files: []string{anyPID + "oom"}, prints: []string{"child: 1"}},
		{name: "a library ran out in a spawned child", actions: []string{"spawned-hidden"}, files: []string{anyPID + "oom"}, prints: []string{"child: 1"}},
		{name: "a child of Python's", actions: []string{"use", "subprocess-oom"}, files: []string{anyPID + "oom"}, prints: []string{"child: 1"}},
		{name: "a rank", env: []string{"RANK=3", "LOCAL_RANK=1", "FAKE_DEVICES=2"}, actions: []string{"use", "oom"}, code: 1, files: []string{`behave_rank3_pid\d+_\d{8}-\d{6}_oom`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWatching(t, tt.env...)
			want := tt.code
			if want == 137 && runtime.GOOS == "windows" {
				want = 9 // os.kill ends a process with the signal's number there
			}
			if code := w.run(tt.flags, w.behave(tt.actions...)...); code != want {
				t.Errorf("exit code %d, want %d", code, want)
			}
			w.check(tt.files, tt.prints, tt.not)
		})
	}
}

// check compares what a run left.
func (w *watching) check(files, prints, not []string) {
	w.t.Helper()
	got := w.recordings(".pickle")
	pattern := regexp.MustCompile("^" + strings.Join(files, `\.pickle `) + `(\.pickle)?$`)
	if text := strings.Join(got, " "); !pattern.MatchString(text) || (len(files) == 0) != (text == "") {
		w.t.Errorf("recordings %q, want %q", got, files)
	}
	if parts := w.recordings(".part"); len(parts) > 0 {
		w.t.Errorf("left behind: %q", parts)
	}
	both := strings.ReplaceAll(w.stdout.String()+w.stderr.String(), "\r\n", "\n")
	for _, want := range prints {
		if !strings.Contains(both, want) {
			w.t.Errorf("does not print %q", want)
		}
	}
	for _, n := range not {
		if strings.Contains(both, n) {
			w.t.Errorf("prints %q", n)
		}
	}
	if w.t.Failed() {
		w.t.Logf("standard output:\n%s\nstandard error:\n%s", &w.stdout, &w.stderr)
	}
	w.checkGone()
}

// checkGone: nothing of a run stays in the cache.
func (w *watching) checkGone() {
	w.t.Helper()
	left, err := filepath.Glob(filepath.Join(w.dir, "cache", "ullage", "live", "*", "run-*"))
	if err != nil || len(left) > 0 {
		w.t.Errorf("left in the cache: %q, %v", left, err)
	}
}

// TestRunBeside: the file beside a recording says what the recording cannot, and the message
// of the error that came after it.
func TestRunBeside(t *testing.T) {
	w := newWatching(t)
	w.run([]string{"--limit", "4GiB"}, w.behave("use", "oom")...)
	names := w.recordings(".pickle")
	if len(names) != 1 {
		t.Fatalf("recordings %q", names)
	}
	b := w.beside(names[0])
	message, _ := b["message"].(string)
	device := b["devices"].([]any)[0].(map[string]any)
	got := fmt.Sprint(b["recording"] == names[0], " ", b["reason"], " ", strings.HasPrefix(message, "OutOfMemoryError: CUDA out of memory. "), " ", int64(device["limit_bytes"].(float64)), " ", int64(device["total_bytes"].(float64)))
	if want := fmt.Sprint("true oom true ", int64(4)<<30, " ", int64(16)<<30); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestRunStreams: standard input is the program's, and its output comes through as it is.
func TestRunStreams(t *testing.T) {
	w := newWatching(t)
	cmd := w.command(append([]string{"run", "--"}, w.behave("print-stdin", "use")...)...)
	cmd.Stdin = strings.NewReader("some input\n")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &w.stderr)
	}
	if got := strings.TrimSpace(w.stdout.String()); got != "stdin: some input" {
		t.Errorf("standard output %q", got)
	}
}

// TestRunShutOut: an interpreter that the companion cannot enter is said to be that.
func TestRunShutOut(t *testing.T) {
	for _, option := range []string{"-I", "-S", "-E", "-uI"} {
		w := newWatching(t)
		code := w.run(nil, w.python, option, "-c", "print('ran')")
		text := w.stderr.String()
		if code != 0 || !strings.Contains(w.stdout.String(), "ran") || !strings.Contains(text, "cannot be watched") || !strings.Contains(text, "never reported in") {
			t.Errorf("%s: exit code %d\n%s", option, code, text)
		}
	}
}

// TestRunNotStarted: codes that shells have for it.
func TestRunNotStarted(t *testing.T) {
	w := newWatching(t)
	if code := w.run(nil, "no-such-program-anywhere"); code != 127 {
		t.Errorf("a program that is not there: exit code %d\n%s", code, &w.stderr)
	}
	if code := w.run(nil, w.dir); code != 126 && runtime.GOOS != "windows" {
		t.Errorf("a folder: exit code %d\n%s", code, &w.stderr)
	}
	w.writeFile("train.py", "print(1)\n", 0o644)
	if code := w.run(nil, "train.py"); code != 127 || !strings.Contains(w.stderr.String(), "hint: it is run by Python, as in: python train.py\n") {
		t.Errorf("a script: exit code %d\n%s", code, &w.stderr)
	}
	if runtime.GOOS == "windows" {
		return // where the name's ending tells what can be run
	}
	for name, tt := range map[string]struct {
		text, hint string
		code       int
	}{
		"./lost":  {"#!/no/such/interpreter\n", "not the interpreter that its first line names", 127},
		"./plain": {"echo\n", "has no first line that names an interpreter", 126},
		"plain":   {"echo\n", "is not searched for programs: ./plain", 127},
	} {
		w.writeFile(name, tt.text, 0o755)
		if code := w.run(nil, name); code != tt.code || !strings.Contains(w.stderr.String(), tt.hint) {
			t.Errorf("%s: exit code %d\n%s", name, code, &w.stderr)
		}
	}
}

// TestRunNested: the inner run watches, with flags of its own, and the outer one says so
// rather than that no Python was started, also if it saw Python itself.
func TestRunNested(t *testing.T) {
	w := newWatching(t)
	inner := append([]string{"ullage", "run", "--out", "inner", "--"}, w.behave("use", "oom")...)
	code := w.run(nil, append([]string{w.python, "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"}, inner...)...)
	text := w.stderr.String()
	if code != 1 || !strings.Contains(text, verdict) || !strings.Contains(text, "nothing was watched by this ullage run: another one was started within it") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	if strings.Contains(text, "no process imported torch") {
		t.Errorf("the outer run knows of nothing else\n%s", text)
	}
	w.checkGone()
}

// TestRunChains: the sitecustomize that the companion stands in front of is run, and those
// that it looks for in turn.
func TestRunChains(t *testing.T) {
	w := newWatching(t)
	write := func(folder, text string) string {
		dir := filepath.Join(w.dir, folder)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "sitecustomize.py"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	first := write("first", "import os, sys\nos.environ['TOOL_FIRST'] = __spec__.origin\nsys.path.remove(os.path.dirname(__file__))\ndel sys.modules['sitecustomize']\nimport sitecustomize\n")
	second := write("second", "import os\nos.environ['TOOL_SECOND'] = __file__\nraise ImportError('no such tool', name='tool')\n")
	w.env = append(w.env, "PYTHONPATH="+strings.Join([]string{first, second, filepath.Join(treeRoot(t), "python", "tests", "fake")}, string(filepath.ListSeparator)))
	if code := w.run(nil, w.behave("print-tools", "use", "oom")...); code != 1 {
		t.Errorf("exit code %d", code)
	}
	w.check([]string{`behave_pid\d+_\d{8}-\d{6}_oom`}, []string{"tools: ['TOOL_FIRST', 'TOOL_SECOND']", "no such tool"}, nil)
}

// TestRunFullDisk: a recording that does not fit is not begun again and again, not left half
// written, and not passed over in silence; the program goes on.
func TestRunFullDisk(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("limits on the size of files are Unix's")
	}
	w := newWatching(t)
	if code := w.run([]string{"--snapshot-at", "exit"}, w.behave("small-files", "survive", "exit-5")...); code != 5 {
		t.Errorf("exit code %d", code)
	}
	w.check(nil, []string{"warning: process ", "no recording was written (oom)", "File too large"}, nil)
}

// TestRunReadOnly: where recordings cannot be written they go among the temporary files, and
// where nothing can be written at all the program runs all the same.
func TestRunReadOnly(t *testing.T) {
	w := newWatching(t)
	if err := os.WriteFile(filepath.Join(w.dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join("file", "out")
	temporary := filepath.Join(w.dir, "tmp")
	w.env = append(w.env, "TMPDIR="+temporary, "TMP="+temporary)
	if code := w.run([]string{"--out", below}, w.behave("use", "survive", "exit-5")...); code != 5 {
		t.Errorf("exit code %d", code)
	}
	w.check(nil, []string{"warning: recordings cannot be written to ", "; nor elsewhere: ", "no recording was written (oom)"}, nil)

	if err := os.Mkdir(temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	if code := w.run([]string{"--out", below}, w.behave("import")...); code != 0 {
		t.Errorf("exit code %d", code)
	}
	w.check(nil, []string{"warning: recordings are written to " + temporary}, nil)
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if code := w.run([]string{"--out", below}, w.behave("use", "survive", "exit-5")...); code != 5 {
		t.Errorf("exit code %d", code)
	}
	w.check(nil, []string{"warning: recordings are written to " + temporary, "recordings in " + temporary, verdict}, nil)
}

// TestRunNowhere: where no folder can be made in which to meet the program, it runs unwatched,
// unless the user asked for what only watching gives.
func TestRunNowhere(t *testing.T) {
	w := newWatching(t)
	file := filepath.Join(w.dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "HOME="+file, "XDG_CACHE_HOME="+file, "LocalAppData="+file, "TMPDIR="+file, "TMP="+file)
	if code := w.run([]string{"--alloc-conf", "expandable_segments:True"}, w.behave("use", "print-conf", "exit-5")...); code != 5 {
		t.Errorf("exit code %d", code)
	}
	w.check(nil, []string{"warning: the program is not watched: no private folder for the companion can be made", "conf: expandable_segments:True"}, nil)
	for _, flags := range [][]string{{"--limit", "4GiB"}, {"--fail-on", "leak"}} {
		if code := w.run(flags, w.behave("import")...); code != 1 {
			t.Errorf("%q: exit code %d", flags, code)
		}
		w.check(nil, []string{"ullage: error: no private folder for the companion can be made", "hint: set HOME, XDG_CACHE_HOME or TMPDIR"}, nil)
	}
}

// TestRunMany: twenty ranks in one folder, each with its recording, compared.
func TestRunMany(t *testing.T) {
	w := newWatching(t)
	launcher := filepath.Join(w.dir, "launch.py")
	text := "import os, subprocess, sys\nps = [subprocess.Popen(sys.argv[1:], env={**os.environ, 'RANK': str(r), 'LOCAL_RANK': '0'}, stderr=subprocess.DEVNULL) for r in range(20)]\nsys.exit(max(p.wait() for p in ps))\n"
	if err := os.WriteFile(launcher, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := w.run(nil, append([]string{w.python, launcher}, w.behave("use", "oom")...)...); code != 1 {
		t.Errorf("exit code %d", code)
	}
	var want []string
	for rank := range 20 {
		want = append(want, fmt.Sprintf(`launch_rank%d_pid\d+_\d{8}-\d{6}_oom`, rank))
	}
	slices.Sort(want)
	got := w.recordings(".pickle")
	for i, pattern := range want {
		if len(got) != len(want) || !regexp.MustCompile(pattern).MatchString(got[i]) {
			t.Fatalf("recordings %q", got)
		}
	}
	w.check(want, []string{"20 devices in 20 files", verdict}, []string{"warning"})
}

// TestSnap: a process that is asked for a recording writes one and goes on.
func TestSnap(t *testing.T) {
	for _, byRun := range []bool{false, true} {
		w := newWatching(t)
		cmd := w.command(append([]string{"run", "--out", "out", "--"}, w.behave("use", "pause")...)...)
		pid := w.startPaused(cmd)
		if byRun {
			pid = fmt.Sprint(cmd.Process.Pid)
		}
		w.ask(pid)
		w.goOn()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program: %v\n%s", err, &w.stderr)
		}
		w.check([]string{`behave_pid\d+_\d{8}-\d{6}_snap`}, nil, nil)
	}
}

// startPaused starts a command whose program pauses, and returns that program's process.
func (w *watching) startPaused(cmd *exec.Cmd) (pid string) {
	w.t.Helper()
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	var line string
	for buf := make([]byte, 1); !strings.HasSuffix(line, "\n"); {
		n, err := out.Read(buf)
		if line += string(buf[:n]); err != nil {
			w.t.Fatalf("%v after %q\n%s", err, line, &w.stderr)
		}
	}
	go func() { // what else it prints
		_, _ = io.Copy(&lockedWriter{w: &w.stdout}, out)
	}()
	pid, ok := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if !ok {
		w.t.Fatalf("the program said %q\n%s", line, &w.stderr)
	}
	return pid
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (w *watching) goOn() {
	if err := os.WriteFile(filepath.Join(w.dir, "go-on"), nil, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// ask runs ullage snap, in both of its forms, and one that cannot be.
func (w *watching) ask(pid string) {
	w.t.Helper()
	none := exec.Command("ullage", "snap", "1")
	none.Env = w.env
	if out, err := none.CombinedOutput(); exitOf(w.t, err) != 1 || !strings.Contains(string(out), "process 1 is not watched") || !strings.Contains(string(out), "(behave.py)") {
		w.t.Errorf("a process that is not watched: %v\n%s", err, out)
	}
	cmd := exec.Command("ullage", "snap", "--json", pid)
	cmd.Env = w.env
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("snap: %v\n%s", err, out)
	}
	var answer struct {
		Recordings []struct{ Recording, Error string }
	}
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Recordings) != 1 {
		w.t.Fatalf("snap: %v\n%s", err, out)
	}
	if _, err := os.Stat(answer.Recordings[0].Recording); err != nil {
		w.t.Errorf("snap: %v\n%s", err, out)
	}
}
