package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestViewReplaces: what is there already is replaced by a page only if it is one, so that
// --export *.pickle costs no recording.
func TestViewReplaces(t *testing.T) {
	recording := testFile("gpu/no_stacks.pickle.xz")
	content, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "made.html")
	if code := new(outside).run(t, "view", "--export", made, "--max-size", "1MB", recording); code != exitDone {
		t.Fatalf("exit code %d", code)
	}
	page, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		content string
		code    int
	}{
		{"a recording", string(content), exitFailed},
		{"notes", "of a run", exitFailed},
		{"another program's page", "<!doctype html><html><head><title>of PyTorch</title></head></html>", exitFailed},
		{"a page of an earlier time", string(page), exitDone},
		{"an empty file", "", exitDone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "run.pickle")
			if err := os.WriteFile(name, []byte(tt.content), 0o644); err != nil {
				t.Fatal(err)
			}
			var o outside
			code := o.run(t, "view", "--export", name, "--max-size", "1MB", recording)
			after, err := os.ReadFile(name)
			if err != nil || code != tt.code {
				t.Errorf("exit code %d, %v: %s", code, err, &o.stderr)
			}
			if code == exitFailed && (string(after) != tt.content || !strings.Contains(o.stderr.String(), "hint: give the page another name")) {
				t.Errorf("%d bytes are there, and the user is told: %s", len(after), &o.stderr)
			}
		})
	}
}

// TestViewThroughLink: a page that is written through a link leaves the link.
func TestViewThroughLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "of-7.html"), filepath.Join(dir, "latest.html")
	if err := os.WriteFile(target, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skipf("no links here: %v", err) // Windows, without the right to make them
	}
	if err := writeWhole(link, []byte("a page")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v, %v", info, err)
	}
	if got, err := os.ReadFile(target); string(got) != "a page" {
		t.Errorf("%q, %v", got, err)
	}
}
