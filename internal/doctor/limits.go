package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// preloadFile names libraries that are loaded into every program.
const preloadFile = "/etc/ld.so.preload"

// limits tells by what means a program's GPU memory can be limited here, and whether the
// agent answers.
func limits(f *Facts) []Check {
	var checks []Check
	if f.linux() && f.Probe.Here && f.Probe.Reading != nil {
		checks = append(checks, f.kernelLimits())
	}
	if c, ok := f.hook(); ok {
		checks = append(checks, c)
	}
	return append(checks, f.agent())
}

// What it takes for the driver to keep a control group to a share of a GPU's memory.
var (
	dmemKernel = release{6, 14}
	dmemDriver = release{615}
)

func (f *Facts) kernelLimits() Check {
	const id = "limits/kernel"
	kernel, loaded := parseRelease(f.text(releaseFile)), parseRelease(f.Probe.Reading.Driver)
	controllers := f.text(path.Join(cgroupRoot, "cgroup.controllers"))
	var lacks []string
	if loaded.known() && loaded.before(dmemDriver) {
		lacks = append(lacks, fmt.Sprintf("the driver is %s, 615 or newer is needed", f.Probe.Reading.Driver))
	}
	if kernel.known() && kernel.before(dmemKernel) {
		lacks = append(lacks, fmt.Sprintf("the kernel is %s, 6.14 or newer is needed", f.text(releaseFile)))
	}
	switch {
	case controllers == "":
		lacks = append(lacks, "control groups of version 2 are not mounted at "+cgroupRoot)
	case !slices.Contains(strings.Fields(controllers), "dmem"):
		lacks = append(lacks, "the controller dmem is not among those on offer")
	}
	if len(lacks) == 0 {
		return ok(id, "driver and kernel can keep control groups to a share of the GPU's memory (dmem)")
	}
	return ok(id, "GPU memory is limited by MIG, MPS or PyTorch itself here, not by the kernel: %s", strings.Join(lacks, "; "))
}

// hookVariable sets the limit of HAMi's library, for all devices or with a number behind it
// for one of the first maxHooked.
const (
	hookVariable = "CUDA_DEVICE_MEMORY_LIMIT"
	maxHooked    = 16
)

// hook tells of a library that stands between programs and the driver, as HAMi's does.
func (f *Facts) hook() (Check, bool) {
	preloaded := f.env("LD_PRELOAD") + " " + f.text(preloadFile)
	limit := ""
	for name, value := range f.Env {
		if strings.HasPrefix(name, hookVariable) && value != "" && (limit == "" || value < limit) {
			limit = value
		}
	}
	if !strings.Contains(preloaded, "libvgpu") && limit == "" {
		return Check{}, false
	}
	seen := "a library limits the GPU memory of programs here (HAMi)"
	if limit != "" {
		seen += ": " + hookVariable + " is " + limit
	}
	return found("limits/hook", Note, seen, "CUDA reports the share as the device's total. The driver's own figures are of the whole device."), true
}

func (f *Facts) agent() Check {
	const id = "run/agent"
	a := &f.Agent
	switch {
	case a.Version != "" && a.Problem != "":
		return found(id, Warning, fmt.Sprintf("the agent answers at %s, and is not ready: %s", a.Socket, a.Problem), "It grants no leases until it is.")
	case a.Version != "":
		return ok(id, "the agent answers at %s: version %s", a.Socket, a.Version)
	case a.There:
		return found(id, Warning, a.Err, "Leases cannot be asked for, and 'ullage top' shows the driver's figures alone.",
			firstOf(a.Hint, "see whether it runs: systemctl status ullage-agent"))
	}
	return ok(id, "no agent runs here, and none is needed but for leases (ullage agent)")
}
