package doctor

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// Files that tell what kind of machine this is.
const (
	dockerMark  = "/.dockerenv"
	podmanMark  = "/run/.containerenv"
	kernelFile  = "/proc/version"
	releaseFile = "/proc/sys/kernel/osrelease"
	boardFile   = "/proc/device-tree/model"
	ownCgroup   = "/proc/self/cgroup"
)

// machine says what kind of machine this is, since much of the rest depends on it.
func machine(f *Facts) []Check {
	const id = "machine/kind"
	if !f.linux() {
		return []Check{
			unknown(id, "%s: device nodes, control groups, shared memory and processes are read from /proc and /sys, which it does not have", systemName(f.System)),
		}
	}
	kernel := ""
	if release := f.text(releaseFile); release != "" {
		kernel = ", kernel " + release
	}
	switch board := strings.Trim(f.text(boardFile), "\x00"); {
	case f.isWSL():
		return []Check{found(id, Note, "this is Linux within Windows (WSL)"+kernel,
			"The driver is that of Windows. It does not tell what each process holds, and pinned memory is limited; what Windows shows on its screens comes out of the same GPU.",
			"install no driver within WSL: update the one of Windows")}
	case strings.Contains(board, "Jetson") || strings.Contains(board, "NVIDIA"):
		return []Check{ok(id, "this is a board: %s%s", board, kernel)}
	}
	if in := f.container(); in != "" {
		return []Check{ok(id, "this looks like a container (%s)%s", in, kernel)}
	}
	if kernel == "" {
		return []Check{unknown(id, "/proc/sys/kernel/osrelease cannot be read, so what kind of machine this is stays open")}
	}
	return []Check{ok(id, "Linux%s", kernel)}
}

func systemName(goos string) string {
	if name := map[string]string{"darwin": "macOS", "windows": "Windows"}[goos]; name != "" {
		return name
	}
	return goos
}

func (f *Facts) isWSL() bool {
	return strings.Contains(strings.ToLower(f.text(kernelFile)), "microsoft") || f.has("/dev/dxg")
}

// isJetson tells whether this is a board with a GPU on the processor's chip.
func (f *Facts) isJetson() bool { return strings.Contains(f.text(boardFile), "Jetson") }

// container names the container that the program is in; empty where it is in none, or in
// one that leaves no trace.
func (f *Facts) container() string {
	switch {
	case f.isSet("KUBERNETES_SERVICE_HOST"):
		return "of Kubernetes"
	case f.has(dockerMark):
		return "Docker"
	case f.has(podmanMark):
		return "Podman"
	case f.isSet("APPTAINER_CONTAINER"), f.isSet("SINGULARITY_CONTAINER"):
		return "Apptainer"
	case f.env("container") != "":
		return f.env("container")
	}
	if place := gpu.PlaceOf(f.Files[ownCgroup].Text); place.Runtime != "" {
		return place.Runtime
	}
	return ""
}

// unified tells whether a device shares the processor's memory.
func unified(d *gpu.Device) bool { return d.Kind == gpu.KindUnified }

// isInFake says whose machine a check is of, where the GPUs are not this one's.
func (f *Facts) isInFake() string {
	if f.Probe.Here {
		return ""
	}
	return fmt.Sprintf(" (as %s has it)", f.Probe.Spec)
}
