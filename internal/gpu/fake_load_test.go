package gpu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestLoadedFake: what the file says is on the machine at the next reading, and gone when
// the file no longer says it.
func TestLoadedFake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "load")
	m := bare()
	m.Root = fstest.MapFS{
		"proc/4711/status":  file("Name:\tpython\nUid:\t1001\t1001\t1001\t1001\nNSpid:\t4711\n"),
		"proc/4711/cmdline": file("python\x00train.py\x00"),
		"proc/4711/stat":    file("4711 (python) S " + strings.Repeat("0 ", 18) + "987 0"),
	}
	p, err := Open(t.Context(), "fake:h100-mig-idle@"+path, m)
	if err != nil {
		t.Fatal(err)
	}
	held := func() string {
		t.Helper()
		r, err := p.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.check(); err != nil {
			t.Error(err)
		}
		text := fmt.Sprintf("used %d MiB", r.Devices[0].Memory.UsedBytes>>20)
		for _, p := range r.Processes {
			text += fmt.Sprintf("; %d %q of %s since %d, instance %d: %d MiB", p.PID, p.Command, p.User, p.StartTicks, *p.GPUInstance, *p.UsedBytes>>20)
		}
		return text
	}
	for _, tt := range []struct{ load, want string }{
		{"", "used 0 MiB"},
		{
			"# the first program\n4711 0 8GiB\n\n4712 MIG-00000000-0000-5000-8000-000000000001 512 MiB # another\n- 0 100MiB\n",
			`used 8804 MiB; 4711 "python train.py" of alice since 987, instance 1: 8192 MiB; 4712 "" of  since 0, instance 3: 512 MiB`,
		},
		{"4711 0 1TiB", `used 40448 MiB; 4711 "python train.py" of alice since 987, instance 1: 40448 MiB`}, // all that the instance has
		{"#\n", "used 0 MiB"},
	} {
		if tt.load != "" {
			if err := os.WriteFile(path, []byte(tt.load), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(tt.want, held()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.load, diff)
		}
	}
}

// TestLoadedFakeFaults: what cannot be on the machine is an error of its line.
func TestLoadedFakeFaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "load")
	p, err := Open(t.Context(), "fake:h200x2-idle@"+path, bare())
	if err != nil {
		t.Fatal(err)
	}
	for load, says := range map[string]string{
		"1 0":            "load:1: \"1 0\": expected a PID, a GPU",
		"\n1 2 1GiB":     "load:2: \"2\": expected the index of a GPU, from 0 to 1",
		"1 0 much":       "load:1: ",
		"-1 0 1GiB":      "expected a PID, or -",
		"x GPU-1 1GiB":   "expected the index",
		"python 0 1 GiB": "expected a PID, or -",
	} {
		if err := os.WriteFile(path, []byte(load), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Read(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", load, err, says)
		}
	}
}

// TestCheckSpec: it refuses what Open knows no probe for, and nothing else.
func TestCheckSpec(t *testing.T) {
	for _, spec := range []string{"", "auto", "nvml", "nvidia-smi", "meminfo", "file:x", "file:", "file", "dcgm", "fake:h200x2", "fake:", "fake:x", "fake:h200x2@x", "fake:h200x2@", "fake:@x", "fake:x@x"} {
		_, err := Open(t.Context(), spec, bare())
		unknown := new(SpecError)
		if want, got := errors.As(err, &unknown), CheckSpec(spec) != nil; got != want {
			t.Errorf("%q: refused %v, and Open says %v", spec, got, err)
		}
	}
}
