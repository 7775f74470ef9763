package gpu

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	idA = "4f8d2c1b9a7e6f5d4c3b2a19080706050403020100ffeeddccbbaa9988776655"
	idB = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	uid = "3b1f6a52-7c1e-4f0e-9a55-0d1f2e3a4b5c"
)

// underscored is the UID as systemd's slices have it, in which a dash means a level.
var underscored = strings.ReplaceAll(uid, "-", "_")

// placeTests have paths as the runtimes write them; only ids are made up.
var placeTests = []struct {
	name, cgroup string
	want         Place
	shown        string
}{
	{"docker, systemd", "0::/system.slice/docker-" + idA + ".scope\n", Place{Runtime: "docker", ContainerID: idA}, "docker 4f8d2c1b9a7e"},
	{"docker, cgroupfs", "0::/docker/" + idA + "\n", Place{Runtime: "docker", ContainerID: idA}, "docker 4f8d2c1b9a7e"},
	{
		"docker, version 1", "12:pids:/docker/" + idA + "\n11:memory:/docker/" + idA + "\n1:name=systemd:/docker/" + idA + "\n0::/system.slice/containerd.service\n",
		Place{Runtime: "docker", ContainerID: idA},
		"docker 4f8d2c1b9a7e",
	},
	{"docker, rootless", "0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + idA + ".scope\n", Place{Runtime: "docker", ContainerID: idA}, "docker 4f8d2c1b9a7e"},
	{"docker in docker", "0::/docker/" + idA + "/docker/" + idB + "\n", Place{Runtime: "docker", ContainerID: idB}, "docker 001122334455"},
	{"below a container", "0::/system.slice/docker-" + idA + ".scope/init.scope\n", Place{Runtime: "docker", ContainerID: idA}, "docker 4f8d2c1b9a7e"},
	{"nerdctl", "0::/system.slice/nerdctl-" + idA + ".scope\n", Place{Runtime: "containerd", ContainerID: idA}, "containerd 4f8d2c1b9a7e"},
	{"ctr", "0::/default/" + idA + "\n", Place{Runtime: "container", ContainerID: idA}, "container 4f8d2c1b9a7e"},
	{"podman, root", "0::/machine.slice/libpod-" + idA + ".scope/container\n", Place{Runtime: "podman", ContainerID: idA}, "podman 4f8d2c1b9a7e"},
	{"podman, rootless", "0::/user.slice/user-1001.slice/user@1001.service/user.slice/libpod-" + idA + ".scope/container\n", Place{Runtime: "podman", ContainerID: idA}, "podman 4f8d2c1b9a7e"},
	{"podman, cgroupfs", "0::/libpod_parent/libpod-" + idA + "\n", Place{Runtime: "podman", ContainerID: idA}, "podman 4f8d2c1b9a7e"},
	{"podman's monitor", "0::/machine.slice/libpod-conmon-" + idA + ".scope\n", Place{}, ""},
	{
		"kubernetes, containerd, systemd", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + underscored + ".slice/cri-containerd-" + idA + ".scope\n",
		Place{Runtime: "containerd", ContainerID: idA, PodUID: uid},
		"pod 3b1f6a52",
	},
	{"kubernetes, guaranteed", "0::/kubepods.slice/kubepods-pod" + underscored + ".slice/cri-containerd-" + idA + ".scope\n", Place{Runtime: "containerd", ContainerID: idA, PodUID: uid}, "pod 3b1f6a52"},
	{"kubernetes, cgroupfs", "0::/kubepods/besteffort/pod" + uid + "/" + idA + "\n", Place{Runtime: "container", ContainerID: idA, PodUID: uid}, "pod 3b1f6a52"},
	{"kubernetes, version 1", "4:memory:/kubepods/pod" + uid + "/" + idA + "\n", Place{Runtime: "container", ContainerID: idA, PodUID: uid}, "pod 3b1f6a52"},
	{
		"kubernetes, cri-o", "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + underscored + ".slice/crio-" + idA + ".scope/container\n",
		Place{Runtime: "cri-o", ContainerID: idA, PodUID: uid},
		"pod 3b1f6a52",
	},
	{
		"kubernetes, docker", "9:devices:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + underscored + ".slice/docker-" + idA + ".scope\n",
		Place{Runtime: "docker", ContainerID: idA, PodUID: uid},
		"pod 3b1f6a52",
	},
	{
		"containerd that is told a slice, but does not use systemd", "0::/system.slice/containerd.service/kubepods-burstable-pod" + underscored + ".slice:cri-containerd:" + idA + "\n",
		Place{Runtime: "containerd", ContainerID: idA, PodUID: uid},
		"pod 3b1f6a52",
	},
	{
		"kind", "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" + underscored + ".slice/cri-containerd-" + idA + ".scope\n",
		Place{Runtime: "containerd", ContainerID: idA, PodUID: uid},
		"pod 3b1f6a52",
	},
	{
		"a static pod, whose UID is a hash", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1d2f3a4b5c6d7e8f90a1b2c3d4e5f607.slice/cri-containerd-" + idA + ".scope\n",
		Place{Runtime: "containerd", ContainerID: idA, PodUID: "1d2f3a4b5c6d7e8f90a1b2c3d4e5f607"},
		"pod 1d2f3a4b",
	},
	{"slurm, version 2", "0::/system.slice/slurmstepd.scope/job_88172/step_0/user/task_0\n", Place{SlurmJob: "88172", SlurmStep: "0"}, "slurm 88172.0"},
	{"slurm, a batch script", "0::/system.slice/gpu07_slurmstepd.scope/job_88172/step_batch/user/task_special\n", Place{SlurmJob: "88172", SlurmStep: "batch"}, "slurm 88172.batch"},
	{
		"slurm, version 1", "8:cpuset:/slurm/uid_1001/job_88172/step_2/task_0\n7:memory:/slurm/uid_1001/job_88172\n1:name=systemd:/system.slice/slurmd.service\n",
		Place{SlurmJob: "88172", SlurmStep: "2"},
		"slurm 88172.2",
	},
	{"slurm, job first", "8:cpuset:/slurm/uid_1001/job_88172\n7:memory:/slurm/uid_1001/job_88172/step_extern/task_0\n", Place{SlurmJob: "88172", SlurmStep: "extern"}, "slurm 88172.extern"},
	{"lxc", "0::/lxc.payload.web1/system.slice/nginx.service\n", Place{Runtime: "lxc", ContainerID: "web1"}, "lxc web1"},
	{"a service", "0::/system.slice/ollama.service\n", Place{Unit: "ollama.service"}, "ollama.service"},
	{"a login", "0::/user.slice/user-1001.slice/session-12.scope\n", Place{Unit: "session-12.scope"}, "session-12.scope"},
	{"an application", "0::/user.slice/user-1001.slice/user@1001.service/app.slice/app-jupyter.scope\n", Place{Unit: "app-jupyter.scope"}, "app-jupyter.scope"},
	{"within a container of its own groups", "0::/\n", Place{}, ""},
	{"a folder that only sounds like one", "0::/docker/buildx/cache\n", Place{Runtime: ""}, ""},
	{"no line of control groups", "garbage\n\n:::\n", Place{}, ""},
	{"nothing", "", Place{}, ""},
}

func TestPlaceOf(t *testing.T) {
	for _, tt := range placeTests {
		t.Run(tt.name, func(t *testing.T) {
			got := PlaceOf(tt.cgroup)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("PlaceOf (-want +got):\n%s", diff)
			}
			if got.String() != tt.shown {
				t.Errorf("shown as %q, want %q", got, tt.shown)
			}
		})
	}
}

// checkPlace holds what is always true of a place.
func checkPlace(t interface{ Errorf(string, ...any) }, cgroup string) {
	p := PlaceOf(cgroup)
	for _, field := range []string{p.ContainerID, p.PodUID, p.SlurmJob, p.SlurmStep, p.Unit} {
		if !strings.Contains(strings.ReplaceAll(cgroup, "_", "-"), strings.ReplaceAll(field, "_", "-")) {
			t.Errorf("%q is not in %q", field, cgroup)
		}
	}
	if (p.Runtime == "") != (p.ContainerID == "") || p.SlurmStep != "" && p.SlurmJob == "" {
		t.Errorf("%+v of %q", p, cgroup)
	}
}

// TestPlaceOrder: version 1 lists controllers in any order, and that changes nothing.
func TestPlaceOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tt := rapid.SampledFrom(placeTests).Draw(t, "test")
		lines := rapid.Permutation(strings.SplitAfter(strings.TrimSuffix(tt.cgroup, "\n"), "\n")).Draw(t, "lines")
		for i := range lines {
			lines[i] = strings.TrimSuffix(lines[i], "\n")
		}
		if diff := cmp.Diff(tt.want, PlaceOf(strings.Join(lines, "\n"))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", lines, diff)
		}
	})
}

func FuzzPlaceOf(f *testing.F) {
	for _, tt := range placeTests {
		f.Add(tt.cgroup)
	}
	f.Fuzz(func(t *testing.T, cgroup string) { checkPlace(t, cgroup) })
}
