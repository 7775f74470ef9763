package lint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// update writes the baselines of a result.
func (tr *tree) update(r *Result) {
	tr.t.Helper()
	for name, text := range r.Baselines() {
		rel, err := filepath.Rel(tr.dir, name)
		if err != nil {
			tr.t.Fatal(err)
		}
		tr.write(map[string]string{rel: string(text)})
	}
}

// TestBaseline: known findings stay hidden when lines move, and new ones show.
func TestBaseline(t *testing.T) {
	tr := newTree(t, map[string]string{"a.py": "LEAK\nx LEAK\nLEAK", "b.py": "PEAK", "c.py": "LEAK"})
	tr.opt.Baseline, tr.opt.NoBaseline = "known.base", true
	tr.update(tr.run("."))
	tr.opt.NoBaseline = false
	if r := tr.run("."); len(r.Findings) > 0 || r.Hidden.Baseline != 5 {
		t.Errorf("found %s; %+v", found(r), r.Hidden)
	}
	tr.write(map[string]string{"a.py": "y = 1\n\n  x   LEAK\nLEAK\nLEAK\nLEAK # three of the same, and this\nLEAK", "c.py": ""})
	r := tr.run(".")
	if got, want := found(r), "a.py:6:1:LEAK a.py:7:1:LEAK"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	if got := told(r); got != "stale known.base 1 of its findings are gone" {
		t.Errorf("told %s", got)
	}

	// What was not looked at stays.
	tr.opt.NoBaseline = true
	tr.update(tr.run("a.py"))
	tr.opt.NoBaseline = false
	if r := tr.run("a.py", "b.py"); len(r.Findings) > 0 {
		t.Errorf("found %s", found(r))
	}
}

func TestBaselineErrors(t *testing.T) {
	tr := newTree(t, map[string]string{"a.py": "", "bad.json": "[", "next.json": `{"version": 2}`, "ullage.toml": "[lint]\nbaseline = \"none.json\"\n"})
	for name, want := range map[string]string{"": "none.json: there is no such file", "bad.json": "bad.json: is no baseline: ", "next.json": "next.json: has version 2; this program reads version 1"} {
		tr.opt.Baseline, tr.opt.Paths = name, []string{"a.py"}
		_, err := Run(t.Context(), tr.opt)
		var base *BaselineError
		if !errors.As(err, &base) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFingerprints: they do not depend on what is shown, or from where lint is run.
func TestFingerprints(t *testing.T) {
	tr := newTree(t, map[string]string{".git/HEAD": "", "sub/a.py": "LOW LEAK\nLEAK"})
	marks := func(r *Result) (all []string) {
		for _, f := range r.Findings {
			all = append(all, f.Path+" "+f.Fingerprint)
		}
		return all
	}
	some := marks(tr.run("."))
	tr.opt.All = true
	every := marks(tr.run("."))
	tr.opt.Dir = filepath.Join(tr.dir, "sub")
	t.Chdir("sub")
	below := marks(tr.run("a.py"))
	if len(every) != 3 || every[1] != some[0] || every[2] != some[1] || strings.Join(every, " ") != strings.Join(below, " ") || !strings.HasPrefix(some[0], "sub/a.py ") {
		t.Errorf("%q, %q, %q", some, every, below)
	}
}

// spoiled is a cache in which places of mistakes have other numbers, of the same length.
func spoiled(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), `"End":4`, `"End":3`, 1)
	if changed == string(text) {
		t.Fatalf("no mistake ends at 4 in %s", text)
	}
	return changed
}

// TestCache: a file that has not changed is not checked again, and comes to the same.
func TestCache(t *testing.T) {
	tr := newTree(t, map[string]string{"a.py": "LEAK  # ullage: ignore[leak] x\nPEAK BROKEN", "b.py": "x", "sub/b.py": "LOW", "c.py": "FIX"})
	folder := filepath.Join(tr.dir, "cache")
	tr.opt.All = true
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	run := func(version string) (string, int64) {
		t.Helper()
		tr.opt.Cache = OpenCache(folder, tr.dir, version)
		before := tr.fake.checked.Load()
		r := tr.run(".")
		if err := tr.opt.Cache.Save(now); err != nil {
			t.Fatal(err)
		}
		return found(r) + told(r), tr.fake.checked.Load() - before
	}
	want, n := run("v1")
	if n != 4 {
		t.Errorf("%d files checked at first", n)
	}
	for _, step := range []struct {
		what, version string
		files         map[string]string
		checked       int64
	}{
		{"nothing", "v1", nil, 0},
		{"a time", "v1", map[string]string{"b.py": "x"}, 0},
		{"the program", "v2", nil, 4},
		{"one file", "v2", map[string]string{"b.py": "xy"}, 1},
		{"the cache, broken", "v2", map[string]string{"cache/" + filepath.Base(tr.opt.Cache.name): cacheHead + "v2\nabc\t{]\n"}, 4},
		{"a byte of the cache", "v2", map[string]string{"cache/" + filepath.Base(tr.opt.Cache.name): "->SPOILED"}, 4},
		{"nothing again", "v2", nil, 0},
	} {
		for name, text := range step.files {
			if text == "->SPOILED" {
				step.files[name] = spoiled(t, name)
			}
		}
		tr.write(step.files)
		if got, n := run(step.version); got != want || n != step.checked {
			t.Errorf("%s has changed: %d checked, want %d;\ngot  %s\nwant %s", step.what, n, step.checked, got, want)
		}
	}

	// A test is another thing than the same text elsewhere.
	tr.write(map[string]string{"tests/c.py": "FIX"})
	if got, n := run("v2"); n != 1 || strings.Count(got, "FIX") != 2 {
		t.Errorf("%d checked; %s", n, got)
	}

	// What nobody used for long is removed.
	tr.write(map[string]string{"b.py": "z"})
	now = time.Now().Add(cacheAge + time.Hour)
	tr.write(map[string]string{"cache/abandoned": "x"})
	run("v2")
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) == "abandoned" {
		t.Errorf("left %q, %v", left, err)
	}
}
