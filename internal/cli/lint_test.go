package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLintCache: a release keeps what it found among the user's caches, unless it is told not
// to, and tells the same from there; a build that has no name of its own keeps nothing.
func TestLintCache(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("job.sh", []byte("export PYTORCH_CUDA_ALLOC_CONF=max_split_size:128\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, version string
		args          []string
		kept          int
	}{
		{"release", "v1.2.3", nil, 1},
		{"told not to", "v1.2.3", []string{"--no-cache"}, 0},
		{"with changes", "v1.2.3-4-gabcdef0-dirty", nil, 0},
	}
	var outputs []string
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cache := t.TempDir()
			for range 2 {
				o := outside{env: map[string]string{"XDG_CACHE_HOME": cache, "HOME": cache, "LocalAppData": cache}}
				app := o.app()
				app.Version = tt.version
				if code := Run(t.Context(), app, append([]string{"lint", "."}, tt.args...)); code != exitFinding {
					t.Errorf("exit code %d: %s", code, o.stderr.String())
				}
				outputs = append(outputs, o.stdout.String())
			}
			kept := 0
			err := filepath.WalkDir(cache, func(name string, e os.DirEntry, err error) error {
				if err == nil && !e.IsDir() && strings.Contains(filepath.ToSlash(name), "/ullage/lint/") {
					kept++
				}
				return err
			})
			if err != nil || kept != tt.kept {
				t.Errorf("%d files are kept, want %d; %v", kept, tt.kept, err)
			}
		})
	}
	for _, out := range outputs {
		if out != outputs[0] || !strings.Contains(out, "conf/unknown-option") {
			t.Errorf("got %q, want %q", out, outputs[0])
		}
	}
}

func TestExactVersion(t *testing.T) {
	for _, tt := range []struct {
		version versionInfo
		want    string
	}{
		{versionInfo{Version: "v1.0.0"}, "v1.0.0 "},
		{versionInfo{Version: "devel", Commit: "abc"}, "abc"},
		{versionInfo{Version: "devel"}, ""},
		{versionInfo{Version: "devel", Commit: "abc", Modified: true}, ""},
		{versionInfo{Version: "v1.0.0-3-gabc-dirty", Commit: "abc"}, ""},
	} {
		if got := tt.version.exact(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.version, got, tt.want)
		}
	}
}
