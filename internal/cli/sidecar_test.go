package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/snapshot"
)

const sidecarText = `{"ullage": 1, "recording": "a.pickle", "run": "r", "reason": "oom", "pid": 7, "rank": 3,
 "message": "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 16.00 GiB of which 1.00 GiB is free. Process 77 has 9.00 GiB memory in use. Including non-PyTorch memory, this process has 6.00 GiB memory in use. Of the allocated memory 5.00 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated.",
 "failed": {"device": 1, "asked_bytes": 5, "total_bytes": 4000, "free_bytes": 0},
 "devices": [{"device": 0, "total_bytes": 17179869184, "limit_bytes": 8589934592, "free_bytes": null}, {"device": 1, "total_bytes": 9000, "limit_bytes": null}, {"device": 2, "total_bytes": -1, "limit_bytes": -5},
  {"device": 3, "total_bytes": 9000, "limit_bytes": 6000, "limit_by": "lease"}, {"device": 4, "total_bytes": 9000, "limit_bytes": 6000, "limit_by": "run"}],
 "lease": {"id": 7, "memory_bytes": 8000}}`

func TestSidecar(t *testing.T) {
	s, err := parseSidecar(strings.NewReader(sidecarText))
	if err != nil {
		t.Fatal(err)
	}
	const others = 9<<30 - 1 // the middle of what is printed as 9.00 GiB
	tests := []struct {
		name   string
		s      *sidecar
		opt    analyze.Options
		device int
		want   analyze.Options
	}{
		{"limit, and others by the message", s, analyze.Options{}, 0, analyze.Options{CapacityBytes: 16 << 30, LimitBytes: 8 << 30, OthersBytes: others}},
		{"limit by what the observer was told", s, analyze.Options{}, 1, analyze.Options{CapacityBytes: 9000, LimitBytes: 4000}},
		{"amounts that cannot be", s, analyze.Options{}, 2, analyze.Options{}},
		{"a limit of the lease", s, analyze.Options{}, 3, analyze.Options{CapacityBytes: 9000, LimitBytes: 6000, LeaseBytes: 8000}},
		{"a limit of less than the lease", s, analyze.Options{}, 4, analyze.Options{CapacityBytes: 9000, LimitBytes: 6000}},
		{"a device that is not there", s, analyze.Options{}, 9, analyze.Options{}},
		{"the user knows better", s, analyze.Options{CapacityBytes: 5, Top: 3}, 0, analyze.Options{CapacityBytes: 5, LimitBytes: 8 << 30, OthersBytes: others, Top: 3}},
		{"nothing beside", nil, analyze.Options{Top: 3}, 0, analyze.Options{Top: 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.s.joined(tt.opt, tt.device); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	if got := s.rankOr(-1); got != 3 {
		t.Errorf("rank %d, want 3", got)
	}
	if got := s.rankOr(5); got != 5 {
		t.Errorf("the name's rank does not count: %d", got)
	}
}

// TestFolderOfRun: what ullage run leaves beside recordings is no stranger in a folder, and
// what it says is used; another's text is one.
func TestFolderOfRun(t *testing.T) {
	dir := t.TempDir()
	recording, err := os.ReadFile(filepath.Join("..", "..", "testdata", "gpu", "oom_batch_too_large.pickle.xz"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a.pickle": string(recording), "a.json": sidecarText,
		"a_pid7_counters.jsonl": "{\"time\": 1}\n", "notes.txt": "lr 1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var o outside
	if code := o.run(t, "explain", dir); code != 0 {
		t.Errorf("exit code %d\n%s", code, &o.stderr)
	}
	if text := o.stderr.String(); !strings.Contains(text, "notes.txt") || strings.Contains(text, "a.json") || strings.Contains(text, "counters") {
		t.Errorf("standard error:\n%s", text)
	}
	if !strings.Contains(o.stdout.String(), "a.pickle, rank 3, GPU 0") {
		t.Errorf("the rank beside the recording is not used:\n%s", &o.stdout)
	}
}

// FuzzSidecar: whatever stands beside a recording, it is read or passed over.
func FuzzSidecar(f *testing.F) {
	f.Add([]byte(sidecarText))
	f.Add([]byte(`{"ullage": 1}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseSidecar(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		opt := s.joined(analyze.Options{}, 0)
		if opt.CapacityBytes < 0 || opt.LimitBytes < 0 || opt.OthersBytes < 0 {
			t.Errorf("negative amounts: %+v", opt)
		}
	})
}

// TestLatest: of each process its latest recording, of a failure if there is one; the clock
// may have been set back in between.
func TestLatest(t *testing.T) {
	row := func(path string, pid, number int, reason string) recorded {
		return recorded{snapshot.FileInfo{Path: path}, &sidecar{PID: pid, Number: number, Reason: reason}}
	}
	for _, tt := range []struct {
		name string
		all  []recorded
		want string
	}{
		{"one", []recorded{row("a", 1, 1, "snap")}, "a"},
		{"the later", []recorded{row("a", 1, 1, "snap"), row("b", 1, 2, "end")}, "b"},
		{"the later, by an earlier clock", []recorded{row("a", 1, 2, "snap"), row("b", 1, 1, "end")}, "a"},
		{"a failure before others", []recorded{row("a", 1, 1, "oom"), row("b", 1, 2, "end"), row("c", 1, 3, "snap")}, "a"},
		{"the later failure", []recorded{row("a", 1, 3, "oom"), row("b", 1, 1, "oom"), row("c", 1, 4, "snap")}, "a"},
		{"of each process", []recorded{row("a", 1, 1, "oom"), row("b", 2, 1, "end"), row("c", 2, 2, "end")}, "a c"},
	} {
		var got []string
		for _, f := range latest(tt.all) {
			got = append(got, f.Path)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
