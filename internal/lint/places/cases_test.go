package places

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ullage-dev/ullage/internal/rules"
)

// marker says what is found on its line, or on the next: at the end of a line where the
// file's language has comments there, else in a line of its own above.
var marker = regexp.MustCompile(`want( below)?( \(all\))?: ([a-z]+/[a-z0-9-]+)`)

// wanted returns the findings that a file's markers ask for, as "line rule", with "(all)"
// behind those that the default level does not show.
func wanted(text string) []string {
	var want []string
	for i, line := range strings.Split(text, "\n") {
		for _, m := range marker.FindAllStringSubmatch(line, -1) {
			at := i + 1
			if m[1] != "" {
				for at++; marker.MatchString(strings.Split(text, "\n")[at-1]); at++ { // several above one line
				}
			}
			want = append(want, fmt.Sprintf("%d %s%s", at, m[3], m[2]))
		}
	}
	slices.Sort(want)
	return want
}

func found(t *testing.T, name, text string) []string {
	kind, ok := KindOf(name, []byte(text))
	if !ok {
		t.Fatalf("%s is of no kind", name)
	}
	var got []string
	for _, m := range Check(kind, name, []byte(text)) {
		level := ""
		if m.Severity < rules.Warning || m.Confidence < rules.Medium {
			level = " (all)"
		}
		got = append(got, fmt.Sprintf("%d %s%s", strings.Count(text[:m.Start], "\n")+1, m.Rule, level))
		if m.Remedy == "" || m.Message == "" || m.End <= m.Start || m.End > len(text) {
			t.Errorf("%s: not whole: %+v", name, m)
		}
	}
	slices.Sort(got)
	return got
}

// TestCases runs Check over the files of testdata: an archive for each check, in which at
// least three files have a mistake and three look like it. A file has exactly what its
// markers say.
func TestCases(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			hits, misses := 0, 0
			for _, f := range archive.Files {
				want := wanted(string(f.Data))
				if len(want) > 0 {
					hits++
				} else {
					misses++
				}
				if diff := cmp.Diff(want, found(t, f.Name, string(f.Data))); diff != "" {
					t.Errorf("%s (-want +got):\n%s", f.Name, diff)
				}
			}
			if hits < 3 || misses < 3 {
				t.Errorf("%d files with a mistake and %d without: want three of each", hits, misses)
			}
		})
	}
}
