package cli

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestZipOfSeveral wants it said that of an archive only the first file is explained, of
// a log as of a recording.
func TestZipOfSeveral(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ first, want string }{
		"logs.zip":  {"CUDA out of memory. Tried to allocate 20.00 MiB.\n", "Out of memory"},
		"ranks.zip": {`{"segments": [], "device_traces": [[{"action": "alloc", "addr": 512, "size": 512, "stream": 0, "frames": []}]]}`, "GPU 0"},
	} {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w := zip.NewWriter(f)
		for _, member := range []string{"rank0", "rank1", "rank2"} {
			m, err := w.Create(member)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(m, c.first)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f.Close()
		var o outside
		code := Run(t.Context(), o.app(), []string{"explain", path})
		all := strings.Join(strings.Fields(o.stdout.String()+o.stderr.String()), " ")
		if code != 0 || !strings.Contains(all, c.want) || !strings.Contains(all, "the zip archive holds 2 files beside the first, which alone is read") {
			t.Errorf("%s: code %d\n%s", name, code, all)
		}
	}
}
