package cli

import (
	"io/fs"
	"os"
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
	if got := o.stderr.String(); !strings.Contains(got, "holds recordings of several jobs: leak_eval_outputs-oom.pickle.xz is explained; name the files to explain any of the other 11") {
		t.Errorf("got %q", got)
	}
}

// pipes are files that can be read once, as a shell's <(command) names them.
type pipes struct {
	diskFiles
	opened map[string]bool
}

type pipeInfo struct{ fs.FileInfo }

func (pipeInfo) Mode() fs.FileMode { return fs.ModeNamedPipe | 0o600 }

func (p pipes) Stat(name string) (fs.FileInfo, error) {
	info, err := p.diskFiles.Stat(name)
	return pipeInfo{info}, err
}

func (p pipes) Open(name string) (fs.File, error) {
	if p.opened[name] {
		return os.Open(os.DevNull)
	}
	p.opened[name] = true
	return p.diskFiles.Open(name)
}

// TestPipe: a pipe is opened once, whether a recording or a text comes through it.
func TestPipe(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB."), 0o644); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		filepath.Join("..", "..", "testdata", "leaks", "leak_hook_cache.pickle.xz"): "Leaks 16.00 MiB a step",
		log: "Out of memory",
	} {
		var o outside
		app := o.app()
		app.Files = pipes{opened: map[string]bool{}}
		if code := Run(t.Context(), app, []string{"explain", file}); code != 0 || !strings.Contains(o.stdout.String(), want) {
			t.Errorf("%s: exit code %d, %s%s; want %q", file, code, o.stdout.String(), o.stderr.String(), want)
		}
	}
}
