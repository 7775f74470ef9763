//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestRunSignals: what ullage run is sent, the program gets, once; one that it does not
// handle ends it, as if there were nothing in between.
func TestRunSignals(t *testing.T) {
	tests := []struct {
		name   string
		action string // "" for none
		signal syscall.Signal
		code   int
		says   string
	}{
		{"interrupt", "handle-INT", syscall.SIGINT, 9, "got SIGINT"},
		{"terminate", "handle-TERM", syscall.SIGTERM, 9, "got SIGTERM"},
		{"user signal", "handle-USR1", syscall.SIGUSR1, 9, "got SIGUSR1"},
		{"terminate, not handled", "", syscall.SIGTERM, 128 + 15, ""},
		{"interrupt, Python's own way", "", syscall.SIGINT, 128 + 2, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWatching(t)
			actions := []string{"use"}
			if tt.action != "" {
				actions = append(actions, tt.action)
			}
			cmd := w.command(append([]string{"run", "--"}, w.behave(append(actions, "pause")...)...)...)
			cmd.Stdout = nil
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal, whose keys would reach the program directly
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			if !lines.Scan() || !strings.HasPrefix(lines.Text(), "ready ") {
				t.Fatalf("the program said %q", lines.Text())
			}
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			var said []string
			for lines.Scan() {
				said = append(said, lines.Text())
			}
			if code := exitOf(t, cmd.Wait()); code != tt.code || strings.Join(said, "\n") != tt.says {
				t.Errorf("exit code %d, want %d; said %q, want %q\n%s", code, tt.code, said, tt.says, &w.stderr)
			}
			w.checkGone()
		})
	}
}

// TestRunForked: a child that is forked after the program has used CUDA cannot use it, and
// is left alone; one that is forked before can, and is watched.
func TestRunForked(t *testing.T) {
	w := newWatching(t)
	if code := w.run([]string{"--snapshot-at", "exit"}, w.behave("fork")...); code != 0 {
		t.Errorf("exit code %d", code)
	}
	w.check([]string{`behave_pid\d+_\d{8}-\d{6}_end`}, []string{"forked: Cannot re-initialize CUDA in forked subprocess.", "forked child: 7"}, nil)

	w = newWatching(t)
	w.run(nil, w.behave("import", "forked-oom")...)
	w.check([]string{`behave_pid\d+_\d{8}-\d{6}_oom`}, []string{"child: 1", verdict}, nil)

	w = newWatching(t)
	w.run([]string{"--snapshot-at", "exit"}, w.behave("forked-use")...)
	w.check([]string{`behave_pid\d+_\d{8}-\d{6}_end`}, []string{"child: 0"}, nil)
}

// TestRunServed: children of a server that is forked once are watched, however they fail.
func TestRunServed(t *testing.T) {
	for _, action := range []string{"served-oom", "served-hidden", "forked-hidden"} {
		w := newWatching(t)
		w.run(nil, w.behave(action)...)
		w.check([]string{`behave_pid\d+_\d{8}-\d{6}_oom`}, []string{"child: 1", verdict}, nil)
	}
}

// TestRunExec: a process that becomes another program is watched anew.
func TestRunExec(t *testing.T) {
	w := newWatching(t)
	if code := w.run([]string{"--snapshot-at", "exit"}, w.behave("use", "exec", "use", "oom")...); code != 1 {
		t.Errorf("exit code %d", code)
	}
	w.check([]string{`behave_pid\d+_\d{8}-\d{6}_end`, `behave_pid\d+_\d{8}-\d{6}_oom`}, []string{verdict}, nil)
}

// TestRunBrokenPipe: nobody reads what ullage has to say; the program's exit code comes
// through all the same, and nothing is left behind.
func TestRunBrokenPipe(t *testing.T) {
	w := newWatching(t)
	r, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := w.command(append([]string{"run", "--out", "out", "--"}, w.behave("use", "survive", "exit-5")...)...)
	cmd.Stderr = stderr
	if code := exitOf(t, cmd.Run()); code != 5 {
		t.Errorf("exit code %d", code)
	}
	w.checkGone()
}

// TestRunClosedStreams: a program without standard streams is watched like any other.
func TestRunClosedStreams(t *testing.T) {
	w := newWatching(t)
	cmd := exec.Command("sh", append([]string{"-c", `exec ullage run --out out -- "$@" <&- >&- 2>&-`, "sh"}, w.behave("use", "oom")...)...)
	cmd.Dir, cmd.Env = w.dir, w.env
	if code := exitOf(t, cmd.Run()); code != 1 {
		t.Errorf("exit code %d", code)
	}
	w.check([]string{`behave_pid\d+_\d{8}-\d{6}_oom`}, nil, nil)
}

// TestRunNotUTF8: names of the system's own bytes, in the folder for recordings and in the
// program's arguments.
func TestRunNotUTF8(t *testing.T) {
	if runtime.GOOS == "darwin" {
		return // its file systems take no such names
	}
	w := newWatching(t)
	out := "caf\xe9 'new'"
	cmd := w.command(append([]string{"run", "--out", out, "--"}, append(w.behave("use", "pause"), "\xff")...)...)
	pid := w.startPaused(cmd)
	snap := exec.Command("ullage", "snap", pid)
	snap.Env = w.env
	if said, err := snap.CombinedOutput(); err != nil {
		t.Errorf("snap: %v\n%s", err, said)
	}
	w.goOn()
	_ = cmd.Wait() // no action has such a name
	found, err := filepath.Glob(filepath.Join(w.dir, out, "behave_pid*_snap.pickle"))
	if err != nil || len(found) != 1 {
		t.Errorf("recordings %q, %v", found, err)
	}
	if text := w.stderr.String(); !strings.Contains(text, "1 recording in ") || !strings.Contains(text, verdict) || !strings.Contains(text, `/caf\xe9 '\''new'\''/behave_pid`) {
		t.Errorf("standard error:\n%s", text)
	}
}

// TestRunHugeEnvironment: where the system takes no more, the program runs without ullage's
// part of it.
func TestRunHugeEnvironment(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // other systems bound the sum, not each variable
	}
	w := newWatching(t)
	const limit = 32 * 4096 // MAX_ARG_STRLEN
	fake := filepath.Join(treeRoot(t), "python", "tests", "fake")
	w.env = append(w.env, "PYTHONPATH="+fake+strings.Repeat(":", limit-len(fake)-len("PYTHONPATH=")-20))
	if code := w.run(nil, w.behave("use", "exit-5")...); code != 5 {
		t.Errorf("exit code %d", code)
	}
	w.check(nil, []string{"warning: the program is not watched: "}, nil)
	if code := w.run([]string{"--limit", "4GiB"}, w.behave("use")...); code != 126 {
		t.Errorf("with a limit: exit code %d", code)
	}
}

// TestRunPrivate: Python code is run from no folder that another user could write to.
func TestRunPrivate(t *testing.T) {
	w := newWatching(t)
	open := w.dir + "/open"
	for _, dir := range []string{open, open + "/ullage"} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	shared := open + "/ullage/live/" + host
	if err := os.MkdirAll(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "XDG_CACHE_HOME="+open, "TMPDIR="+t.TempDir())
	if code := w.run(nil, w.behave("use", "oom")...); code != 1 {
		t.Errorf("exit code %d\n%s", code, &w.stderr)
	}
	if left, err := os.ReadDir(shared); err != nil || len(left) > 0 {
		t.Errorf("%s was used: %v, %v", shared, left, err)
	}
	w.check([]string{`behave_pid\d+_\d{8}-\d{6}_oom`}, []string{verdict}, nil)
}
