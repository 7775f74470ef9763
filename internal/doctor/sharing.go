package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// sharing tells whether MPS stands between programs and the GPU.
func sharing(f *Facts) []Check {
	const id = "gpu/mps"
	if len(f.devices()) == 0 {
		return nil
	}
	running := f.mps()
	pipe, set := f.Env["CUDA_MPS_PIPE_DIRECTORY"]
	limit := f.env("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT")
	switch {
	case !running && set && f.Probe.Here && f.linux():
		return []Check{found(id, Note, fmt.Sprintf("CUDA_MPS_PIPE_DIRECTORY=%s is set, and no MPS daemon was seen", pipe),
			"Without a daemon behind it programs use the GPU as ever. From within a container the daemon does not show.")}
	case !running && limit != "":
		return []Check{found(id, Warning, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT="+limit+" is set, and no MPS daemon was seen", "It limits clients of MPS alone.", "start nvidia-cuda-mps-control -d first, or take another limit: ullage run --limit")}
	case running:
		means := "Programs of one user share a server: a fault of one ends all of its clients."
		if limit != "" {
			means += " CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=" + limit + " holds for each process, so that several together may take more."
		}
		return []Check{found(id, Note, "MPS runs on this machine", means)}
	}
	return nil
}

func isMPS(name string) bool { return strings.HasPrefix(name, "nvidia-cuda-mps") }

func (f *Facts) mps() bool {
	if slices.ContainsFunc(f.Daemons, isMPS) {
		return true
	}
	for _, p := range f.Probe.Reading.Processes {
		if isMPS(p.Name) {
			return true
		}
	}
	return false
}
