package lint

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPatterns(t *testing.T) {
	tests := []struct {
		lines string // by spaces
		path  string // a folder ends in a slash
		want  bool
	}{
		{"*.py", "a/b.py", true},
		{"*.py !b.py", "a/b.py", false},
		{"!b.py *.py", "a/b.py", true},
		{"/a.py", "a.py", true},
		{"/a.py", "b/a.py", false},
		{"b/a.py", "b/a.py", true},
		{"b/a.py", "c/b/a.py", false},
		{"build/", "build", false},
		{"build/", "x/build/", true},
		{"a/**/b.py", "a/b.py", true},
		{"a/**/b.py", "a/x/y/b.py", true},
		{"**/b.py", "a/x/b.py", true},
		{"a/**", "a/x/b.py", true},
		{"a/**", "a/", false},
		{"a/*", "a/x/b.py", false},
		{"[ab].py", "b.py", true},
		{"[!ab].py", "b.py", false},
		{"[!ab].py", "c.py", true},
		{"[]x].py", "].py", true},
		{"[^]x].py", "].py", false},
		{"[a.py", "[a.py", false},
		{"a?.py", "ab.py", true},
		{`\#a \!b`, "#a", true},
		{`\#a \!b`, "!b", true},
		{"#a", "#a", false},
		{"a.py/", "a.py", false},
	}
	for _, tt := range tests {
		rel, dir := strings.CutSuffix(tt.path, "/")
		if _, got := parsePatterns(strings.Fields(tt.lines)).match(rel, dir); got != tt.want {
			t.Errorf("%q and %s: %v", tt.lines, tt.path, got)
		}
	}
	if !parsePatterns([]string{"tests/"}).covers("a/tests/b/c.py") || parsePatterns([]string{"tests/"}).covers("a/tests") {
		t.Error("what is in a folder that is meant is covered, and nothing else")
	}
}

// TestPatternsGit: git itself says the same of made lines and paths. Left out are stars that
// follow a letter in a row, as in b**/**: git matches that with b, which its manual does not say.
func TestPatternsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("this machine has no git to compare with")
	}
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ab]{1,2}`)
		line := rapid.StringMatching(`!?/?(([ab?]?\*?[ab?]|\*|\*\*\*?|\[!?ab?\][ab]?)/){0,2}([ab?]{0,2}\*?[ab]|\*|\*\*)/?`)
		lines := rapid.SliceOfN(line, 1, 3).Draw(t, "lines")
		rel := strings.Join(rapid.SliceOfN(name, 1, 3).Draw(t, "path"), "/")
		if err := os.WriteFile(filepath.Join(dir, ".git", "info", "exclude"), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("git", "-C", dir, "check-ignore", "-q", "--no-index", rel)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		if stderr.Len() > 0 {
			t.Fatalf("%v: %s", err, &stderr)
		}
		if want, got := err == nil, parsePatterns(lines).covers(rel); got != want {
			t.Fatalf("%q and %s: %v, git says %v", lines, rel, got, want)
		}
	})
}
