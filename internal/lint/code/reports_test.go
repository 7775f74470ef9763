package code

import (
	"os"
	"path"
	"strings"
	"testing"
)

// leastRecall is the share of the programs made after public reports in which the mistake
// has to be found.
const leastRecall = 0.85

// TestReports finds what people reported: of the programs in testdata/reports, at least
// leastRecall at the right line, and none of those that are repaired.
func TestReports(t *testing.T) {
	var planted, seen int
	for _, name := range reportFiles(t) {
		src := read(t, name)
		got := strings.Join(found(t, src), "\n") + "\n"
		want := wanted(src)
		if len(want) == 0 {
			checkRepaired(t, name, got)
			continue
		}
		planted++
		if !allFound(want, got) {
			t.Logf("%s: want %q, got\n%s", name, want, got)
		} else {
			seen++
		}
	}
	if planted < 60 || float64(seen) < leastRecall*float64(planted) {
		t.Errorf("found %d of %d", seen, planted)
	}
}

// allFound tells whether every mark is among the rows of what was found, those with (all) at
// any level.
func allFound(want []string, got string) bool {
	rows := "\n" + got
	for _, row := range want {
		shown := "\n" + strings.Replace(row, " (all)", "", 1) + "\n"
		if !strings.Contains(rows, "\n"+row+"\n") && !strings.Contains(rows, shown) {
			return false
		}
	}
	return true
}

// checkRepaired says what is found by default in a program that has nothing wrong.
func checkRepaired(t *testing.T, name, got string) {
	t.Helper()
	for row := range strings.Lines(got) {
		if row != "\n" && !strings.Contains(row, "(all)") {
			t.Errorf("%s is repaired, and has %s", name, row)
		}
	}
}

func reportFiles(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir("testdata/reports")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if path.Ext(e.Name()) == ".py" {
			names = append(names, "reports/"+e.Name())
		}
	}
	return names
}
