package doctor

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// Files that tell of the driver's part in the kernel.
const (
	kernelDriver = "/proc/driver/nvidia/version"
	modulesFile  = "/proc/modules"
)

// driver tells whether there are GPUs and a driver that answers.
func driver(f *Facts) []Check {
	checks := []Check{f.gpuCheck()}
	if f.Probe.Reading != nil {
		checks = append(checks, f.driverVersion())
		checks = append(checks, f.deviceTroubles()...)
		checks = append(checks, f.untold()...)
	}
	return checks
}

const gpuID = "driver/gpu"

func (f *Facts) gpuCheck() Check {
	if r := f.Probe.Reading; r != nil {
		return ok(gpuID, "%s, read with %s%s", deviceNames(r.Devices), r.Source, f.isInFake())
	}
	said := strings.Join(f.Probe.Tried, "; ")
	switch lower := strings.ToLower(said); {
	case f.Probe.Stuck:
		return found(gpuID, Problem, "the driver does not answer: "+said,
			"Programs that ask it hang, and cannot be killed while they do.",
			"look for Xid errors in dmesg", "reset the GPU with 'nvidia-smi --gpu-reset' where nobody uses it, else reboot")
	case strings.Contains(lower, "version mismatch"):
		return f.mismatch()
	case strings.Contains(lower, "is lost"), strings.Contains(lower, "fallen off the bus"):
		return found(gpuID, Problem, "a GPU has fallen off the bus", "The driver says: "+said+".",
			"look for the Xid error in dmesg (79)", "reboot; if it comes back, see to power, heat and the seat of the card")
	case strings.Contains(lower, "insufficient permissions"):
		return found(gpuID, Problem, "this user may not use the driver: "+said,
			"NVML was found, but the device nodes are closed to this user.",
			"ask for the group that /dev/nvidiactl belongs to (often video), or have the nodes made with mode 0666")
	}
	return f.noDriver(said)
}

// mismatch is a driver that was updated while its old part was loaded.
func (f *Facts) mismatch() Check {
	seen := "the driver's libraries and its part in the kernel are of different versions"
	if v := f.kernelVersion(); v != "" {
		seen += ": the kernel has " + v + " loaded"
	}
	do := []string{"reboot, or unload and load the modules: nvidia_uvm, nvidia_drm, nvidia_modeset, nvidia"}
	if f.container() != "" {
		do = append(do, "restart the container: it keeps the libraries that the host had when it started")
	}
	return found(gpuID, Problem, seen,
		"The driver was updated since the machine was booted. Programs that run go on; none that starts can use the GPU.", do...)
}

// noDriver says which part is missing, as far as what is there tells.
func (f *Facts) noDriver(said string) Check {
	switch {
	case !f.Probe.Here:
		return unknown(gpuID, "no GPU was read: %s", said)
	case f.System == "darwin":
		return found(gpuID, Note, "macOS has no CUDA", "PyTorch uses Apple's GPU (device mps) here, whose memory is not what Ullage looks at.")
	case f.driverLoaded():
		return f.loadedButSilent(said)
	case f.module("nouveau"):
		return found(gpuID, Problem, "the GPU is driven by nouveau, which has no CUDA",
			"NVIDIA's driver cannot load while nouveau holds the device.",
			"install NVIDIA's driver, have nouveau left out (blacklist nouveau; options nouveau modeset=0), and reboot")
	case len(f.Bus) > 0:
		return found(gpuID, Problem, fmt.Sprintf("%s of NVIDIA on the PCI bus, and no driver is loaded", isAre(len(f.Bus), "GPU")),
			"Nothing can use it before a driver is.",
			"install NVIDIA's driver; where it is installed, see 'dmesg' for why the module does not load: after an update of the kernel it has to be built anew, and under Secure Boot signed")
	case f.container() != "":
		return found(gpuID, f.expected(), "no GPU is in this container",
			"A container has those GPUs only that it was started with.",
			"start it with them: docker run --gpus all, podman run --device nvidia.com/gpu=all, or in Kubernetes limits of nvidia.com/gpu",
			"where it was: the host needs the NVIDIA Container Toolkit")
	}
	return found(gpuID, f.expected(), "no NVIDIA GPU was found", "Programs run on the processor alone.",
		"if there should be one: look for it with 'lspci | grep -i nvidia', and install NVIDIA's driver")
}

// loadedButSilent is a driver in the kernel that cannot be asked from here.
func (f *Facts) loadedButSilent(said string) Check {
	seen := "the driver is loaded, but neither NVML nor nvidia-smi answers"
	reasons := "They say: " + said + "."
	if f.lacksAbility("utility") {
		seen += ": " + abilityVariable + "=" + f.env(abilityVariable) + " leaves out utility"
	}
	if f.canCUDA() {
		return found(gpuID, Warning, seen,
			"Programs can use CUDA all the same; nothing can tell what fills the GPU's memory. In a container that is so where the driver's capability 'utility' was left out. "+reasons,
			"start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility")
	}
	state := Warning
	if f.Python.CUDA != nil {
		state = Problem // it has been tried
	}
	return found(gpuID, state, seen, "The libraries of the driver are missing, or do not get at the device. "+reasons,
		"in a container: start it with its GPUs, and NVIDIA_DRIVER_CAPABILITIES=compute,utility",
		"on a machine: install the driver's libraries, of the same version as the kernel's part")
}

// expected is how bad it is that there is no GPU: a problem where something is there that
// needs one.
func (f *Facts) expected() State {
	if f.Python.cuda() != "" || f.isSet("NVIDIA_VISIBLE_DEVICES") {
		return Problem
	}
	return Note
}

// canCUDA tells whether PyTorch has been seen to use CUDA.
func (f *Facts) canCUDA() bool {
	return f.Python.CUDA != nil && f.Python.CUDA.Error == "" && len(f.Python.CUDA.Devices) > 0
}

func (f *Facts) driverLoaded() bool { return f.has(kernelDriver) || f.module("nvidia") }

// module tells whether a module is loaded into the kernel.
func (f *Facts) module(name string) bool {
	for line := range strings.Lines(f.Files[modulesFile].Text) {
		if first, _, _ := strings.Cut(line, " "); first == name {
			return true
		}
	}
	return false
}

// kernelVersion is that of the driver's part in the kernel, which writes it between two
// spaces after its name; see /proc/driver/nvidia/version.
func (f *Facts) kernelVersion() string {
	first, _, _ := strings.Cut(f.text(kernelDriver), "\n")
	for _, word := range strings.Fields(first) {
		if r := parseRelease(word); len(r) >= 2 && r.major() > 100 {
			return word
		}
	}
	return ""
}

func (f *Facts) driverVersion() Check {
	const id = "driver/version"
	r := f.Probe.Reading
	kernel := f.kernelVersion()
	switch {
	case r.Driver == "":
		return unknown(id, "the driver does not tell its version")
	case f.Probe.Here && kernel != "" && kernel != r.Driver && !f.isJetson():
		return found(id, Warning, fmt.Sprintf("the driver's libraries are of %s, its part in the kernel of %s", r.Driver, kernel),
			"The two belong together; one of them has been updated since the other was loaded.", "reboot")
	}
	return ok(id, "%s", driverText(r))
}

// deviceTroubles are what devices say of themselves, and what the reading lacks.
func (f *Facts) deviceTroubles() []Check {
	return f.merged(func(d *gpu.Device) []Check {
		if d.Problem == "" {
			return nil
		}
		return []Check{found("driver/device", Warning, "not all could be read of {gpu}: "+d.Problem,
			"A device that does not answer may have fallen off the bus.", "look for Xid errors in dmesg")}
	})
}

// untold says what the reading cannot tell, and why.
func (f *Facts) untold() (checks []Check) {
	const id = "driver/reading"
	for _, note := range f.Probe.Reading.Notes {
		if !strings.HasPrefix(note, "read with ") { // by which probe is said above
			checks = append(checks, unknown(id, "%s", note))
		}
	}
	ordinary := func(d *gpu.Device) bool { return d.Kind == gpu.KindGPU }
	if f.Ill != "" && len(f.those(ordinary)) > 0 {
		checks = append(checks, unknown(id, "modes that are pending, replaced rows of memory and the compute capability are not known: %s", f.Ill))
	}
	return checks
}

func isAre(n int, noun string) string {
	if n == 1 {
		return "there is 1 " + noun
	}
	return "there are " + count(n, noun)
}

// nodes tells whether this user gets at the device nodes.
func nodes(f *Facts) []Check {
	const id = "driver/nodes"
	if !f.linux() || f.isWSL() || f.isJetson() || !f.Probe.Here {
		return nil // these have others
	}
	if len(f.Nodes) == 0 {
		if f.driverLoaded() {
			return []Check{found(id, Problem, "the driver is loaded, and /dev has no nodes of it", "Programs reach the GPU through them.",
				"in a container: start it with its GPUs", "on a machine: run nvidia-modprobe, or nvidia-smi as root, which make them")}
		}
		return nil
	}
	var checks []Check
	var closed []string
	for _, n := range f.Nodes {
		switch {
		case n.Denied != "" && f.container() != "":
			checks = append(checks, found(id, Problem, fmt.Sprintf("%s cannot be opened: %s", n.Path, n.Denied),
				"The container has lost its right to the device. That happens to containers with systemd's control groups when the host reloads its units ('systemctl daemon-reload').",
				"restart the container", "on the host: have the toolkit make the devices known to systemd ('nvidia-ctk system create-dev-char-symlinks --create-all'), or name the devices with --device"))
		case n.Denied != "":
			checks = append(checks, found(id, Problem, fmt.Sprintf("%s (%s) cannot be opened: %s", n.Path, n.Mode, n.Denied),
				"Programs of this user cannot use the GPU.", "ask for the group that owns it ('ls -l /dev/nvidia*'), often video"))
		case !n.All:
			closed = append(closed, fmt.Sprintf("%s (%s)", n.Path, n.Mode))
		}
	}
	if len(closed) > 0 {
		checks = append(checks, found(id, Note, "not open to everybody: "+strings.Join(closed, ", "),
			"Only their owner and their group can use these devices."))
	}
	if len(checks) == 0 {
		checks = append(checks, ok(id, "%s that everybody may use", count(len(f.Nodes), "device node")))
	}
	return checks
}
