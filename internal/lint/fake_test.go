package lint

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// fakeChecker finds what a source says itself: a word LEAK, PEAK, LOW or INFO is a mistake,
// and FIX one that is repaired by DONE. What stands for rules is of no concern here.
type fakeChecker struct{ checked atomic.Int64 }

func (c *fakeChecker) Name() string            { return "fake" }
func (c *fakeChecker) MaxBytes() int64         { return 10_000 }
func (c *fakeChecker) MayBeData(n string) bool { return strings.HasSuffix(n, ".json") }

func (c *fakeChecker) Takes(name string, head []byte) bool {
	return strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".ipynb") || strings.HasSuffix(name, ".json") || bytes.HasPrefix(head, []byte("#!python"))
}

var fakeWords = regexp.MustCompile(`\b(LEAK|PEAK|LOW|INFO|FIX|TWICE)\b`)

func (c *fakeChecker) Check(_ context.Context, src *syntax.Source, test bool) (Checked, error) {
	c.checked.Add(1)
	if bytes.Contains(src.Text, []byte("REFUSED")) {
		return Checked{}, errors.New("is refused")
	}
	out := Checked{Comments: HashComments(src.Text)}
	for _, at := range fakeWords.FindAllIndex(src.Text, -1) {
		out.Mistakes = append(out.Mistakes, fakeMistake(string(src.Text[at[0]:at[1]]), at[0], at[1], test))
	}
	if at := bytes.Index(src.Text, []byte("BROKEN")); at >= 0 {
		out.Broken = &at
	}
	return out, nil
}

func fakeMistake(word string, start, end int, test bool) rules.Mistake {
	m := rules.Mistake{Rule: "leak/loss-with-graph", Severity: rules.Warning, Confidence: rules.High, Start: start, End: end, Message: "found " + word, Remedy: "take it out"}
	switch word {
	case "PEAK":
		m.Rule, m.Severity = "peak/autocast-cache", rules.Error
	case "LOW":
		m.Confidence = rules.Low
	case "INFO":
		m.Severity = rules.Info
	case "FIX":
		m.Fix = &rules.Fix{What: "write DONE", Edits: []rules.Edit{{Start: start, End: end, Text: "DONE"}}}
	case "TWICE": // takes the blanks beside it, so that two of them meet
		m.Fix = &rules.Fix{What: "write FIX", Edits: []rules.Edit{{Start: max(start-1, 0), End: end + 1, Text: " FIX "}}}
	}
	if test {
		m.Severity = rules.Info
	}
	return m
}

// diskFiles is the real file system.
type diskFiles struct{}

func (diskFiles) Open(name string) (fs.File, error)          { return os.Open(name) }
func (diskFiles) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (diskFiles) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// tree is a folder of files to check.
type tree struct {
	t    *testing.T
	dir  string
	fake *fakeChecker
	opt  Options
}

// newTree writes files. A text that begins with "->" is a link.
func newTree(t *testing.T, files map[string]string) *tree {
	t.Helper()
	tr := &tree{t: t, dir: t.TempDir(), fake: &fakeChecker{}}
	t.Chdir(tr.dir)
	tr.write(files)
	tr.opt = Options{Dir: tr.dir, Files: diskFiles{}, Checkers: []Checker{tr.fake}}
	return tr
}

func (tr *tree) write(files map[string]string) {
	tr.t.Helper()
	for name, text := range files {
		name = filepath.Join(tr.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			tr.t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(text, "->"); link {
			err = os.Symlink(target, name)
		} else {
			err = os.WriteFile(name, []byte(text), 0o644)
		}
		if err != nil {
			tr.t.Fatal(err)
		}
	}
}

// run checks paths.
func (tr *tree) run(paths ...string) *Result {
	tr.t.Helper()
	opt := tr.opt
	opt.Paths = paths
	r, err := Run(tr.t.Context(), opt)
	if err != nil {
		tr.t.Fatal(err)
	}
	return r
}

// found lists findings as file:line:word.
func found(r *Result) string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, filepath.ToSlash(f.File)+":"+f.From.Position.String()+":"+strings.TrimPrefix(f.Message, "found "))
	}
	return strings.Join(all, " ")
}

// told lists notices.
func told(r *Result) string {
	var all []string
	for _, n := range r.Notices {
		all = append(all, string(n.Kind)+" "+filepath.ToSlash(n.File)+" "+n.Text)
	}
	return strings.Join(all, "; ")
}
