package holder

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// sleeper starts a process that does nothing.
func sleeper(t *testing.T) (*exec.Cmd, ID) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	pidfd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pidfd)
	start, err := startOf(pidfd, cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, ID{cmd.Process.Pid, start}
}

// TestTerminate: the process that was seen is asked to end, with SIGTERM.
func TestTerminate(t *testing.T) {
	cmd, id := sleeper(t)
	p := gpu.Process{PID: id.PID, StartTicks: id.Start}
	if err := Terminate(p); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", err)
	}
	if err := Terminate(p); err == nil || !strings.Contains(err.Error(), "has ended already") {
		t.Errorf("got %v", err)
	}
}

// TestTerminateOther: a process that has the PID of one that was seen, but began at another
// time, is left alone; so is one that was not seen, and the first of all.
func TestTerminateOther(t *testing.T) {
	cmd, id := sleeper(t)
	for _, other := range []ID{{id.PID, id.Start - 1}, {id.PID, id.Start + 1}, {id.PID, 0}, {0, id.Start}, {-1, 1}, {1, 1}} {
		if err := Terminate(gpu.Process{PID: other.PID, StartTicks: other.Start}); err == nil {
			t.Errorf("%v instead of %v: ended", other, id)
		}
	}
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the other is gone: %v", err)
	}
}

// TestAliveUnderSignals: a process that lives does so whatever signals reach this one while
// it asks.
func TestAliveUnderSignals(t *testing.T) {
	_, id := sleeper(t)
	pidfd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pidfd)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread, done := unix.Gettid(), make(chan struct{})
	go func() {
		defer close(done)
		for range 20_000 {
			_ = unix.Tgkill(os.Getpid(), thread, unix.SIGURG)
		}
	}()
	for asked := 0; ; asked++ {
		if !alive(pidfd) {
			t.Fatalf("dead, when asked for the %d-th time", asked)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}
