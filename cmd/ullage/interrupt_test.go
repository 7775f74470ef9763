//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
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

// TestTerminateView sends a page's server what a service manager sends: it ends by itself, and
// as it is meant to end.
func TestTerminateView(t *testing.T) {
	cmd := exec.Command("ullage", "view", "--no-open", "-")
	in, err := cmd.StdinPipe() // which stays open: the recording never comes
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if address, err := bufio.NewReader(out).ReadString('\n'); !strings.HasPrefix(address, "http://127.0.0.1:") {
		t.Fatalf("%q, %v: want the page's address", address, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v; standard error: %q", err, stderr.String())
	}
}
