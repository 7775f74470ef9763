package holder

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func openMachine(t testing.TB) *Machine {
	t.Helper()
	m, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func scan(t testing.TB, m *Machine) Changes {
	t.Helper()
	ch, err := m.Scan()
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func find(all []Process, pid int) *Process {
	i := slices.IndexFunc(all, func(p Process) bool { return p.PID == pid })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// TestScan: a process is told of when it begins, with its parent, user and mark, and when it
// has ended; in between there is no news.
func TestScan(t *testing.T) {
	m := openMachine(t)
	self := find(scan(t, m).Began, os.Getpid())
	if self == nil || self.Start != ownStart(t) || self.UID != os.Getuid() {
		t.Fatalf("this process is %+v", self)
	}
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{"A=1", "ULLAGE_LEASE=17", "ULLAGE_LEASE_EPOCH=23"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	got := find(scan(t, m).Began, cmd.Process.Pid)
	if got == nil || got.Parent != self.ID || got.Mark != (Mark{17, 23}) || got.UID != os.Getuid() {
		t.Fatalf("the child is %+v", got)
	}
	if ch := scan(t, m); find(ch.Began, got.PID) != nil || find(ch.Changed, got.PID) != nil || slices.Contains(ch.Ended, got.ID) {
		t.Errorf("news of a process that did nothing: %+v", ch)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if ch := scan(t, m); !slices.Contains(ch.Ended, got.ID) {
		t.Errorf("no end in %+v", ch)
	}
}

// TestScanExec: a process that runs another program with another environment is told of.
func TestScanExec(t *testing.T) {
	m := openMachine(t)
	cmd := exec.Command("sh", "-c", "echo; read x; ULLAGE_LEASE=5 ULLAGE_LEASE_EPOCH=6 exec sleep 600")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // the shell runs
		t.Fatal(err)
	}
	if p := find(scan(t, m).Began, cmd.Process.Pid); p == nil || p.Mark != (Mark{}) {
		t.Fatalf("the shell is %+v", p)
	}
	if _, err := in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		comm, _ := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/comm")
		return string(comm) == "sleep\n"
	})
	if p := find(scan(t, m).Changed, cmd.Process.Pid); p == nil || p.Mark != (Mark{5, 6}) {
		t.Errorf("the program is %+v", p)
	}
}

// waitFor yields to the processes that the test waits for.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not come")
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
	}
}

// TestWatch: the end of a process is told though nobody has waited for it; one that has
// ended, or has another start, cannot be watched.
func TestWatch(t *testing.T) {
	m := openMachine(t)
	cmd, id := sleeper(t)
	_, other := sleeper(t)
	for _, id := range []ID{id, id, other} {
		if err := m.Watch(id); err != nil {
			t.Fatal(err)
		}
	}
	m.Unwatch(other)
	if dead := m.Dead(); len(dead) > 0 {
		t.Errorf("dead at once: %v", dead)
	}
	if err := m.Signal(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-m.Deaths()
	if dead := m.Dead(); !slices.Equal(dead, []ID{id}) {
		t.Errorf("dead: %v, want %v", dead, id)
	}
	if err := m.Watch(id); !errors.Is(err, ErrGone) { // it is a zombie
		t.Errorf("watching what has ended: %v", err)
	}
	if err := m.Watch(ID{other.PID, other.Start + 1}); !errors.Is(err, ErrGone) {
		t.Errorf("watching another: %v", err)
	}
	_ = cmd.Wait()
}

// TestWatchReused: an event of a file that was closed is not taken for one of the process that
// has its number now.
func TestWatchReused(t *testing.T) {
	m := openMachine(t)
	_, id := sleeper(t)
	if err := m.Watch(id); err != nil {
		t.Fatal(err)
	}
	m.note([]unix.EpollEvent{{Events: unix.EPOLLIN, Fd: int32(m.byID[id])}})
	if dead := m.Dead(); len(dead) > 0 {
		t.Errorf("dead: %v, and it lives", dead)
	}
}

// TestWatchMany: when too many are watched, it is still told who has ended.
func TestWatchMany(t *testing.T) {
	m := openMachine(t)
	m.most = 1
	_, first := sleeper(t)
	cmd, second := sleeper(t)
	if err := m.Watch(first); err != nil {
		t.Fatal(err)
	}
	if err := m.Watch(second); !errors.Is(err, ErrMany) {
		t.Errorf("the second: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := m.Watch(second); !errors.Is(err, ErrGone) {
		t.Errorf("the second, ended: %v", err)
	}
}

func TestMarkOf(t *testing.T) {
	for env, want := range map[string]Mark{
		"ULLAGE_LEASE=1\x00ULLAGE_LEASE_EPOCH=2\x00":                   {1, 2},
		"A=\x00ULLAGE_LEASE_EPOCH=2\x00B=\x00ULLAGE_LEASE=1":           {1, 2},
		"ULLAGE_LEASE=1\x00ULLAGE_LEASE=9\x00ULLAGE_LEASE_EPOCH=2\x00": {1, 2},
		"XULLAGE_LEASE=1\x00ULLAGE_LEASE_EPOCH=2\x00":                  {},
		"ULLAGE_LEASE=1\x00":                                            {},
		"ULLAGE_LEASE=-1\x00ULLAGE_LEASE_EPOCH=2\x00":                   {},
		"ULLAGE_LEASE=1x\x00ULLAGE_LEASE_EPOCH=2\x00":                   {},
		"ULLAGE_LEASE=99999999999999999999\x00ULLAGE_LEASE_EPOCH=2\x00": {},
		"ULLAGE_LEASE=\x00ULLAGE_LEASE_EPOCH=2\x00":                     {},
		"": {},
		strings.Repeat("A=B\x00", 1000) + "ULLAGE_LEASE=7\x00ULLAGE_LEASE_EPOCH=8\x00": {7, 8},
	} {
		if got := markOf([]byte(env)); got != want {
			t.Errorf("markOf(%.60q) = %v, want %v", env, got, want)
		}
	}
}

func TestParentOf(t *testing.T) {
	for stat, want := range map[string]int{
		"7 (a) S 3 7": 3, "7 (a) R 9) S 4 7": 4, "7 (a) Z 3 7": 3, "7 (a)": -1, "": -1, "7 (a) S x": -1,
	} {
		if got := parentOf(stat); got != want {
			t.Errorf("parentOf(%q) = %d, want %d", stat, got, want)
		}
	}
}

// TestScanForgotten: a process whose inode the kernel had dropped, as it does when memory is
// short, is the same as before, with the parent that it had.
func TestScanForgotten(t *testing.T) {
	m := openMachine(t)
	_, id := sleeper(t)
	scan(t, m)
	e := m.table.known[id.PID]
	e.inode++
	e.Parent = ID{1, 1}
	ch := scan(t, m)
	if find(ch.Began, id.PID) != nil || slices.Contains(ch.Ended, id) || m.table.known[id.PID].Parent != (ID{1, 1}) {
		t.Errorf("it began or ended: %+v", ch)
	}
	e = m.table.known[id.PID]
	e.inode++
	e.Start--
	ch = scan(t, m)
	if p := find(ch.Began, id.PID); p == nil || p.ID != id || !slices.Contains(ch.Ended, ID{id.PID, id.Start - 1}) {
		t.Errorf("another process of the PID: %+v", ch)
	}
}

// TestScanZombie: a process that has ended and was not waited for is one that has ended.
func TestScanZombie(t *testing.T) {
	m := openMachine(t)
	cmd, id := sleeper(t)
	scan(t, m)
	_ = cmd.Process.Kill()
	waitFor(t, func() bool { return ended(id.PID) })
	if ch := scan(t, m); !slices.Contains(ch.Ended, id) {
		t.Errorf("not told of its end: %+v", ch)
	}
	if ch := scan(t, m); find(ch.Began, id.PID) != nil {
		t.Errorf("told of its beginning: %+v", ch)
	}
}

const envThreads = "HOLDER_TEST_THREADS"

// In a process that TestScanThreads starts, the first thread ends here. Those of Go's runtime
// go on.
func init() {
	if os.Getenv(envThreads) != "" {
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	}
}

// TestScanThreads: a process whose first thread has ended goes on with the others.
func TestScanThreads(t *testing.T) {
	m := openMachine(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envThreads+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	waitFor(t, func() bool {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat")
		return zombieStat(string(stat))
	})
	p := find(scan(t, m).Began, cmd.Process.Pid)
	if p == nil {
		t.Fatal("it is not found")
	}
	if err := m.Watch(p.ID); err != nil {
		t.Errorf("it cannot be watched: %v", err)
	}
	_ = cmd.Process.Kill()
	waitFor(t, func() bool { return ended(cmd.Process.Pid) })
}

func FuzzEntries(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24, 0, 4, '1', '2', 0, 0, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, list []byte) {
		eachEntry(list, func(pid int, _ uint64) {
			if pid <= 0 {
				t.Errorf("PID %d", pid)
			}
		})
	})
}

// BenchmarkScan is a scan among 200 processes that do nothing, besides those of the machine.
// At one a second, 1 % of a core is 10 ms; the budget is 2 ms.
func BenchmarkScan(b *testing.B) {
	for range 200 {
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	}
	m := openMachine(b)
	for range youngTurns + 1 {
		scan(b, m)
	}
	b.ReportAllocs()
	for b.Loop() {
		scan(b, m)
	}
	b.ReportMetric(float64(len(m.table.known)), "processes")
}
