package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/term"
)

// TestDocs runs every command that the documentation shows, from the root of the tree, and
// compares what it prints with what is shown. -update rewrites what is shown.
//
// A command stands in a fenced block of the language "console", on a line that begins with
// "$ ullage". The lines below it, up to the next command, are its output, standard output
// and standard error together; none means that the output is not shown. A line of three
// dots alone stands for any number of lines.
func TestDocs(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	for _, name := range docPages(t) {
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			before, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			after := rewritePage(t, string(before))
			if *update && after != string(before) {
				if err := os.WriteFile(name, []byte(after), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// docPages are the README, its translation, and all pages below docs.
func docPages(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md", "README.zh-CN.md"}
	err := filepath.WalkDir("docs", func(name string, _ fs.DirEntry, err error) error {
		if filepath.Ext(name) == ".md" {
			pages = append(pages, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// rewritePage checks all commands of a page and returns it with their real output.
func rewritePage(t *testing.T, page string) string {
	t.Helper()
	var out strings.Builder
	lines := strings.SplitAfter(page, "\n")
	inside := false
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		out.WriteString(line)
		switch {
		case !inside:
			inside = strings.TrimSpace(line) == "```console"
		case strings.HasPrefix(line, "```"):
			inside = false
		case strings.HasPrefix(line, "$ ullage"):
			end := i + 1
			for end < len(lines) && !strings.HasPrefix(lines[end], "$ ") && !strings.HasPrefix(lines[end], "```") {
				end++
			}
			shown := strings.Join(lines[i+1:end], "")
			out.WriteString(checkShown(t, strings.TrimSpace(line[2:]), shown))
			i = end - 1
		}
	}
	return out.String()
}

// checkShown runs one command and compares. It returns what the page should show.
func checkShown(t *testing.T, command, shown string) string {
	t.Helper()
	got, code, err := runShown(t, command)
	if err != nil {
		t.Errorf("%s: %v", command, err)
		return shown
	}
	showsError := strings.Contains(shown, "ullage: error:") || strings.Contains(shown, `{"error":`)
	if code != exitDone && code != exitFinding && !showsError {
		t.Errorf("%s ends with exit code %d:\n%s", command, code, got)
		return shown
	}
	if strings.TrimSpace(shown) == "" || matches(shown, got) {
		return shown
	}
	if *update && !slices.Contains(strings.Split(shown, "\n"), "...") {
		return got
	}
	t.Errorf("%s prints something else than the page shows; -update rewrites it, unless it has a line of three dots (-shown +printed):\n%s", command, cmp.Diff(shown, got))
	return shown
}

func runShown(t *testing.T, command string) (output string, code int, err error) {
	t.Helper()
	words, err := splitWords(command)
	if err != nil {
		return "", 0, err
	}
	o := outside{terminal: term.Terminal{UTF8: true}}
	if i := slices.Index(words, "<"); i >= 0 && i == len(words)-2 {
		input, err := os.ReadFile(words[i+1])
		if err != nil {
			return "", 0, err
		}
		o.stdin, words = string(input), words[:i]
	}
	app := o.app()
	var both bytes.Buffer
	app.Stdout, app.Stderr = &both, &both
	code = Run(t.Context(), app, words[1:])
	return both.String(), code, nil
}

// splitWords splits a command line as a shell does, as far as the pages need it: words and
// quotes. What else a shell would act upon is refused, so that no page shows a command
// that the test runs as another.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	started := false
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, started = r, true
		case strings.ContainsRune("|>;&$`*?#~\\", r):
			return nil, fmt.Errorf("the test cannot run %q: it has %q", s, r)
		case r != ' ':
			word.WriteRune(r)
			started = true
		case started:
			words = append(words, word.String())
			word.Reset()
			started = false
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%q has an open quote", s)
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}

// matches compares line by line; a line of three dots matches any number of lines.
func matches(shown, got string) bool {
	return matchLines(strings.Split(shown, "\n"), strings.Split(got, "\n"))
}

func matchLines(shown, got []string) bool {
	for i, line := range shown {
		if line == "..." {
			for skip := 0; skip <= len(got)-i; skip++ {
				if matchLines(shown[i+1:], got[i+skip:]) {
					return true
				}
			}
			return false
		}
		if i >= len(got) || got[i] != line {
			return false
		}
	}
	return len(got) == len(shown)
}

func TestMatches(t *testing.T) {
	tests := []struct {
		shown, got string
		want       bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\n", "a\nb\n", false},
		{"a\nb\n", "a\n", false},
		{"a\n...\nc\n", "a\nb\nb\nc\n", true},
		{"a\n...\nc\n", "a\nc\n", true},
		{"a\n...\nc\n", "a\nb\n", false},
		{"...\n", "", true},
		{"a\n...\n", "a\nb\n", true},
		{"a\n...\n", "b\n", false},
	}
	for _, tt := range tests {
		if got := matches(tt.shown, tt.got); got != tt.want {
			t.Errorf("matches(%q, %q) = %v", tt.shown, tt.got, got)
		}
	}
}

func TestSplitWords(t *testing.T) {
	got, err := splitWords(`ullage explain 'a b.log' --x="" < in`)
	if diff := cmp.Diff([]string{"ullage", "explain", "a b.log", "--x=", "<", "in"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, s := range []string{"ullage x | head", "ullage $HOME", "ullage 'x", "ullage x; ls", "ullage *"} {
		if got, err := splitWords(s); err == nil {
			t.Errorf("splitWords(%q) = %q, want an error", s, got)
		}
	}
}

// TestRewritePage: only commands in console blocks are run, and only what is shown is
// compared.
func TestRewritePage(t *testing.T) {
	page := "# t\n\n    $ ullage frob\n\n```sh\n$ ullage frob\n```\n\n```console\n$ make build\nwhatever\n$ ullage frob\nullage: error: \"frob\" is not a command of ullage\nhint: run 'ullage --help' for the commands\n$ ullage version\n```\n"
	if got := rewritePage(t, page); got != page {
		t.Errorf("got %q", got)
	}
}
