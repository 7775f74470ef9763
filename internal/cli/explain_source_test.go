package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/report"
)

const (
	leaks     = "../../testdata/leaks"
	workloads = leaks + "/workloads.py"
)

// explainLeak explains a recording with a folder of sources, and returns the finding of
// what grows.
func explainLeak(t *testing.T, name, folder string) report.FindingJSON {
	t.Helper()
	var o outside
	if code := o.run(t, "explain", "--json", "--source", folder, filepath.Join(leaks, name+".pickle.xz")); code != 0 {
		t.Fatalf("exit code %d: %s", code, o.stderr.String())
	}
	var all struct {
		Devices []struct{ Findings []report.FindingJSON }
	}
	if err := json.Unmarshal(o.stdout.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	findings := all.Devices[0].Findings
	i := slices.IndexFunc(findings, func(f report.FindingJSON) bool { return f.Rule == "leak/growing-site" })
	if i < 0 {
		t.Fatalf("%s: nothing grows", name)
	}
	return findings[i]
}

// copySource copies the workloads, changed, into a folder of their own, written at a time.
func copySource(t *testing.T, change func(string) string, written time.Time) string {
	t.Helper()
	text, err := os.ReadFile(workloads)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	name := filepath.Join(folder, "workloads.py")
	if err := os.WriteFile(name, []byte(change(string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, written, written); err != nil {
		t.Fatal(err)
	}
	return folder
}

func unchanged(s string) string { return s }

var long = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) // before the recordings

// TestExplainNames: the mistake in the source that a leak comes from, of real recordings.
func TestExplainNames(t *testing.T) {
	folder := copySource(t, unchanged, long)
	for name, want := range map[string]struct {
		line int
		rule string
	}{
		"leak_running_total":                  {174, "leak/loss-with-graph"},
		"leak_loss_history":                   {156, "leak/list-with-graph"},
		"../recordings/leak_eval_outputs-oom": {183, "leak/list-with-graph"},
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f := explainLeak(t, name, folder)
			if len(f.Named) == 0 {
				t.Fatalf("no mistake is named: %q", f.Unnamed)
			}
			n := f.Named[0]
			if n.Line != want.line || n.Rule != want.rule || n.File != filepath.Join(folder, "workloads.py") || n.Confidence != "high" || n.Doubt != "" || n.Code == "" {
				t.Errorf("named is %+v", n)
			}
			if f.Causes[0] != n.Rule || !strings.HasPrefix(f.Remedies[0].Do, n.File+":") || f.Remedies[0].Effect == "" {
				t.Errorf("causes %v, remedies %+v", f.Causes, f.Remedies)
			}
		})
	}
}

// TestExplainNamesDoubt: a file that is newer than the recording is no sure witness, and
// one whose lines have moved is none.
func TestExplainNamesDoubt(t *testing.T) {
	newer := explainLeak(t, "leak_running_total", copySource(t, unchanged, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)))
	if len(newer.Named) == 0 || newer.Named[0].Confidence != "medium" || !strings.Contains(newer.Named[0].Doubt, "written after the recording") {
		t.Errorf("newer: %+v, %q", newer.Named, newer.Unnamed)
	}
	moved := explainLeak(t, "leak_running_total", copySource(t, func(s string) string { return strings.Repeat("# a line\n", 3) + s }, long))
	if len(moved.Named) > 0 || !strings.Contains(moved.Unnamed, "is not as it was when it was recorded") {
		t.Errorf("moved: %+v, %q", moved.Named, moved.Unnamed)
	}
	for what, folder := range map[string]string{"another folder": t.TempDir(), "no folder": filepath.Join(t.TempDir(), "none")} {
		if none := explainLeak(t, "leak_running_total", folder); len(none.Named) > 0 || none.Unnamed != "" {
			t.Errorf("%s: %+v, %q", what, none.Named, none.Unnamed)
		}
	}
	broken := explainLeak(t, "leak_running_total", copySource(t, func(string) string { return "((((\x00\xff" }, long))
	if len(broken.Named) > 0 {
		t.Errorf("broken: %+v", broken.Named)
	}
}

// TestSourceCandidates: what a recording names is not opened blindly.
func TestSourceCandidates(t *testing.T) {
	s := newSources(new(outside).app(), "")
	for _, name := range []string{`\\host\share\a.py`, "//host/share/a.py"} {
		if all := s.candidates(name); len(all) > 0 {
			t.Errorf("%s: %q", name, all)
		}
	}
	folder := filepath.Join(t.TempDir(), "folder.py")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/dev/zero", "<frozen runpy>", "/etc/passwd", folder} {
		if s.find(name) != nil {
			t.Errorf("%s was read", name)
		}
	}
	below := newSources(new(outside).app(), "src")
	for _, path := range below.candidates("/a/../../b.py") {
		if strings.HasPrefix(path, "..") {
			t.Errorf("%q leaves the folder", path)
		}
	}
}
