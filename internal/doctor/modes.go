package doctor

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/units"
)

// modes judges the modes that a device is in, and what they cost.
func modes(f *Facts) []Check {
	if len(f.devices()) == 0 {
		return nil
	}
	var checks []Check
	for _, question := range []func(*Facts) []Check{sharedMemory, migMode, persistence, computeMode} {
		checks = append(checks, question(f)...)
	}
	return checks
}

// sharedMemory says of devices that use the processor's memory what that changes.
func sharedMemory(f *Facts) []Check {
	const id = "gpu/shared-memory"
	if some := f.those(unified); len(some) > 0 {
		return []Check{found(id, Note, fmt.Sprintf("%s shares the processor's memory: %s for all programs together", f.gpus(some), memoryText(some[0].Memory)),
			"What any program holds, the page cache apart, is not free for the GPU. The kernel may kill a program for want of memory before CUDA reports any. Copies to the host save nothing.",
			"keep the desktop and other programs off it, and leave some GiB free: --limit of 'ullage run' keeps PyTorch to a part")}
	}
	if some := f.those(func(d *gpu.Device) bool { return f.health(d.UUID).Addressing == "ATS" }); len(some) > 0 {
		return []Check{found(id, Note, f.gpus(some)+" addresses the processor's memory directly (ATS)",
			"What the driver calls free depends on how the system counts pages of the GPU's memory, which it can use as its own.")}
	}
	if some := f.those(func(d *gpu.Device) bool { return d.Kind == gpu.KindVGPU }); len(some) > 0 {
		return []Check{found(id, Note, f.gpus(some)+" is a share that a hypervisor hands out (vGPU)",
			"The other guests' memory does not show; the total is the share's own.")}
	}
	return nil
}

func memoryText(m *gpu.Memory) string {
	if m == nil {
		return "an amount that is not told"
	}
	return units.FormatBytes(m.TotalBytes)
}

// migMode says what MIG leaves a program.
func migMode(f *Facts) []Check { return f.merged(f.migOf) }

func (f *Facts) migOf(d *gpu.Device) []Check {
	const id = "gpu/mig"
	pending := f.health(d.UUID).MIGPending
	switch {
	case pending != "" && (pending == "on") != d.MIG:
		return []Check{found(id, Warning, fmt.Sprintf("MIG is to be %s on {gpu} after the next reset", pending),
			"Until then the mode is the old one.", resetAdvice)}
	case d.MIG && len(d.Instances) == 0:
		return []Check{found(id, Problem, "MIG mode is on, and there are no instances on {gpu}", "No program can use it.",
			"make instances: nvidia-smi mig -i {index} -cgi PROFILE -C ('nvidia-smi mig -lgip' lists profiles)", "or turn the mode off: nvidia-smi -i {index} -mig 0")}
	case d.MIG:
		return []Check{found(id, Note, fmt.Sprintf("MIG splits {gpu} into %s: %s", count(len(d.Instances), "instance"), instancesText(d)),
			"A process uses one instance and its memory alone. There is no NVLink and no CUDA IPC between instances, so that several cannot work on one model, and the driver tells no utilization.",
			f.migAdvice(d)...)}
	}
	return nil
}

// resetAdvice is how pending modes come into force.
const resetAdvice = "end all programs on it, then: nvidia-smi --gpu-reset -i {index}; or reboot"

func instancesText(d *gpu.Device) string {
	var parts []string
	for _, in := range d.Instances {
		name := in.Profile
		if name == "" {
			name = fmt.Sprintf("instance %d", in.GPUInstance)
		}
		parts = append(parts, fmt.Sprintf("%s with %s", name, memoryText(in.Memory)))
	}
	text := strings.Join(parts, ", ")
	if none := outsideInstances(d); none >= units.GiB {
		text += fmt.Sprintf("; %s of %s are in none", units.FormatBytes(none), memoryText(d.Memory))
	}
	return text
}

// outsideInstances is the memory that no instance has: because none was made of it, or because
// the sizes on offer do not add up to the whole. 0 where it is not told.
func outsideInstances(d *gpu.Device) int64 {
	if d.Memory == nil {
		return 0
	}
	rest := d.Memory.TotalBytes
	seen := map[int]bool{} // several instances may share the memory of one GPU instance
	for _, in := range d.Instances {
		switch {
		case in.Memory == nil:
			return 0
		case !seen[in.GPUInstance]:
			rest -= in.Memory.TotalBytes
		}
		seen[in.GPUInstance] = true
	}
	return rest
}

// migAdvice tells how to choose an instance where nothing chooses one yet.
func (f *Facts) migAdvice(d *gpu.Device) []string {
	if uuids := instanceUUIDs(d); len(uuids) > 1 && !f.isSet(visibleVariable) {
		return []string{fmt.Sprintf("choose one for each process, else all get the first: %s=%s", visibleVariable, uuids[0])}
	}
	return nil
}

func persistence(f *Facts) []Check {
	const id = "gpu/persistence"
	if f.isWSL() {
		return nil
	}
	off := f.those(func(d *gpu.Device) bool { return d.Persistence == "off" })
	if len(off) > 0 {
		return []Check{found(id, Note, "persistence mode is off on "+f.gpus(off),
			"Whenever no program uses a device the driver lets go of it: the next start takes a second or more, and limits of power and clocks are forgotten. It costs no memory to have it on.",
			"run the service nvidia-persistenced; until the next boot: nvidia-smi -pm 1 as root")}
	}
	if on := f.those(func(d *gpu.Device) bool { return d.Persistence == "on" }); len(on) > 0 {
		return []Check{ok(id, "persistence mode is on")}
	}
	return nil
}

func computeMode(f *Facts) []Check {
	const id = "gpu/compute-mode"
	checks := f.merged(func(d *gpu.Device) []Check {
		switch d.ComputeMode {
		case "prohibited":
			return []Check{found(id, Problem, "compute mode is Prohibited on {gpu}", "No program can use CUDA on it.", "nvidia-smi -i {index} -c DEFAULT, as root")}
		case "exclusive_process", "exclusive_thread":
			return []Check{f.exclusive(id, d)}
		}
		return nil
	})
	if len(checks) == 0 && len(f.those(func(d *gpu.Device) bool { return d.ComputeMode != "" })) > 0 {
		checks = append(checks, ok(id, "compute mode is Default: several processes may use a device"))
	}
	return checks
}

// exclusive is a device that one process has for itself; under MPS its server is that process.
func (f *Facts) exclusive(id string, d *gpu.Device) Check {
	c := found(id, Note, "compute mode is Exclusive Process on {gpu}: one process at a time",
		"A second one ends with 'all CUDA-capable devices are busy or unavailable', be it a worker of the first.", "where several are wanted: nvidia-smi -i {index} -c DEFAULT, as root")
	for _, p := range f.Probe.Reading.Processes {
		if p.DeviceUUID == d.UUID && !isMPS(p.Name) {
			c.State = Problem
			c.Seen += fmt.Sprintf(", and process %d has it", p.PID)
		}
	}
	return c
}
