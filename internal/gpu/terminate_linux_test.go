package gpu

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// sleeper starts a process that does nothing, as a reading would show it.
func sleeper(t *testing.T) (*exec.Cmd, Process) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	p := Process{PID: cmd.Process.Pid}
	procs := &procs{root: os.DirFS("/"), user: users, host: true}
	if !procs.fill(&p) || p.StartTicks == 0 || p.UID == nil || *p.UID != os.Getuid() {
		t.Fatalf("read as %+v", p)
	}
	return cmd, p
}

// TestTerminate: the process that was seen is asked to end, with SIGTERM.
func TestTerminate(t *testing.T) {
	cmd, p := sleeper(t)
	if err := Terminate(os.DirFS("/"), p); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", err)
	}
	if err := Terminate(os.DirFS("/"), p); err == nil || !strings.Contains(err.Error(), "has ended already") {
		t.Errorf("got %v", err)
	}
}

// TestTerminateOther: a process that has the PID of one that was seen, but began at another
// time, is left alone; so is one that was not seen.
func TestTerminateOther(t *testing.T) {
	cmd, p := sleeper(t)
	for _, ticks := range []int64{p.StartTicks - 1, p.StartTicks + 1, 0} {
		other := p
		other.StartTicks = ticks
		if err := Terminate(os.DirFS("/"), other); err == nil {
			t.Errorf("%d ticks instead of %d: ended", ticks, p.StartTicks)
		}
	}
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the other is gone: %v", err)
	}
}
