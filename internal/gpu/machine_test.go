//go:build unix

package gpu

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// install puts a program of a name on the path, which is then the only one there.
func install(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestRunProgram(t *testing.T) {
	install(t, "nvidia-smi", `echo "$@"`)
	if out, err := runProgram(t.Context(), "nvidia-smi", "-q", "-x"); err != nil || string(out) != "-q -x\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := runProgram(t.Context(), "nvidia-smj"); !errors.Is(err, errNotInstalled) {
		t.Errorf("no such program: %v", err)
	}
	install(t, "nvidia-smi", "echo 'Failed to initialize NVML:\n  Driver/library version mismatch'; exit 18")
	if _, err := runProgram(t.Context(), "nvidia-smi"); err == nil || err.Error() != "nvidia-smi: exit status 18: Failed to initialize NVML: Driver/library version mismatch" {
		t.Errorf("a failure: %v", err)
	}
	install(t, "nvidia-smi", "while :; do echo 0123456789012345678901234567890123456789012345678901234567890123456789; done | /usr/bin/head -c 33554433")
	if _, err := runProgram(t.Context(), "nvidia-smi"); err == nil || !strings.Contains(err.Error(), "printed more than") {
		t.Errorf("a flood: %v", err)
	}
}

// TestRemember: a name is asked for once in a while, also one that does not exist.
func TestRemember(t *testing.T) {
	asked, called := 0, "alice"
	clock := &setClock{at: time.Unix(0, 0)}
	names := remember(clock, func(uid int) string {
		asked++
		return map[int]string{1001: called}[uid]
	})
	for range 3 {
		if names(1001) != "alice" || names(7) != "" {
			t.Errorf("got %q and %q", names(1001), names(7))
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times for 2 names", asked)
	}
	called = "bob" // the number was given to another
	clock.at = clock.at.Add(NamesAge - 1)
	if got := names(1001); got != "alice" {
		t.Errorf("got %q before it is asked again", got)
	}
	clock.at = clock.at.Add(1)
	if got := names(1001); got != "bob" || asked != 3 {
		t.Errorf("got %q, asked %d times", got, asked)
	}
}

// setClock tells the time that it was set to.
type setClock struct {
	systemClock
	at time.Time
}

func (c *setClock) Now() time.Time { return c.at }

// TestRunProgramCancel: a program that goes on is ended when the reading is called off.
func TestRunProgramCancel(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "started")
	install(t, "nvidia-smi", "echo x > "+fifo+"\nexec /bin/sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := runProgram(ctx, "nvidia-smi")
		ended <- err
	}()
	if _, err := os.ReadFile(fifo); err != nil { // comes back when the program has begun
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("it ended as if nothing had been")
	}
}
