//go:build unix

package cli

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// pipe makes a named pipe.
func pipe(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "run.pickle")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestPipeWithoutWriter: what waits for another program ends when it is interrupted.
func TestPipeWithoutWriter(t *testing.T) {
	for _, args := range [][]string{{"view", "--no-open"}, {"view", "--export", "-"}, {"explain"}, {"fit", "--trace"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			var o outside
			ended := make(chan int)
			go func() { ended <- Run(ctx, o.app(), append(args, pipe(t))) }()
			interrupt()
			if code := <-ended; code != exitInterrupted && code != exitDone {
				t.Errorf("exit code %d: %s", code, &o.stderr)
			}
		})
	}
}
