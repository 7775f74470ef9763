package rules

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "set found-by in the pages to what the code raises")

// raisers are the packages of each command that end in findings.
var raisers = map[string][]string{
	"explain": {"../analyze", "../message"},
	"lint":    {"../lint/code", "../lint/places"},
	"tune":    {"../tune"},
}

// TestFoundBy holds the catalogue and the code together: every id that the code names
// exists, and a page says that a command reports its rule exactly when the command's code
// names it. A promise without code, and code without a page, both fail here.
func TestFoundBy(t *testing.T) {
	raised := map[string][]string{} // commands by id
	for command, dirs := range raisers {
		for _, dir := range dirs {
			for id, pos := range idsIn(t, dir) {
				if _, err := Get(id); err != nil {
					t.Errorf("%s: %v", pos, err)
				}
				if !slices.Contains(raised[id], command) {
					raised[id] = append(raised[id], command)
				}
			}
		}
	}
	for _, r := range All() {
		slices.Sort(raised[r.ID])
		if slices.Equal(r.FoundBy, raised[r.ID]) {
			continue
		}
		if *update {
			setFoundBy(t, r, raised[r.ID])
			continue
		}
		t.Errorf("%s: found-by is %q, but the code that raises it belongs to %q; run go test ./internal/rules -update", r.Doc(), r.FoundBy, raised[r.ID])
	}
}

// idsIn returns the string literals of the form of an id, with a family of the catalogue,
// in the Go files of dir that are no tests, with where each is. A dir that does not exist
// names none.
func idsIn(t *testing.T, dir string) map[string]token.Position {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]token.Position{}
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if s, err := strconv.Unquote(lit.Value); err == nil && looksLikeID(s) {
				ids[s] = fset.Position(lit.Pos())
			}
			return true
		})
	}
	return ids
}

func looksLikeID(s string) bool {
	family, _, _ := strings.Cut(s, "/")
	return idForm.MatchString(s) && slices.Contains(families, family)
}

// setFoundBy rewrites one line of a page's front matter.
func setFoundBy(t *testing.T, r *Rule, commands []string) {
	t.Helper()
	name := filepath.FromSlash("../../" + r.Doc())
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	front, body, err := cutFront(string(text))
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.Split(front, "\n"), func(l string) bool { return strings.HasPrefix(l, "found-by:") })
	if len(commands) > 0 {
		lines = append(lines, "found-by: "+strings.Join(commands, ", "))
	}
	page := "---\n" + strings.Join(lines, "\n") + "\n---\n" + body
	if err := os.WriteFile(name, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}
