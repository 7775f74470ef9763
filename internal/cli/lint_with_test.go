package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/report"
)

// lintWith lints a folder with recordings of testdata.
func lintWith(t *testing.T, folder string, recordings ...string) report.LintJSON {
	t.Helper()
	args := []string{"lint", "--json", "--fail-on", "never", "--no-cache"}
	for _, name := range recordings {
		args = append(args, "--with", filepath.Join(leaks, name+".pickle.xz"))
	}
	var o outside
	if code := o.run(t, append(args, folder)...); code != 0 {
		t.Fatalf("exit code %d: %s", code, o.stderr.String())
	}
	var out report.LintJSON
	if err := json.Unmarshal(o.stdout.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// at returns the finding of a rule on a line.
func at(t *testing.T, out report.LintJSON, rule string, line int) report.LintFindingJSON {
	t.Helper()
	i := slices.IndexFunc(out.Findings, func(f report.LintFindingJSON) bool { return f.Rule == rule && f.Line == line })
	if i < 0 {
		t.Fatalf("no %s on line %d", rule, line)
	}
	return out.Findings[i]
}

func hasEvidence(f report.LintFindingJSON, text string) bool {
	return slices.ContainsFunc(f.Evidence, func(e string) bool { return strings.Contains(e, text) })
}

// TestLintWith: what grew raises the mistakes that it comes from, and no others.
func TestLintWith(t *testing.T) {
	folder := copySource(t, unchanged, long)
	plain := lintWith(t, folder)
	with := lintWith(t, folder, "leak_running_total", "../recordings/leak_eval_outputs-oom")
	if len(with.Grew) > 0 {
		t.Errorf("not explained: %+v", with.Grew)
	}
	sum := at(t, with, "leak/loss-with-graph", 174)
	if sum.Confidence != "high" || sum.Severity != "warning" || !hasEvidence(sum, "leak_running_total.pickle.xz, GPU 0: 32.76 MiB a step stay behind here, 655.12 MiB in the end, line 174 in step") {
		t.Errorf("%+v", sum)
	}
	list := at(t, with, "leak/list-with-graph", 183)
	if list.Confidence != "high" || list.Severity != "error" || !hasEvidence(list, "3.68 GiB in the end") || !hasEvidence(list, "that run died of it") {
		t.Errorf("%+v", list)
	}
	for _, other := range []struct {
		rule string
		line int
	}{{"leak/hook-cache", 190}, {"leak/reference-cycle", 206}, {"leak/list-with-graph", 156}} {
		if a, b := at(t, plain, other.rule, other.line), at(t, with, other.rule, other.line); a.Severity != b.Severity || a.Confidence != b.Confidence || len(a.Evidence) != len(b.Evidence) {
			t.Errorf("%s has changed: %+v", other.rule, b)
		}
	}
}

// TestLintWithOfFunction: a mistake in another line of a function that allocated is raised.
func TestLintWithOfFunction(t *testing.T) {
	folder := copySource(t, func(s string) string { // what is kept, is kept a line below; the lines in front stay
		head, tail, _ := strings.Cut(s, "preds.append(m(x))\n")
		return head + "out = m(x)\n        preds.append(out)\n" + tail
	}, long)
	with := lintWith(t, folder, "../recordings/leak_eval_outputs-oom")
	if f := at(t, with, "leak/list-with-graph", 184); f.Severity != "error" || f.Confidence != "high" || !hasEvidence(f, "line 183 in step") {
		t.Errorf("%+v", f)
	}
}

// TestLintWithUnexplained: a place that no rule explains is listed, and so is a stack that
// is in none of the files, or in a file that has changed.
func TestLintWithUnexplained(t *testing.T) {
	kept := copySource(t, func(s string) string { return strings.Replace(s, "preds.append(m(x))", "keep(preds, m(x))", 1) }, long)
	with := lintWith(t, kept, "../recordings/leak_eval_outputs-oom")
	if g := with.Grew; len(g) != 1 || g[0].Line != 183 || g[0].Function != "step" || !strings.Contains(g[0].Source, "keep(preds, m(x))") || g[0].LiveBytes < 3<<30 || g[0].BytesPerStep < 32<<20 {
		t.Errorf("%+v", g)
	}
	moved := lintWith(t, copySource(t, func(s string) string { return strings.Repeat("# a line\n", 3) + s }, long), "../recordings/leak_eval_outputs-oom")
	if g := moved.Grew; len(g) != 1 || !strings.Contains(g[0].What, "is not as it was when it was recorded") {
		t.Errorf("%+v", g)
	}
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "other.py"), []byte("import torch\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	none := lintWith(t, elsewhere, "../recordings/leak_eval_outputs-oom")
	if g := none.Grew; len(g) != 1 || g[0].File != "" || g[0].Line != 183 {
		t.Errorf("%+v", g)
	}
	newer := lintWith(t, copySource(t, unchanged, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)), "../recordings/leak_eval_outputs-oom")
	if f := at(t, newer, "leak/list-with-graph", 183); !hasEvidence(f, "written after the recording") {
		t.Errorf("%+v", f)
	}
}

// TestLintWithRanks: what grows alike in several recordings is told once.
func TestLintWithRanks(t *testing.T) {
	folder := copySource(t, unchanged, long)
	with := lintWith(t, folder, "leak_running_total", "leak_running_total", "leak_running_total")
	f := at(t, with, "leak/loss-with-graph", 174)
	told := slices.DeleteFunc(slices.Clone(f.Evidence), func(e string) bool { return !strings.Contains(e, "stay behind here") })
	if len(told) != 1 || !strings.HasPrefix(told[0], "leak_running_total.pickle.xz, GPU 0 and 2 more: ") {
		t.Errorf("%q", told)
	}
}

// TestLintWithText: what is printed of a place that no rule explains; and what is no
// recording is refused.
func TestLintWithText(t *testing.T) {
	folder := copySource(t, func(s string) string { return strings.Replace(s, "preds.append(m(x))", "keep(preds, m(x))", 1) }, long)
	recording := filepath.Join(leaks, "../recordings/leak_eval_outputs-oom.pickle.xz")
	var o outside
	o.run(t, "lint", "--no-cache", "--select", "leak/list-with-graph", "--with", recording, folder)
	for _, want := range []string{"Memory grew here too, and no rule matches:\n", fmt.Sprintf("%s:183: in step\n  183 | ", filepath.Join(folder, "workloads.py")), "32.75 MiB a step stay behind"} {
		if !strings.Contains(o.stdout.String(), want) {
			t.Errorf("%q is not in\n%s", want, o.stdout.String())
		}
	}
	o = outside{}
	if code := o.run(t, "lint", "--with", filepath.Join(folder, "workloads.py"), folder); code != 2 {
		t.Errorf("exit code %d: %s", code, o.stderr.String())
	}
	o = outside{}
	if code := o.run(t, "lint", "--with", filepath.Join(folder, "none.pickle"), folder); code != 4 || !strings.Contains(o.stderr.String(), "none.pickle") {
		t.Errorf("exit code %d: %s", code, o.stderr.String())
	}
}
