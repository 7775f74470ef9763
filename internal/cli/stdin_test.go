package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// TestInterruptibleReads: what is read is what was written, however it is cut.
func TestInterruptibleReads(t *testing.T) {
	content := strings.Repeat("0123456789", stdinBuffer/4)
	for name, r := range map[string]io.Reader{
		"whole":         strings.NewReader(content),
		"half":          iotest.HalfReader(strings.NewReader(content)),
		"data with EOF": iotest.DataErrReader(strings.NewReader(content)),
	} {
		got, err := io.ReadAll(interruptible(t.Context(), r))
		if err != nil || string(got) != content {
			t.Errorf("%s: %d bytes, %v; want %d", name, len(got), err, len(content))
		}
	}
	err := iotest.TestReader(interruptible(t.Context(), strings.NewReader("some input")), []byte("some input"))
	if err != nil {
		t.Error(err)
	}
}

// TestInterruptibleStops: a read that waits ends with the context, and none comes after it.
func TestInterruptibleStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	r := interruptible(ctx, in)
	waiting := make(chan error)
	go func() {
		_, err := r.Read(make([]byte, 10))
		waiting <- err
	}()
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	out.Close()
	if n, err := r.Read(make([]byte, 10)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("a second read: %d, %v; want %v", n, err, context.Canceled)
	}
}

// TestInterruptibleError: an error of the input comes through, after the data before it.
func TestInterruptibleError(t *testing.T) {
	broken := errors.New("broken")
	got, err := io.ReadAll(interruptible(t.Context(), io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(broken))))
	if string(got) != "ab" || !errors.Is(err, broken) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestInterruptibleFile: a regular file stays one.
func TestInterruptibleFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "in"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if interruptible(t.Context(), f) != io.Reader(f) {
		t.Error("a regular file is wrapped")
	}
}
