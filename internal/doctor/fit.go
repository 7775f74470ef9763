package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// fit tells whether the driver, the CUDA that PyTorch was built for and what the GPUs can
// run go together.
func fit(f *Facts) []Check {
	if f.Python.cuda() == "" {
		return nil // python says so
	}
	checks := f.driverFit()
	checks = append(checks, f.archFit()...)
	if f.Probe.Here {
		checks = append(checks, f.torchCUDA()...)
	}
	return checks
}

// driverFit compares the releases of CUDA that the driver knows and that PyTorch was built
// for. Within one major release a driver runs programs of all its minor ones ("minor version
// compatibility", since CUDA 11), but compiles no PTX of a newer one.
func (f *Facts) driverFit() []Check {
	const id = "fit/driver-cuda"
	built := f.Python.cuda()
	r := f.Probe.Reading
	if r == nil || r.CUDA == "" {
		if f.Probe.Reading == nil && !f.canCUDA() {
			return nil // there is no driver that answers, which has been said
		}
		if f.canCUDA() {
			return nil // PyTorch says so
		}
		return []Check{unknown(id, "which CUDA the driver knows is not told, so whether it runs PyTorch's CUDA %s stays open", built)}
	}
	knows, needs := parseRelease(r.CUDA), parseRelease(built)
	said := fmt.Sprintf("the driver knows CUDA %s, PyTorch was built for %s", r.CUDA, built)
	switch {
	case !knows.before(needs):
		return []Check{ok(id, "%s", said)}
	case f.Probe.Here && f.canCUDA():
		return []Check{found(id, Note, said+", and PyTorch works", compatibleText(knows, needs))}
	case knows.major() == needs.major():
		return []Check{found(id, Note, said,
			"Within one major release of CUDA that works (minor version compatibility). What does not is code that is compiled for the GPU at run time by a newer compiler than the driver's: PTX, as in extensions that were not built for this GPU.",
			"update the driver if programs end with 'the provided PTX was compiled with an unsupported toolchain'")}
	}
	return []Check{found(id, Problem, "the driver is too old for this PyTorch: it knows CUDA "+r.CUDA+", and PyTorch was built for "+built,
		"CUDA does not start: 'the NVIDIA driver on your system is too old'.",
		fmt.Sprintf("update the driver to one that knows CUDA %d", needs.major()),
		fmt.Sprintf("or install a PyTorch that is built for CUDA %d", knows.major()),
		"or, on data centre GPUs alone, install the package cuda-compat and put its folder first in LD_LIBRARY_PATH (forward compatibility)")}
}

func compatibleText(knows, needs release) string {
	if knows.major() == needs.major() {
		return "Within one major release of CUDA that is meant to work (minor version compatibility); PTX of the newer release cannot be compiled by the driver."
	}
	return "That takes the package for forward compatibility (cuda-compat), whose libraries stand before the driver's own."
}

// archFit compares what the GPUs can run with what PyTorch's kernels were compiled for.
func (f *Facts) archFit() []Check {
	const id = "fit/gpu-code"
	if f.Python.Torch == nil || f.Python.Torch.Error != "" || len(f.Python.Torch.Archs) == 0 {
		return []Check{unknown(id, "what PyTorch's kernels were compiled for is told only once it is imported")}
	}
	archs := f.Python.Torch.Archs
	capabilities := f.capabilities()
	switch {
	case len(capabilities) == 0 && len(f.devices()) == 0:
		return nil // there is nothing to fit to
	case len(capabilities) == 0:
		return []Check{unknown(id, "the GPUs do not tell their compute capability; PyTorch has code for %s", strings.Join(archs, ", "))}
	}
	var checks []Check
	for _, c := range slices.Sorted(keys(capabilities)) {
		checks = append(checks, f.archCheck(id, capabilities[c], c, archs))
	}
	return checks
}

// capabilities are those of the GPUs, with their names.
func (f *Facts) capabilities() map[string]string {
	known := map[string]string{}
	for _, d := range f.devices() {
		if h := f.health(d.UUID); h.Capability != "" {
			known[h.Capability] = d.Name
		}
	}
	if f.Probe.Here && f.canCUDA() {
		for _, d := range f.Python.CUDA.Devices {
			known[d.Capability] = d.Name
		}
	}
	return known
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (f *Facts) archCheck(id, name, capability string, archs []string) Check {
	has := strings.Join(archs, ", ")
	how := codeFor(capability, archs, slices.Contains(onBoards, capability))
	switch {
	case how == asPTX && f.cudaIsOlder():
		return found(id, Problem, fmt.Sprintf("PyTorch has no code for %s (capability %s), and PTX that is newer than the driver: %s", name, capability, has),
			"The driver compiles no PTX of a newer CUDA than its own: the first kernel ends with 'the provided PTX was compiled with an unsupported toolchain'.",
			"update the driver", "or install a PyTorch that was built for this GPU")
	case how == asPTX:
		return found(id, Warning, fmt.Sprintf("PyTorch has no code for %s (capability %s), only PTX that the driver compiles: %s", name, capability, has),
			"The first run takes minutes more, and kernels that were written for newer GPUs are missing.",
			"install a PyTorch that was built for this GPU: a newer one for a new GPU, an older one for an old GPU")
	case how == noCode:
		if slices.Contains(onBoards, capability) && codeFor(capability, archs, false) != noCode {
			return found(id, Warning, fmt.Sprintf("PyTorch was built for %s, and not for %s (capability %s)", has, name, capability),
				"NVIDIA promises nothing for code of other GPUs on one that is on the processor's chip, be it of the same generation.",
				"install the build of PyTorch that NVIDIA has for this board")
		}
		return found(id, Problem, fmt.Sprintf("PyTorch has no code for %s (capability %s): it was built for %s", name, capability, has),
			"The first kernel ends with 'no kernel image is available for execution on the device'.",
			"install a PyTorch that was built for this GPU: a newer one for a new GPU, an older one for an old GPU")
	}
	return ok(id, "PyTorch has code for %s (capability %s): %s", name, capability, how)
}

// cudaIsOlder tells whether the driver's CUDA is known to be older than PyTorch's.
func (f *Facts) cudaIsOlder() bool {
	r := f.Probe.Reading
	return r != nil && r.CUDA != "" && parseRelease(r.CUDA).before(parseRelease(f.Python.cuda()))
}

// What codeFor returns where there is no machine code.
const (
	noCode = ""
	asPTX  = "PTX"
)

// onBoards are the capabilities of GPUs on the processor's chip, for which code of other GPUs
// of the same generation does not count.
var onBoards = []string{"5.3", "6.2", "7.2", "8.7"}

// codeFor returns the best of PyTorch's architectures for a GPU. Machine code (sm_) runs on
// its own generation, at a capability as high or higher; with an "a" behind it on that alone.
// PTX (compute_) is compiled by the driver for whatever is not older. With alone, machine code
// of the very capability counts and no other.
func codeFor(capability string, archs []string, alone bool) string {
	have := parseRelease(capability)
	best, from := noCode, release{}
	ptx := noCode
	for _, arch := range archs {
		kind, number, _ := strings.Cut(arch, "_")
		digits := strings.TrimRight(number, "af")
		if len(digits) < 2 {
			continue
		}
		built := parseRelease(digits[:len(digits)-1] + "." + digits[len(digits)-1:])
		same := !have.before(built) && !built.before(have)
		exact := alone || strings.HasSuffix(number, "a")
		switch {
		case kind == "compute" && (same || !strings.HasSuffix(number, "a")) && !have.before(built):
			ptx = asPTX
		case kind != "sm", have.before(built), built.major() != have.major(), exact && !same:
		case !built.before(from):
			best, from = arch, built
		}
	}
	if best != noCode {
		return best
	}
	return ptx
}

const torchID = "torch/cuda"

// torchCUDA is what PyTorch itself found when it began to use CUDA, which counts more than
// what can be computed from versions.
func (f *Facts) torchCUDA() []Check {
	const id = torchID
	c := f.Python.CUDA
	switch {
	case c == nil && f.Python.Torch != nil && f.Python.Torch.Error == "" && f.Python.Err != "":
		return []Check{found(id, Problem, fmt.Sprintf("PyTorch does not get CUDA started: %s", f.Python.Err),
			"It was stopped on the way, or ended without a word.", "run it yourself: python -c 'import torch; torch.cuda.init()'")}
	case c == nil:
		return nil
	case c.Error != "":
		return []Check{f.cudaFailed(id, c.Error)}
	case len(c.Devices) == 0:
		return []Check{found(id, Problem, "PyTorch sees no GPU", "CUDA starts, and offers no device.", "see visible/devices")}
	}
	var names []gpu.Device
	for _, d := range c.Devices {
		names = append(names, gpu.Device{Name: d.Name})
	}
	return []Check{ok(id, "PyTorch starts CUDA and sees %s", deviceNames(names))}
}

func (f *Facts) cudaFailed(id, said string) Check {
	state := Problem
	if f.Probe.Reading == nil && f.expectedNoGPU() {
		state = Note
	}
	c := found(id, state, "PyTorch cannot use CUDA: "+said, "")
	switch lower := strings.ToLower(said); {
	case strings.Contains(lower, "allocator") || strings.Contains(lower, "unrecognized") || strings.Contains(lower, "alloc_conf"):
		c.Means, c.Do = "It refuses the settings of its allocator.", []string{"see settings/options"}
	case strings.Contains(lower, "no cuda gpus are available"), strings.Contains(lower, "no cuda-capable device"):
		c.Means, c.Do = "The driver offers this process no device.", []string{"see visible/devices, and the devices that the container was given"}
	case strings.Contains(lower, "out of memory"):
		c.Means, c.Do = "There is no room for as much as a context, or address space is limited.", []string{"see memory/leftover and host/address-space"}
	case strings.Contains(lower, "stub"):
		c.Means, c.Do = "A library for linking was found in place of the driver's.", []string{"take folders named stubs out of LD_LIBRARY_PATH"}
	case strings.Contains(lower, "unknown error"), strings.Contains(lower, "999"):
		c.Means, c.Do = "The kernel's part for CUDA (nvidia-uvm) is missing or in disorder, as after the machine has slept.", []string{"load it anew: rmmod nvidia_uvm; modprobe nvidia_uvm", "reboot"}
	case strings.Contains(lower, "system not yet initialized"), strings.Contains(lower, "802"):
		c.Means, c.Do = "GPUs that are joined by NVSwitch need the fabric manager.", []string{"start nvidia-fabricmanager, of the driver's version"}
	}
	return c
}

// expectedNoGPU: where no GPU is there and none was to be expected, that CUDA fails is no news.
func (f *Facts) expectedNoGPU() bool { return f.gpuCheck().State <= Note }
