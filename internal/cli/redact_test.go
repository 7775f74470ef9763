package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/snapshot"
)

// TestRedacted looks for the names and folders of the recorded programs in everything
// that explain prints under --redact.
func TestRedacted(t *testing.T) {
	for _, files := range []string{
		"leaks/leak_hook_cache.pickle.xz", "leaks/profiler.pickle.xz", "recordings/bert_varlen-lim16.pickle.xz", "gpu/cpp_stacks.pickle.xz",
		"recordings/ddp-rank0.pickle.xz recordings/ddp-rank1.pickle.xz",
	} {
		names := ownNames(t, strings.Fields(files))
		for _, flags := range []string{"", "--json", "--markdown", "-v --by tree", "--by stack --top -1", "--json --by tree --top -1", "--against leaks/leak_loss_history.pickle.xz"} {
			if strings.Contains(flags, "against") && strings.Contains(files, " ") {
				continue
			}
			out := strings.ReplaceAll(string(outputOf(t, "explain --redact "+flags+" "+files)), `\_`, "_")
			for _, name := range names {
				if regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(name)).MatchString(out) {
					t.Errorf("explain --redact %s %s prints %q", flags, files, name)
				}
			}
		}
	}
}

// ownNames are the paths and names in recordings that are the recorded program's own.
// "step" and the like are words that the report uses itself.
func ownNames(t *testing.T, files []string) []string {
	t.Helper()
	names := map[string]bool{"home/": true, "workspace/": true}
	for _, file := range files {
		names[filepath.Base(file)] = true
		f, err := os.Open(filepath.Join("..", "..", "testdata", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rec, err := snapshot.Read(f, snapshot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range rec.Frames {
			if !strings.Contains(f.Filename, "-packages/") && !strings.Contains(f.Filename, "lib/python") && strings.HasSuffix(f.Filename, ".py") {
				names[filepath.Base(f.Filename)] = true
				if strings.ContainsAny(f.Name, "_<") {
					names[f.Name] = true
				}
			}
		}
	}
	for _, common := range []string{"<module>", "__init__", "cpp_stacks"} { // libraries have these too, and the report itself
		delete(names, common)
	}
	var list []string
	for name := range names {
		list = append(list, name)
	}
	return list
}

// TestRedactedRanks: without their names the files of a job are still told apart.
func TestRedactedRanks(t *testing.T) {
	out := string(outputOf(t, "explain --redact recordings/ddp-rank0.pickle.xz recordings/ddp-rank1.pickle.xz"))
	for _, want := range []string{"2 devices in 2 files", "healthy  file 1\n", "healthy  file 2\n", "\nfile 1, rank 0, GPU 0\n", "\nfile 2, rank 1, GPU 1\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not printed:\n%.900s", want, out)
		}
	}
	if strings.Contains(out, "not its own") {
		t.Error("a rank's own GPU is taken for another's")
	}
}
