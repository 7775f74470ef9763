package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/manpage"
	"github.com/ullage-dev/ullage/internal/term"
)

func TestExitCode(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"none", nil, 0},
		{"any", errors.New("x"), 1},
		{"usage", usageErrorf("x"), 2},
		{"finding", findingErrorf("x"), 3},
		{"input", inputError(fs.ErrNotExist), 4},
		{"input, wrapped", fmt.Errorf("explain: %w", inputError(errors.New("x"))), 4},
		{"input, with a hint", withHint(inputError(errors.New("x")), "y"), 4},
		{"the outermost kind wins", usageErrorf("%w", inputError(errors.New("x"))), 2},
		{"one of several", errors.Join(errors.New("x"), inputError(errors.New("y"))), 4},
		{"refused", &kindError{kindRefused, errors.New("x")}, 5},
		{"unreachable", &kindError{kindUnreachable, errors.New("x")}, 6},
		{"interrupted", inputError(fmt.Errorf("a.pickle: %w", context.Canceled)), 130},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := exitCode(tt.err); got != tt.want {
				t.Errorf("exitCode(%v) = %d, want %d", tt.err, got, tt.want)
			}
		})
	}
	if inputError(nil) != nil {
		t.Error("inputError(nil) is an error")
	}
}

// TestExitTable: the texts list every code, and no other.
func TestExitTable(t *testing.T) {
	want := []string{"0", "1", "2", "3", "4", "5", "6", "130"}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "exit-codes.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, re := range map[string]struct{ text, re string }{
		"help": {exitTable, `(?m)^ +(\d+)  `},
		"docs": {string(page), `(?m)^\| (\d+) \|`},
	} {
		var got []string
		for _, m := range regexp.MustCompile(re.re).FindAllStringSubmatch(re.text, -1) {
			got = append(got, m[1])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHints(t *testing.T) {
	inner := withHint(errors.New("x"), "look at the file")
	err := withHint(fmt.Errorf("reading: %w", errors.Join(inner, withHint(errors.New("y"), "look at the file"))), "run %s", "doctor")
	if diff := cmp.Diff([]string{"run doctor", "look at the file"}, hints(err)); diff != "" {
		t.Errorf("hints (-want +got):\n%s", diff)
	}
	if err.Error() != "reading: x\ny" {
		t.Errorf("a hint changes the text: %q", err)
	}
}

func TestPrintError(t *testing.T) {
	err := withHint(inputError(errors.New("a\x1b[2J.pickle: bad opcode\nat offset 7")), "try --device 0")
	tests := []struct {
		name   string
		color  term.ColorMode
		asJSON bool
		err    error
		want   string
	}{
		{"text", term.ColorNever, false, err, "ullage: error: a\\x1b[2J.pickle: bad opcode; at offset 7\nhint: try --device 0\n"},
		{"colour", term.ColorAlways, false, errors.New("x"), "ullage: \x1b[31merror:\x1b[0m x\n"},
		{"JSON", term.ColorAlways, true, err, `{"error":{"code":4,"message":"a\\x1b[2J.pickle: bad opcode; at offset 7","hints":["try --device 0"]}}` + "\n"},
		{"JSON without hints", term.ColorNever, true, errors.New("x"), `{"error":{"code":1,"message":"x","hints":[]}}` + "\n"},
		{"interrupted", term.ColorNever, false, fmt.Errorf("reading: %w", context.Canceled), "ullage: error: interrupted\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var o outside
			app := o.app()
			app.color = tt.color
			app.printError(tt.err, tt.asJSON)
			if diff := cmp.Diff(tt.want, o.stderr.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestErrorOnTerminal: a person sees colour, unless the environment says no.
func TestErrorOnTerminal(t *testing.T) {
	for noColor, want := range map[string]string{
		"":    "ullage: \x1b[31merror:\x1b[0m \"frob\" is not a command of ullage\n\x1b[36mhint:\x1b[0m run 'ullage --help' for the commands\n",
		"yes": "ullage: error: \"frob\" is not a command of ullage\nhint: run 'ullage --help' for the commands\n",
	} {
		o := outside{
			terminal: term.Terminal{IsTerminal: true, ANSI: true, UTF8: true, Width: 80},
			env:      map[string]string{"NO_COLOR": noColor},
		}
		if code := o.run(t, "frob"); code != exitUsage {
			t.Errorf("exit code %d, want %d", code, exitUsage)
		}
		if diff := cmp.Diff(want, o.stderr.String()); diff != "" {
			t.Errorf("NO_COLOR=%s (-want +got):\n%s", noColor, diff)
		}
	}
}

// TestWarn: warnings are for people, and can be turned off.
func TestWarn(t *testing.T) {
	var o outside
	app := o.app()
	app.Warn("%s: cut short", "a.pickle")
	app.quiet = true
	app.Warn("not shown")
	if got := o.stderr.String(); got != "ullage: warning: a.pickle: cut short\n" {
		t.Errorf("got %q", got)
	}
}

// TestProgressIsQuiet: no progress under --quiet, none in a pipe.
func TestProgressIsQuiet(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		for _, tty := range []bool{false, true} {
			o := outside{terminal: term.Terminal{IsTerminal: tty}}
			app := o.app()
			app.start(t.Context())
			app.quiet = quiet
			if got, want := app.Progress("reading", 0) != nil, tty && !quiet; got != want {
				t.Errorf("quiet %v, terminal %v: progress %v, want %v", quiet, tty, got, want)
			}
		}
	}
}

// TestFullDisk: a result that could not be written is a failure, whatever the command says.
func TestFullDisk(t *testing.T) {
	var o outside
	app := o.app()
	app.Stdout = failingWriter{}
	if code := Run(t.Context(), app, []string{"--help"}); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	if got := o.stderr.String(); got != "ullage: error: cannot write the result: disk full\n" {
		t.Errorf("got %q", got)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestVersionInfo(t *testing.T) {
	build := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
		{Key: "vcs.time", Value: "2026-11-30T12:00:00Z"},
		{Key: "vcs.modified", Value: "true"},
	}}
	build.Main.Version = "v0.9.0"
	tests := []struct {
		name   string
		linked string
		build  *debug.BuildInfo
		want   string
	}{
		{"linked", "v1.0.0", build, "ullage v1.0.0 (commit 0123456789ab with changes, "},
		{"installed", "", build, "ullage v0.9.0 (commit 0123456789ab with changes, "},
		{"built in a tree", "", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "ullage devel (go"},
		{"no information", "", nil, "ullage devel (go"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			if err := printVersion(&b, newVersionInfo(tt.linked, tt.build)); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(b.String(), tt.want) {
				t.Errorf("got %q, want it to begin with %q", b.String(), tt.want)
			}
		})
	}
}

// TestManPages keeps docs/man true to the help texts: a page for each command, and none
// for one that is gone.
func TestManPages(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "man")
	var o outside
	pages := map[string]bool{}
	for cmd := range commands(New(o.app())) {
		var b strings.Builder
		var sections []manpage.Section
		if cmd.HasParent() { // the root's own text has the table
			sections = append(sections, manpage.Section{Title: "EXIT STATUS", Text: exitTable})
		}
		if err := manpage.Write(&b, cmd, sections...); err != nil {
			t.Fatal(err)
		}
		name := manpage.Name(cmd) + ".1"
		pages[name] = true
		golden(t, filepath.Join(dir, name), []byte(b.String()))
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !pages[f.Name()] {
			t.Errorf("docs/man/%s belongs to no command", f.Name())
		}
	}
}

// TestCommands holds every command to the habits of the house.
func TestCommands(t *testing.T) {
	var o outside
	for cmd := range commands(New(o.app())) {
		name := cmd.CommandPath()
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: the short text %q is empty or ends in a full stop", name, cmd.Short)
		}
		if cmd.Long == "" {
			t.Errorf("%s has no long text", name)
		}
		if cmd.Parent() == cmd.Root() && cmd.GroupID == "" {
			t.Errorf("%s is in no group", name)
		}
		if cmd.Args == nil {
			t.Errorf("%s does not say which arguments it takes", name)
		}
		for n, line := range strings.Split(cmd.Long, "\n") {
			if w := term.Width(line); w > 80 {
				t.Errorf("%s: line %s of the long text has %d columns", name, strconv.Itoa(n+1), w)
			}
		}
	}
}

// visitCommands is false when yield has had enough.
func visitCommands(cmd *cobra.Command, yield func(*cobra.Command) bool) bool {
	if !yield(cmd) {
		return false
	}
	for _, c := range cmd.Commands() {
		if manpage.HasPage(c) && !visitCommands(c, yield) {
			return false
		}
	}
	return true
}

// commands yields root and all below it that have a manual page.
func commands(root *cobra.Command) func(func(*cobra.Command) bool) {
	return func(yield func(*cobra.Command) bool) {
		visitCommands(root, yield)
	}
}
