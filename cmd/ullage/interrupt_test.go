//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestInterrupt sends the program what Ctrl-C sends while it waits for input: it ends by
// itself, says so, and leaves the exit code that shells use.
func TestInterrupt(t *testing.T) {
	cmd := exec.Command("ullage", "explain", "-") // TestMain put it on the path
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds: once all is written, the program reads, and so has long been
	// listening for signals.
	if _, err := in.Write(bytes.Repeat([]byte("epoch 1, loss 0.5\n"), 1<<16)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d (%v), want 130", code, err)
	}
	if got := stderr.String(); strings.TrimSpace(got) != "ullage: error: interrupted" {
		t.Errorf("standard error: %q", got)
	}
	if stdout.Len() > 0 {
		t.Errorf("standard output: %q", stdout.String())
	}
}
