package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestExactProgram: a program without a release is told from others by its file.
func TestExactProgram(t *testing.T) {
	var o outside
	app := o.app()
	release := app.Version
	app.Version = ""
	if got := app.exactProgram(); got != "" {
		t.Errorf("a program whose file is not known is %q", got)
	}
	file := filepath.Join(t.TempDir(), "ullage")
	app.Program = func() (string, error) { return file, nil }
	if got := app.exactProgram(); got != "" {
		t.Errorf("a program whose file is not there is %q", got)
	}
	seen := map[string]bool{"": true}
	for k, content := range []string{"a", "ab", "ab"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Unix(1_000_000_000+int64(k), 0)); err != nil {
			t.Fatal(err)
		}
		got := app.exactProgram()
		if seen[got] {
			t.Errorf("build %d is %q, as another", k, got)
		}
		seen[got] = true
	}
	app.Version = release
	if got := app.exactProgram(); !strings.HasPrefix(got, release+" ") {
		t.Errorf("a release is %q", got)
	}
}
