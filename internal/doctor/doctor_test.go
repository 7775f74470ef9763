package doctor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/gpu"
)

func machineOf(n int) []gpu.Device {
	all := []gpu.Device{
		{Index: 0, UUID: "GPU-9c1eb60b-4707-b219-a76c-039a1a2dc113", Name: "NVIDIA H200"},
		{Index: 1, UUID: "GPU-9c1f0000-4707-b219-a76c-039a1a2dc113", Name: "NVIDIA H200"},
		{Index: 2, UUID: "GPU-77770000-4707-b219-a76c-039a1a2dc113", Name: "NVIDIA H100", MIG: true, Instances: []gpu.Instance{
			{UUID: "MIG-aaaa0000-2222-5333-8444-555566667777", GPUInstance: 1},
			{UUID: "MIG-bbbb0000-2222-5333-8444-555566667777", GPUInstance: 9},
		}},
	}
	return all[:n]
}

// TestChosenAsMeasured: each value with the devices that a driver (580.159.04) showed under
// it on a machine with one H200, by cuInit and cuDeviceGetCount; MIG- with a GPU's UUID on one
// with two.
func TestChosenAsMeasured(t *testing.T) {
	const uuid = "GPU-9c1eb60b-4707-b219-a76c-039a1a2dc113"
	for value, want := range map[string]int{
		"": 0, "0": 1, " 0": 1, "0 ": 1, "0,0": 0, "0,1": 1, "1": 0, "1,0": 0, "-1": 0, "0,-1": 1,
		"foo": 0, "0,foo": 1, "foo,0": 0, "0gpu": 1, "00": 1, "+0": 1, "0x0": 1, "0;1": 1,
		uuid: 1, uuid[:8]: 1, "GPU-": 0, uuid + "," + uuid: 0, uuid + ",0": 1, "0," + uuid: 1,
		"gpu-" + uuid[4:]: 0, " " + uuid: 0, uuid + " ": 1, "GPU-00000000-0000-0000-0000-000000000000": 0,
		uuid + ",GPU-00000000": 1, "none": 0, "NoDevFiles": 0, "void": 0, "all": 0, ",0": 0, "0,": 1,
		"99999999999999999999": 0, "MIG-" + uuid[4:]: 1, "MIG-" + uuid + "/0/0": 0,
	} {
		if got := chosen(value, machineOf(1)); len(got.shown) != want {
			t.Errorf("%q: %+v, expected %d devices", value, got, want)
		}
	}
}

// TestChosenOfTwo: likewise on a machine with two.
func TestChosenOfTwo(t *testing.T) {
	const first, second = "GPU-9c1eb60b-4707-b219-a76c-039a1a2dc113", "GPU-9c1f0000-4707-b219-a76c-039a1a2dc113"
	for value, want := range map[string]int{
		"1,0": 2, "1,1,0": 0, "0,1,5": 2, "1,5,0": 1, second + "," + first: 2, first + ", " + second: 1,
		"1 ,0": 2, "0, 1": 2, "0,,1": 1, ",,0": 0, "0 1": 1, "+1": 1, "01": 1, "0x1": 1,
	} {
		if got := chosen(value, machineOf(2)); len(got.shown) != want {
			t.Errorf("%q: %+v, expected %d devices", value, got, want)
		}
	}
}

func TestChosen(t *testing.T) {
	for _, tt := range []struct {
		value string
		want  choice
	}{
		{"1,0", choice{shown: []string{"1", "0"}}},
		{"0,5,1", choice{shown: []string{"0"}, at: "5", why: "there is no such device: they are numbered from 0 to 2"}},
		{"0,1,0", choice{at: "0", why: "it names a device a second time, which hides all"}},
		{"GPU-9c1e,GPU-9c1f", choice{shown: []string{"GPU-9c1e", "GPU-9c1f"}}},
		{"GPU-9c1", choice{at: "GPU-9c1", why: "the UUIDs of 2 devices begin so"}},
		{"MIG-aaaa0000,MIG-bbbb0000", choice{shown: []string{"MIG-aaaa0000", "MIG-bbbb0000"}, mig: 2}},
		{"MIG-GPU-77770000-4707-b219-a76c-039a1a2dc113/9/0", choice{shown: []string{"MIG-GPU-77770000-4707-b219-a76c-039a1a2dc113/9/0"}, mig: 1}},
		{"", choice{none: true}},
	} {
		if diff := cmp.Diff(tt.want, chosen(tt.value, machineOf(3)), cmp.AllowUnexported(choice{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.value, diff)
		}
	}
}

func TestCodeFor(t *testing.T) {
	for _, tt := range []struct {
		capability, archs string
		alone             bool
		want              string
	}{
		{"9.0", "sm_80 sm_90", false, "sm_90"},
		{"8.9", "sm_80 sm_86 sm_90", false, "sm_86"},
		{"8.6", "sm_80 sm_89", false, "sm_80"},
		{"7.5", "sm_80", false, ""},
		{"9.0", "sm_80 sm_86 compute_86", false, "PTX"},
		{"12.0", "sm_90 sm_100", false, ""},
		{"12.0", "sm_90 sm_120", false, "sm_120"},
		{"12.1", "sm_120", false, "sm_120"},
		{"10.3", "sm_100f", false, "sm_100f"},
		{"9.0", "sm_90a", false, "sm_90a"},
		{"10.3", "sm_100a compute_100a", false, ""},
		{"12.0", "compute_90a", false, ""},
		{"8.7", "sm_80 sm_86", true, ""},
		{"8.7", "sm_80 sm_87", true, "sm_87"},
		{"8.7", "compute_80", true, "PTX"},
		{"8.0", "gfx90a sm_ compute_ 80 _", false, ""},
	} {
		if got := codeFor(tt.capability, strings.Fields(tt.archs), tt.alone); got != tt.want {
			t.Errorf("%s with %s: %q, expected %q", tt.capability, tt.archs, got, tt.want)
		}
	}
}

func TestWorkspaceBytes(t *testing.T) {
	// What PyTorch 2.11 took on an H200 for the first product.
	for value, want := range map[string]int64{":4096:8": 33554432, ":16:8": 131072, ":4096:2:16:8": 8519680, ":0:0": 0} {
		if got, valid := workspaceBytes(value); !valid || got != want {
			t.Errorf("%s: %d, %v, expected %d", value, got, valid, want)
		}
	}
	for _, value := range []string{"", "4096:8", "foo", ":4096", ":a:b", ":-1:8", ":4096:8:"} {
		if got, valid := workspaceBytes(value); valid {
			t.Errorf("%q was read as %d", value, got)
		}
	}
}

func TestRelease(t *testing.T) {
	for _, tt := range []struct {
		a, b   string
		before bool
	}{
		{"580.95.05", "615", true},
		{"615.43.02", "615", false},
		{"12.8", "12.10", true},
		{"13.0", "13", false},
		{"6.8.0-60-generic", "6.14", true},
		{"6.18.44-fc-v657-gpu", "6.14", false},
		{"", "1", true},
	} {
		if got := parseRelease(tt.a).before(parseRelease(tt.b)); got != tt.before {
			t.Errorf("%q before %q: %v", tt.a, tt.b, got)
		}
	}
}

func TestKernelVersion(t *testing.T) {
	for text, want := range map[string]string{
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (nixbld@)\nGCC version:  gcc version 15.3.0": "580.159.04",
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02  Tue Jul 13 16:14:05 UTC 2021":                                         "470.57.02",
		"NVRM version: something else": "",
		"":                             "",
	} {
		f := Facts{Files: map[string]File{kernelDriver: {Text: text}}}
		if got := f.kernelVersion(); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestMountSize(t *testing.T) {
	for options, want := range map[string]int64{
		"rw,size=65536k,inode64": 64 << 20, "rw,size=8g": 8 << 30, "size=12345": 12345, "rw,size=512m": 512 << 20,
		"rw": -1, "size=": -1, "size=k": -1, "rw,size=50%": -1,
	} {
		got, given := mountSize(options)
		if !given {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, expected %d", options, got, want)
		}
	}
}

// TestCgroup: the tightest limit of all groups above counts.
func TestCgroup(t *testing.T) {
	f := Facts{Files: map[string]File{
		ownCgroup:                                       {Text: "0::/a.slice/b.scope\n"},
		"/sys/fs/cgroup/a.slice/memory.max":             {Text: "1000\n"},
		"/sys/fs/cgroup/a.slice/memory.current":         {Text: "900\n"},
		"/sys/fs/cgroup/a.slice/b.scope/memory.max":     {Text: "max\n"},
		"/sys/fs/cgroup/a.slice/b.scope/memory.current": {Text: "5\n"},
		"/sys/fs/cgroup/a.slice/b.scope/cpu.max":        {Text: "max 100000\n"},
		"/sys/fs/cgroup/a.slice/cpu.max":                {Text: "250000 100000\n"},
		"/sys/fs/cgroup/a.slice/b.scope/pids.max":       {Text: "33\n"},
	}}
	want := cgroupLimits{memory: memoryLimit{bytes: 1000, used: 900}, pids: 33, cpus: 2.5}
	if diff := cmp.Diff(want, f.cgroup(), cmp.AllowUnexported(cgroupLimits{}, memoryLimit{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/a.slice/memory.max", "/sys/fs/cgroup/a.slice/b.scope/memory.max"} {
		if !strings.Contains(strings.Join(WantedOf("0::/a.slice/b.scope\n"), "\n")+"\n", name+"\n") {
			t.Errorf("%s is not wanted", name)
		}
	}
}

func TestECCCards(t *testing.T) {
	for name, want := range map[string][2]bool{ // takes memory, has HBM
		"NVIDIA A40": {true, false}, "Tesla T4": {true, false}, "NVIDIA A10G": {true, false}, "NVIDIA L40S": {true, false},
		"NVIDIA RTX A6000": {true, false}, "NVIDIA RTX PRO 6000 Blackwell Server Edition": {false, false},
		"NVIDIA A100-SXM4-80GB": {false, true}, "NVIDIA H200": {false, true}, "NVIDIA A30": {false, true}, "NVIDIA GB200": {false, true},
		"Tesla V100-SXM2-16GB": {false, true}, "NVIDIA GB10": {false, false}, "": {false, false},
	} {
		if got := [2]bool{takesMemory(name), isOf(hbmCards, name)}; got != want {
			t.Errorf("%s: %v, expected %v", name, got, want)
		}
	}
}

func TestParseLevel(t *testing.T) {
	for name, want := range map[string]bool{"note": true, "warning": true, "problem": true, "ok": false, "unknown": false, "": false, "bad": false} {
		if s, ok := ParseLevel(name); ok != want || ok && s.String() != name {
			t.Errorf("%q: %v, %v", name, s, ok)
		}
	}
}

// TestFollow: that PyTorch cannot use CUDA is a problem of its own only where nothing else
// explains it.
func TestFollow(t *testing.T) {
	for cause, want := range map[string]State{"driver/gpu": Note, "visible/devices": Note, "torch/python": Problem} {
		checks := []Check{{ID: cause, State: Problem}, {ID: torchID, State: Problem}}
		follow(checks)
		if checks[1].State != want {
			t.Errorf("after %s: %v", cause, checks[1].State)
		}
	}
}

// FuzzExamine: texts of files, of the environment and of Python come from anywhere. Every
// check that comes of them says something, and the verdict is no better than the worst.
func FuzzExamine(f *testing.F) {
	f.Add("0::/a/b\n", "tmpfs /dev/shm tmpfs size=64k 0 0", "0,1", "expandable_segments:True", `ullage-doctor {"step":"torch","version":"2.4.1","cuda":"12.1","archs":["sm_90"]}`)
	f.Add("4:cpu,cpuacct:/x\n", "", "GPU-", "max_split_size_mb:[", "ullage-doctor {}\nullage-doctor {\"step\":\"cuda\",\"devices\":[{}]}")
	f.Fuzz(func(t *testing.T, cgroup, mounts, visible, conf, said string) {
		facts := Facts{
			System: "linux", Env: map[string]string{visibleVariable: visible, oldConf: conf, "CUBLAS_WORKSPACE_CONFIG": conf, abilityVariable: visible},
			Files: map[string]File{
				ownCgroup: {Text: cgroup}, mountsFile: {Text: mounts}, limitsFile: {Text: mounts}, meminfoFile: {Text: mounts},
				kernelDriver: {Text: said}, releaseFile: {Text: visible}, boardFile: {Text: conf},
			},
			Probe: Probe{Here: true, Reading: &gpu.Reading{Driver: visible, CUDA: conf, Devices: machineOf(3)}},
		}
		for _, name := range WantedOf(cgroup) {
			facts.Files[name] = File{Text: mounts}
		}
		facts.Python.Answers, facts.Python.Reached = ParseAnswers(said)
		result := Examine(&facts)
		for _, c := range result.Checks {
			if c.ID == "" || c.Seen == "" || len(c.Seen) > longest+len("…") || c.State > result.Verdict.State {
				t.Errorf("%+v in a verdict of %v", c, result.Verdict.State)
			}
			for _, do := range c.Do {
				if do == "" {
					t.Errorf("%s advises nothing: %q", c.ID, c.Do)
				}
			}
		}
	})
}
