package child

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestSession: a run's folder has what the companion needs, tells what the companion left,
// and is gone afterwards.
func TestSession(t *testing.T) {
	base, out := filepath.Join(t.TempDir(), "a", "b"), t.TempDir()
	s, err := Open([]string{base}, Config{Out: out, Job: "train"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"site/sitecustomize.py", "site/ullage/__init__.py", "site/ullage/_companion/start.py", "site/ullage/py.typed", "config.json"} {
		if _, err := os.Stat(filepath.Join(s.dir, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	for i, mark := range []string{"", "reported", "torch", nestedMark, "cuda"} {
		if mark != "" {
			write(t, filepath.Join(s.dir, mark), "")
		}
		if got, want := s.Reached(), Nothing+Reached(i); got != want {
			t.Errorf("after %q: reached %d, want %d", mark, got, want)
		}
	}
	dead := filepath.Join(out, ".train_rank0_pid999999999_x_oom.pickle."+s.Run()+".part")
	alive := filepath.Join(out, fmt.Sprintf(".train_pid%d_x_oom.pickle.%s.part", os.Getpid(), s.Run()))
	elsewhere := filepath.Join(out, ".train_rank1_pid999999999_x_oom.pickle.run-7-x.part")
	for _, name := range []string{dead, alive, elsewhere} {
		write(t, name, "half")
	}
	s.Close()
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("half a recording of a dead process is still there: %v", err)
	}
	for _, name := range []string{alive, elsewhere} {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("half a recording of a process that lives, or of another machine: %v", err)
		}
	}
}

// TestProblems: processes that have the same problem are told in one line, and the lines are
// bounded.
func TestProblems(t *testing.T) {
	s := &Session{dir: t.TempDir()}
	problems := "process 1: no room\nhalf a li"
	for i := range maxProblems + 5 {
		problems += fmt.Sprintf("\nprocess %d: no room: really\nprocess 7: problem %d", i, i)
	}
	write(t, filepath.Join(s.dir, "problems"), problems)
	lines, more := s.Problems()
	if len(lines) != maxProblems || more != 7 || lines[0] != "process 1: no room" || lines[1] != fmt.Sprintf("processes 0, 1, 2 and %d more: no room: really", maxProblems+2) {
		t.Errorf("%d problems and %d more: %q", len(lines), more, lines)
	}
}

// TestRemoved: a program that empties the cache leaves nothing to be told.
func TestRemoved(t *testing.T) {
	s, err := Open([]string{filepath.Join(t.TempDir(), "live")}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	if got := s.Reached(); got != Removed {
		t.Errorf("reached %d, want %d", got, Removed)
	}
	s.Close()
}

// TestStartedAt: this process has begun, one that has ended and one that is not there have not.
func TestStartedAt(t *testing.T) {
	if runtime.GOOS != "linux" {
		if _, known := startedAt(os.Getpid()); known {
			t.Error("known on a system that does not tell")
		}
		return
	}
	if started, known := startedAt(os.Getpid()); !known || started == "" {
		t.Errorf("this process: %q, %t", started, known)
	}
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for ended := false; !ended; { // nobody waits for it yet
		started, known := startedAt(cmd.Process.Pid)
		ended = known && started == ""
		runtime.Gosched()
	}
	if (Process{PID: cmd.Process.Pid}).alive() || !Alive(cmd.Process.Pid) {
		t.Error("a process that has ended is alive")
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if (Process{PID: os.Getpid(), Started: "1"}).alive() {
		t.Error("another process of this number is taken for it")
	}
}

// TestChoose: where recordings cannot be written, they go elsewhere, and a folder that was
// made for them in vain is removed.
func TestChoose(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	t.Setenv("TMP", filepath.Join(dir, "tmp")) // Windows
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "file"), "")
	for _, name := range []string{"", "new", filepath.Join("new", "below")} {
		p, err := Choose(filepath.Join(dir, name))
		if err != nil || p.Dir != filepath.Join(dir, name) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		p.Close()
	}
	p, err := Choose(filepath.Join(dir, "file", "out"))
	if err == nil || filepath.Dir(p.Dir) != filepath.Join(dir, "tmp") || !strings.Contains(err.Error(), "cannot be to "+filepath.Join(dir, "file", "out")+": ") {
		t.Errorf("below a file: %+v, %v", p, err)
	}
	p.Close()
	left, err := os.ReadDir(filepath.Join(dir, "tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("trying left something: %v, %v", entries, err)
	}
	if runtime.GOOS != "windows" { // which removes no current folder
		gone := filepath.Join(dir, "new")
		if err := os.Mkdir(gone, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Chdir(gone)
		if err := os.Remove(gone); err != nil {
			t.Fatal(err)
		}
		p, err := Choose("out")
		if err == nil || filepath.Dir(p.Dir) != filepath.Join(dir, "tmp") {
			t.Errorf("where the current folder is gone: %+v, %v", p, err)
		}
		p.Close()
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "file"))
	t.Setenv("TMP", filepath.Join(dir, "file"))
	if p, err := Choose(filepath.Join(dir, "file", "out")); err == nil || p.Dir != filepath.Join(dir, "file", "out") || !strings.Contains(err.Error(), "cannot be written to "+p.Dir) {
		t.Errorf("nowhere: %+v, %v", p, err)
	}
}

// TestOpenElsewhere: where the first folder cannot be, the second is taken.
func TestOpenElsewhere(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	write(t, file, "")
	s, err := Open([]string{filepath.Join(file, "below"), filepath.Join(dir, "second")}, Config{Out: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := filepath.Dir(s.dir); got != filepath.Join(dir, "second") {
		t.Errorf("the folder is in %s", got)
	}
	if _, err := Open([]string{filepath.Join(file, "below")}, Config{}); err == nil {
		t.Error("no folder, and no error")
	}
}

// TestSweep: what a killed run left goes after a day, what may be in use stays.
func TestSweep(t *testing.T) {
	base := filepath.Join(t.TempDir(), "live")
	if err := makePrivate(base); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * sweepAfter)
	for name, age := range map[string]time.Time{"run-999999999-old": long, "run-999999998-new": time.Now(), fmt.Sprintf("run-%d-x", os.Getpid()): long, "other": long} {
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, age, age); err != nil {
			t.Fatal(err)
		}
	}
	sweep(base)
	entries, err := os.ReadDir(base)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 3 {
		t.Errorf("left: %v", entries)
	}
}

// TestWatched: a process is found by its number and by that of its run; one that is dead,
// or that says it is another, is not.
func TestWatched(t *testing.T) {
	base := filepath.Join(t.TempDir(), "live")
	s, err := Open([]string{base}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	me := os.Getpid()
	for name, pid := range map[string]int{fmt.Sprintf("proc-%d.json", me): me, "proc-999999999.json": 999999999, "proc-77.json": me, "proc-x.json": 0} {
		text, err := json.Marshal(Process{PID: pid, Program: "train.py"})
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(s.dir, name), string(text))
	}
	write(t, filepath.Join(s.dir, "proc-78.json"), "{")
	all := Watched([]string{base, filepath.Join(base, "none")})
	if len(all) != 1 || all[0].PID != me || all[0].owner != me {
		t.Errorf("watched: %+v", all)
	}
	if got := Select(all, me); len(got) != 1 {
		t.Errorf("by its own number: %+v", got)
	}
	if got := Select(all, me+1); len(got) != 0 {
		t.Errorf("by another number: %+v", got)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCloseRemovesWritten: what the tracer put in the program's folders goes with the run,
// but for what has been changed since, and what is no file of its own.
func TestCloseRemovesWritten(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenTrace([]string{filepath.Join(dir, "live")}, TraceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for _, name := range []string{"gone.pt", "changed.pt", "later.pt", "linked.pt"} {
		path := filepath.Join(dir, name)
		write(t, path, "12345")
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&list, "{\"path\": %q, \"bytes\": %d, \"time_ns\": %d}\n", path, info.Size(), info.ModTime().UnixNano())
	}
	list.WriteString("no JSON\n{\"path\": \"relative.pt\", \"bytes\": 5}\n{\"path\": " + strconv.Quote(filepath.Join(dir, "none.pt")) + "}\n")
	write(t, filepath.Join(s.dir, "written"), list.String())
	write(t, filepath.Join(dir, "changed.pt"), "123456")
	if err := os.Chtimes(filepath.Join(dir, "later.pt"), time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "linked.pt"), filepath.Join(dir, "target.pt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target.pt", filepath.Join(dir, "linked.pt")); err != nil {
		t.Skipf("no links here: %v", err)
	}
	s.Close()
	left, err := filepath.Glob(filepath.Join(dir, "*.pt"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if got := strings.Join(left, " "); got != "changed.pt later.pt linked.pt target.pt" {
		t.Errorf("left: %s", got)
	}
}
