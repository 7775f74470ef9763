//go:build unix

// Crashes of a process that writes the ledger. The tests start themselves as that process: it
// works, says what was acknowledged, and dies. The file is long because the ways to die, and what
// has to hold after each, belong together.

package ledger

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage-dev/ullage/internal/lease"
)

var crashes = flag.Int("crashes", 200, "crashes of TestCrashes and, half as many, images of TestCrashImages")

// The environment of the process that is to crash: the ledger's path, the seed of its work, the
// point to die at and how often that is passed before, the size that no file may pass.
const (
	envPath  = "ULLAGE_TEST_LEDGER"
	envSeed  = "ULLAGE_TEST_SEED"
	envPoint = "ULLAGE_TEST_POINT"
	envLimit = "ULLAGE_TEST_FILE_LIMIT"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(envPath); path != "" {
		if err := crashing(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// crashing is the life of that process.
func crashing(path string) error {
	if limit, err := strconv.ParseUint(os.Getenv(envLimit), 10, 64); err == nil {
		signal.Ignore(syscall.SIGXFSZ) // so that a write fails, and the process goes on
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	seed, err := strconv.ParseUint(os.Getenv(envSeed), 10, 64)
	if err != nil {
		return err
	}
	ctx := context.Background()
	l, err := open(ctx, path, tuning{50, 20, dieAt(os.Getenv(envPoint))})
	if err != nil {
		return err
	}
	w := &workload{ledger: l, seed: seed, out: os.Stdout, keep: Retention{Most: 100}}
	if l.book.Seq() == 0 {
		err = w.begin(ctx)
	}
	if err == nil {
		err = w.run(ctx, 4, 400)
	}
	return errors.Join(err, l.Close())
}

// dieAt returns a function that kills the process where it passes "point n" for the n-th time.
func dieAt(spec string) func(string) {
	point, count, ok := strings.Cut(spec, " ")
	left, err := strconv.Atoi(count)
	if !ok || err != nil {
		return nil
	}
	return func(at string) {
		if at != point {
			return
		}
		if left--; left <= 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it arrives
		}
	}
}

// victim is a process at work, and what it has acknowledged.
type victim struct {
	cmd    *exec.Cmd
	acks   *bufio.Scanner
	stderr *bytes.Buffer
}

func startVictim(t *testing.T, path string, seed uint64, env ...string) *victim {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{cmd: exec.Command(exe), stderr: new(bytes.Buffer)}
	v.cmd.Env = append(os.Environ(), append(env, envPath+"="+path, envSeed+"="+fmt.Sprint(seed), "GOMAXPROCS=2")...)
	v.cmd.Stderr = v.stderr
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	v.acks = bufio.NewScanner(out)
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return v
}

// history is what all processes on one ledger have acknowledged: by number of the event, its kind and
// lease.
type history map[int64]string

// next reads one acknowledged event. It is false when there is no more.
func (v *victim) next(t *testing.T, h history) bool {
	t.Helper()
	if !v.acks.Scan() {
		return false
	}
	seq, what, ok := strings.Cut(v.acks.Text(), " ")
	n, err := strconv.ParseInt(seq, 10, 64)
	if !ok || err != nil {
		return false // cut short by the death
	}
	if was, twice := h[n]; twice && was != what {
		t.Fatalf("event %d was acknowledged as %q and as %q", n, was, what)
	}
	h[n] = what
	return true
}

// survived opens the ledger as the next process would, and holds it against what was
// acknowledged: nothing is lost, nothing has come back, nothing is there twice.
func survived(t *testing.T, path string, acked history) {
	t.Helper()
	found, _ := survivedInPart(t, path, acked)
	if found != len(acked) {
		t.Fatalf("of %d acknowledged events %d are there", len(acked), found)
	}
}

// survivedInPart is survived without the demand that nothing is lost. It returns how many
// acknowledged events are there, and the number of the last event.
func survivedInPart(t *testing.T, path string, acked history) (found int, last int64) {
	t.Helper()
	l, err := Open(t.Context(), path)
	if err != nil {
		t.Fatalf("it does not open: %v", err)
	}
	defer l.Close()
	report, err := check(t.Context(), l.db)
	if err != nil || len(report.Faults) > 0 {
		t.Fatalf("%v: %s", err, strings.Join(report.Faults, "\n"))
	}
	for seq := range acked {
		if seq <= report.Base {
			found++ // it was there, and has been deleted
		}
	}
	keys := map[string]lease.ID{}
	if err := scanEvents(t.Context(), l.db, 0, func(e *lease.Event) error {
		last = e.Seq
		if want, ok := acked[e.Seq]; ok {
			found++
			if got := fmt.Sprintf("%s %d", e.Kind(), e.Lease()); got != want {
				return fmt.Errorf("event %d was acknowledged as %q and is %q", e.Seq, want, got)
			}
		}
		if s, ok := e.Body.(*lease.Submitted); ok {
			if other, twice := keys[s.Request.Key]; twice {
				return fmt.Errorf("request %s is lease %d and lease %d", s.Request.Key, other, s.ID)
			}
			keys[s.Request.Key] = s.ID
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return found, last
}

var points = []string{"decided", "written", "snapshot", "commit", "committed", "answer", "pruning", "prune", "pruned"}

// TestCrashes kills the process at random and at named points, again and again on one ledger. Most of
// the time goes by waiting for the disk, so several ledgers are at it at once.
func TestCrashes(t *testing.T) {
	const lanes, perLedger = 4, 10
	for lane := range lanes {
		t.Run(fmt.Sprint(lane), func(t *testing.T) {
			t.Parallel()
			d, events := rand.New(rand.NewPCG(1, uint64(lane))), 0
			for range *crashes / lanes / perLedger {
				events += crashAgain(t, d, perLedger)
			}
			t.Logf("%d crashes, %d acknowledged events: none lost, none back, none twice", *crashes/lanes/perLedger*perLedger, events)
		})
	}
}

// crashAgain makes a ledger and so many crashes of processes that go on with it. It returns how many
// events were acknowledged.
func crashAgain(t *testing.T, d *rand.Rand, times int) int {
	t.Helper()
	path, acked := filepath.Join(t.TempDir(), "ledger.db"), history{}
	for i := range times {
		if i%2 == 0 {
			crashAtRandom(t, path, d.Uint64(), d, acked)
		} else {
			point := points[d.IntN(len(points))]
			passes := 1 + d.IntN(30)
			if point == "snapshot" || strings.HasPrefix(point, "prun") {
				passes = 1 // the next one, some 50 events on
			}
			startVictim(t, path, d.Uint64(), fmt.Sprintf("%s=%s %d", envPoint, point, passes)).finish(t, acked, true)
		}
		survived(t, path, acked)
	}
	return len(acked)
}

// crashAtRandom kills the process when it has acknowledged some events. It goes on working until
// the signal arrives, so the moment is a random one.
func crashAtRandom(t *testing.T, path string, seed uint64, d *rand.Rand, acked history) {
	t.Helper()
	v := startVictim(t, path, seed)
	for range d.IntN(60) {
		v.next(t, acked)
	}
	if err := v.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	v.finish(t, acked, true)
}

// finish reads what the process has still acknowledged and waits for its end, by a kill or not.
func (v *victim) finish(t *testing.T, acked history, killed bool) {
	t.Helper()
	for v.next(t, acked) {
	}
	err := v.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() < 0 == killed {
		return
	}
	if killed || err != nil {
		t.Fatalf("the process ended with %v, killed %v: %s", err, killed, v.stderr)
	}
}

// TestCrashImages copies the files of a process that is stopped at a random moment: what a crash of
// the machine would leave, had everything that was written reached the disk. Nothing acknowledged may
// be lost. Then it shortens or spoils the write-ahead log from a random place on, as a crash does to
// what has not reached the disk: what is left has to be a state that there was, with what was
// acknowledged up to it.
//
// Each process makes few enough decisions for SQLite not to copy pages from the log into the
// database, which it does from 1000 pages on, and only after those pages have reached the disk: a
// log that is cut before them is not what a crash leaves.
func TestCrashImages(t *testing.T) {
	const perLedger = 8
	d := rand.New(rand.NewPCG(2, 2))
	lost, images := 0, *crashes/2
	for n := range images / perLedger {
		dir := t.TempDir()
		path, acked := filepath.Join(dir, "ledger.db"), history{}
		v := startVictim(t, path, uint64(n))
		for i := range perLedger {
			for range 1 + d.IntN(15) {
				v.next(t, acked)
			}
			image := filepath.Join(dir, fmt.Sprintf("image%d.db", i))
			v.image(t, path, image)
			if i%3 == 0 {
				survived(t, image, acked)
				continue
			}
			spoil(t, image+"-wal", i%3 == 1, d)
			found, last := survivedInPart(t, image, acked)
			for seq := range acked {
				if seq <= last {
					found--
				}
			}
			if found != 0 {
				t.Fatalf("%d events of those up to %d are missing", -found, last)
			}
			lost++
		}
		if err := v.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		v.finish(t, acked, true)
	}
	t.Logf("%d images, %d of them cut or spoiled", images/perLedger*perLedger, lost)
}

// image copies the ledger while the process is stopped.
func (v *victim) image(t *testing.T, from, to string) {
	t.Helper()
	pid := v.cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the process did not stop, but is %#x: %v %s", status, err, v.stderr)
	}
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(from+suffix, to+suffix); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(from + "-wal"); err != nil || info.Size() > 900*4096 {
		t.Fatalf("the log is too long for this test: %v %v", info.Size(), err)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// spoil cuts a file at a random place, or overwrites 100 bytes there.
func spoil(t *testing.T, path string, cut bool, d *rand.Rand) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	at := info.Size() - 1 - d.Int64N(min(info.Size()-1, 100_000))
	if cut {
		err = os.Truncate(path, at)
	} else {
		err = overwrite(path, at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func overwrite(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, 100), at)
	return errors.Join(err, f.Close())
}

// TestFileLimit: a write that fails because a file may not grow further fails the decisions that it
// was for, and loses none before.
func TestFileLimit(t *testing.T) {
	for i, limit := range []string{"50000", "100000", "200000", "400001"} {
		path, acked := filepath.Join(t.TempDir(), "ledger.db"), history{}
		v := startVictim(t, path, uint64(i), envLimit+"="+limit)
		v.failsToStore(t, acked)
		t.Logf("with files of %s bytes at most, %d events were acknowledged", limit, len(acked))
		survived(t, path, acked)
	}
}

// failsToStore waits for the process to end because a decision could not be stored.
func (v *victim) failsToStore(t *testing.T, acked history) {
	t.Helper()
	for v.next(t, acked) {
	}
	if err := v.cmd.Wait(); err == nil || v.cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("the process ended with %v: %s", err, v.stderr)
	}
	if text := v.stderr.String(); !strings.Contains(text, "disk") && !strings.Contains(text, "I/O") {
		t.Errorf("the process says %q", text)
	}
}
