//go:build unix

package main

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestViewInterrupt sends the program that serves a page what Ctrl-C sends, while a page waits
// for news: it ends at once, and as it is meant to.
func TestViewInterrupt(t *testing.T) {
	cmd := exec.Command("ullage", "view", "--no-open", filepath.Join("..", "..", "testdata", "gpu", "gan.pickle.xz"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	resp, err := http.Get(strings.TrimSpace(address) + "api/v1/progress")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v: %s", err, &stderr)
	}
}
