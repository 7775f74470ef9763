package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFolderOfSeveralJobs: one job of a folder is explained, and it is said that there
// are others.
func TestFolderOfSeveralJobs(t *testing.T) {
	var o outside
	if code := o.run(t, "explain", filepath.Join("..", "..", "testdata", "recordings")); code != exitDone {
		t.Fatalf("exit code %d:\n%s", code, o.stderr.String())
	}
	if got := o.stderr.String(); !strings.Contains(got, "holds recordings of several jobs: leak_eval_outputs-oom.pickle.xz is explained; name the files to explain any of the other 9") {
		t.Errorf("got %q", got)
	}
}
