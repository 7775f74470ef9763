package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// doctorTorch is a torch with what `ullage doctor` asks of one, on a machine that has two
// GPUs by its word.
const doctorTorch = `
class _C:
    _cuda_getArchFlags = staticmethod(lambda: "sm_80 sm_90 compute_90")
    _cuda_getDeviceCount = staticmethod(lambda: 2)

class Properties:
    name, major, minor, total_memory, uuid = "H200", 9, 0, 1 << 37, "12-34"

from . import cuda, version
__version__ = version.__version__
print("torch says something when it is imported")
`

const doctorCUDA = `
import types
init = lambda: None
def get_device_properties(index):
    from torch import Properties
    return Properties
get_allocator_backend = lambda: "native"
memory = types.SimpleNamespace(_snapshot=lambda: {"allocator_settings": {
    "PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0, "expandable_segments": False}})
`

// doctorChecks runs the command and returns its checks by id.
func (w *watching) doctorChecks(args ...string) map[string]doctorCheck {
	w.t.Helper()
	w.stdout.Reset()
	w.stderr.Reset()
	if code := exitOf(w.t, w.command(append([]string{"doctor", "--json"}, args...)...).Run()); code != 0 {
		w.t.Fatalf("ullage doctor ends with %d: %s", code, w.stderr.String())
	}
	var out struct{ Checks []doctorCheck }
	if err := json.Unmarshal(w.stdout.Bytes(), &out); err != nil {
		w.t.Fatal(err)
	}
	checks := map[string]doctorCheck{}
	for _, c := range out.Checks {
		checks[c.ID] = c
	}
	return checks
}

// makeFile writes a file, with the folders that it stands in.
func (w *watching) makeFile(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Join(w.dir, filepath.Dir(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	w.writeFile(name, text, 0o644)
}

type doctorCheck struct{ ID, State, Seen string }

// TestDoctorAsksPython asks a real interpreter: what it says of itself and of a torch, and
// that the companion is found by it, or not where it is called so that it cannot be.
func TestDoctorAsksPython(t *testing.T) {
	w := newWatching(t, "PYTHONPATH=", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")
	packages := filepath.Join(w.dir, "packages")
	w.env = append(w.env, "PYTHONPATH="+packages)
	for name, text := range map[string]string{
		"__init__.py": doctorTorch, filepath.Join("cuda", "__init__.py"): doctorCUDA,
		"version.py": "__version__ = '2.11.0+cu130'\ncuda = '13.0'\nhip = None\n",
	} {
		w.makeFile(filepath.Join("packages", "torch", name), text)
	}
	checks := w.doctorChecks("--python", w.python)
	for id, want := range map[string]doctorCheck{
		"torch/python":      {State: "ok", Seen: w.python},
		"torch/build":       {State: "ok", Seen: "PyTorch 2.11.0+cu130 is built for CUDA 13.0"},
		"torch/cuda":        {State: "ok", Seen: "2 × H200"},
		"run/inject":        {State: "ok", Seen: "tried"},
		"settings/in-force": {State: "problem", Seen: "expandable_segments is off"},
	} {
		if got := checks[id]; got.State != want.State || !strings.Contains(got.Seen, want.Seen) {
			t.Errorf("%s: %+v, expected %+v", id, got, want)
		}
	}
	if code := checks["fit/gpu-code"]; runtime.GOOS == "linux" && !strings.Contains(code.Seen, "sm_90") {
		t.Errorf("fit/gpu-code: %+v", code)
	}
}

// TestDoctorSeesWhatShutsOut: an interpreter behind a script that isolates it.
func TestDoctorSeesWhatShutsOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // scripts of the shell are no programs there
	}
	w := newWatching(t)
	w.writeFile("isolated", "#!/bin/sh\nexec '"+w.python+"' -I \"$@\"\n", 0o755)
	if got := w.doctorChecks("--python", filepath.Join(w.dir, "isolated"))["run/inject"]; got.State != "warning" {
		t.Errorf("run/inject: %+v", got)
	}
}

// TestDoctorTimeout: what was learnt before an import that hangs is told.
func TestDoctorTimeout(t *testing.T) {
	w := newWatching(t, "PYTHONPATH=")
	w.env = append(w.env, "PYTHONPATH="+filepath.Join(w.dir, "packages"))
	w.makeFile(filepath.Join("packages", "torch", "__init__.py"), "import time\ntime.sleep(600)\n")
	w.makeFile(filepath.Join("packages", "torch", "version.py"), "__version__ = '2.11.0'\ncuda = '13.0'\n")
	checks := w.doctorChecks("--python", w.python, "--timeout", "5s")
	if got := checks["torch/build"]; got.State != "warning" || !strings.Contains(got.Seen, "stopped after") {
		t.Errorf("torch/build: %+v", got)
	}
	if got := checks["torch/python"]; got.State != "ok" {
		t.Errorf("torch/python: %+v", got)
	}
}
