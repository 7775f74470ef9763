package code

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/lint/places"
	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// parser is one for all tests: to make one takes 50 ms.
var parser = sync.OnceValues(func() (*syntax.Parser, error) { return syntax.New(context.Background(), "") })

// mark says what is to be found on its line: "# want: leak/loss-with-graph", and with "(all)"
// what is shown only when all is asked for. Several rules are separated by spaces.
var mark = regexp.MustCompile(`# want( \(all\))?: ([a-z0-9/ -]+)`)

// TestCases holds the rules to the sources in testdata: testdata/FAMILY/NAME has those of a rule.
// A source has exactly the mistakes that it marks, of all rules.
func TestCases(t *testing.T) {
	for _, name := range caseFiles(t) {
		t.Run(name, func(t *testing.T) {
			src := read(t, name)
			if diff := cmp.Diff(wanted(src), found(t, src)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEnoughCases: of every rule at least three sources show it, and three look like it.
func TestEnoughCases(t *testing.T) {
	with, without := map[string]int{}, map[string]int{}
	for _, name := range caseFiles(t) {
		rule := path.Dir(name)
		if slices.ContainsFunc(wanted(read(t, name)), func(row string) bool { return strings.Contains(row, " "+rule) }) {
			with[rule]++
		} else {
			without[rule]++
		}
	}
	for _, id := range Rules() {
		if slices.Contains(allocatorRules, id) {
			continue // places has the cases: the same strings stand in shell scripts
		}
		if with[id] < 3 || without[id] < 3 {
			t.Errorf("%s: %d sources with it and %d without; 3 and 3 are the least", id, with[id], without[id])
		}
	}
}

// TestRulesAreKnown: every id is in the catalogue, and said there to be seen in code.
func TestRulesAreKnown(t *testing.T) {
	for _, id := range Rules() {
		rule, err := rules.Get(id)
		if err != nil {
			t.Error(err)
		} else if !slices.Contains(rule.Signals, rules.Static) {
			t.Errorf("%s: its page does not list the signal static", id)
		}
	}
}

func caseFiles(t testing.TB) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS("testdata"), ".", func(name string, d fs.DirEntry, err error) error {
		if name == "reports" {
			return fs.SkipDir // TestReports has those
		}
		if ext := path.Ext(name); ext == ".py" || ext == ".ipynb" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t testing.TB, name string) *syntax.Source {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	src, err := syntax.Read(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// wanted returns a row for each mark: line, level and rule.
func wanted(src *syntax.Source) []string {
	var rows []string
	for line := 1; line <= src.LineCount(); line++ {
		for _, m := range mark.FindAllStringSubmatch(src.Line(line), -1) {
			for _, id := range strings.Fields(m[2]) {
				rows = append(rows, fmt.Sprintf("%d%s %s", line, m[1], id))
			}
		}
	}
	slices.Sort(rows)
	return rows
}

// found returns what the rules find, in the rows of wanted. A source called test_… is a test.
func found(t *testing.T, src *syntax.Source) []string {
	t.Helper()
	var rows []string
	for _, m := range check(t, src) {
		level := ""
		if !m.Probable() {
			level = " (all)"
		}
		rows = append(rows, fmt.Sprintf("%d%s %s", src.TextLine(m.Start), level, m.Rule))
		checkMistake(t, src, m)
	}
	slices.Sort(rows)
	return rows
}

func check(t *testing.T, src *syntax.Source) []rules.Mistake {
	t.Helper()
	p, err := parser()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := p.Parse(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	return Check(pyscope.New(tree), Options{Test: strings.HasPrefix(path.Base(src.Name), "test_"), Conf: places.ConfMistakes})
}

// checkMistake looks at what a row does not show.
func checkMistake(t *testing.T, src *syntax.Source, m rules.Mistake) {
	t.Helper()
	if m.Message == "" || strings.Contains(m.Message, "\n") || strings.HasSuffix(m.Message, ".") {
		t.Errorf("%s: its message is not one line without a full stop: %q", m.Rule, m.Message)
	}
	if m.Remedy == "" {
		t.Errorf("%s: says not what to change", m.Rule)
	}
	if m.Start < 0 || m.Start >= m.End || m.End > len(src.Text) {
		t.Errorf("%s: from %d to %d is no part of the text", m.Rule, m.Start, m.End)
	}
	if !slices.Contains(Rules(), m.Rule) {
		t.Errorf("%s is reported, but in no line of checkers", m.Rule)
	}
	if m.Fix != nil {
		checkFix(t, src, *m.Fix)
	}
}

// checkFix applies a repair, after which the text must still be Python.
func checkFix(t *testing.T, src *syntax.Source, fix rules.Fix) {
	t.Helper()
	text, at := []byte{}, 0
	for _, e := range fix.Edits {
		if e.Start < at || e.End < e.Start || e.End > len(src.Text) {
			t.Fatalf("%s: edit from %d to %d overlaps another or leaves the text", fix.What, e.Start, e.End)
		}
		text = append(append(text, src.Text[at:e.Start]...), e.Text...)
		at = e.End
	}
	text = append(text, src.Text[at:]...)
	p, _ := parser()
	fixed, err := syntax.Read("fixed.py", text)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := p.Parse(context.Background(), fixed)
	if err != nil {
		t.Fatal(err)
	}
	if bad := tree.Errors(); len(bad) > 0 {
		t.Errorf("%s: leaves what is not Python, in line %d: %s", fix.What, fixed.TextLine(bad[0].Start()), fixed.Line(fixed.TextLine(bad[0].Start())))
	}
}
