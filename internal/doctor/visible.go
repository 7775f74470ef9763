package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// Variables that choose devices.
const (
	visibleVariable = "CUDA_VISIBLE_DEVICES"
	orderVariable   = "CUDA_DEVICE_ORDER"
	grantedVariable = "NVIDIA_VISIBLE_DEVICES"
	abilityVariable = "NVIDIA_DRIVER_CAPABILITIES"
)

// visible tells which devices a program gets.
func visible(f *Facts) []Check {
	checks := f.visibleDevices()
	if c, ok := f.deviceOrder(); ok {
		checks = append(checks, c)
	}
	return append(checks, f.granted()...)
}

const visibleID = "visible/devices"

func (f *Facts) visibleDevices() []Check {
	value, set := f.Env[visibleVariable]
	devices := f.devices()
	switch {
	case !set:
		if len(devices) == 0 {
			return nil
		}
		return []Check{ok(visibleID, "%s is not set: programs see all devices", visibleVariable)}
	case len(devices) == 0:
		return []Check{unknown(visibleID, "%s=%s, and there are no devices to compare it with", visibleVariable, value)}
	}
	c := chosen(value, devices)
	said := fmt.Sprintf("%s=%s", visibleVariable, value)
	switch {
	case c.none && value == "":
		return []Check{found(visibleID, Problem, said+" hides all devices", "Set to nothing is not the same as not set: programs find no GPU.", "unset "+visibleVariable)}
	case c.none:
		return []Check{found(visibleID, Problem, said+" hides all devices", "That may be meant: programs find no GPU.", "unset "+visibleVariable)}
	case c.why != "" && len(c.shown) == 0:
		return []Check{found(visibleID, Problem, said+" hides all devices", fmt.Sprintf("CUDA stops at %q: %s.", c.at, c.why), f.visibleAdvice())}
	case c.why != "":
		return []Check{found(visibleID, Problem, fmt.Sprintf("%s shows %s only", said, strings.Join(c.shown, ",")),
			fmt.Sprintf("CUDA stops at %q: %s. What stands behind it is hidden too.", c.at, c.why), f.visibleAdvice())}
	case c.mig > 1:
		return []Check{found(visibleID, Warning, fmt.Sprintf("%s names %d MIG instances", said, c.mig),
			"A process can use one of them; it gets the first.", "start a process for each instance, each with its own "+visibleVariable)}
	}
	return append([]Check{ok(visibleID, "%s shows %s, as cuda:0 and up", said, count(len(c.shown), "device"))}, f.visibleSurprise(len(c.shown))...)
}

// visibleSurprise tells where PyTorch sees another number of devices than the value should give.
func (f *Facts) visibleSurprise(n int) []Check {
	if !f.Probe.Here || !f.canCUDA() || len(f.Python.CUDA.Devices) == n {
		return nil
	}
	return []Check{found(visibleID, Warning, fmt.Sprintf("PyTorch sees %s, where %s should show %d", count(len(f.Python.CUDA.Devices), "device"), visibleVariable, n),
		"What PyTorch sees counts.")}
}

func (f *Facts) visibleAdvice() string {
	var names []string
	for _, d := range f.devices() {
		if d.MIG {
			names = append(names, instanceUUIDs(&d)...)
		} else {
			names = append(names, fmt.Sprint(d.Index))
		}
	}
	if len(names) == 0 {
		return "unset " + visibleVariable
	}
	return "name devices that there are: " + strings.Join(names, ", ")
}

// deviceOrder tells where the numbers of CUDA may not be those of nvidia-smi. CUDA puts the
// fastest first unless told otherwise, which changes nothing where all are alike.
func (f *Facts) deviceOrder() (Check, bool) {
	const id = "visible/order"
	order, set := f.Env[orderVariable]
	devices := f.devices()
	switch {
	case set && order != "PCI_BUS_ID" && order != "FASTEST_FIRST":
		return found(id, Warning, fmt.Sprintf("%s=%s is neither PCI_BUS_ID nor FASTEST_FIRST", orderVariable, order), "CUDA orders devices as if it were not set: the fastest first.",
			"export "+orderVariable+"=PCI_BUS_ID"), true
	case len(devices) < 2 || alike(devices):
		return Check{}, false
	case order == "PCI_BUS_ID":
		return ok(id, "%s=PCI_BUS_ID: CUDA numbers devices as nvidia-smi does", orderVariable), true
	}
	if same, told := f.sameOrder(); told && same {
		return ok(id, "CUDA numbers the devices as nvidia-smi does here, though of different models"), true
	} else if told {
		return found(id, Warning, "CUDA numbers the devices otherwise than nvidia-smi does",
			"It puts the fastest first, nvidia-smi goes by PCI address. "+visibleVariable+"=0 and cuda:0 are CUDA's.", "export "+orderVariable+"=PCI_BUS_ID"), true
	}
	return found(id, Warning, "the devices are of different models, and CUDA may number them otherwise than nvidia-smi does",
		"It puts the fastest first, nvidia-smi goes by PCI address. "+visibleVariable+"=0 and cuda:0 are CUDA's.", "export "+orderVariable+"=PCI_BUS_ID"), true
}

func alike(devices []gpu.Device) bool {
	return !slices.ContainsFunc(devices, func(d gpu.Device) bool { return d.Name != devices[0].Name })
}

// sameOrder compares the order in which PyTorch sees all devices with the driver's, where
// both tell UUIDs and none is hidden.
func (f *Facts) sameOrder() (same, told bool) {
	if !f.Probe.Here || !f.canCUDA() || len(f.Python.CUDA.Devices) != len(f.devices()) {
		return false, false
	}
	for i, d := range f.Python.CUDA.Devices {
		if d.UUID == "" {
			return false, false
		}
		if "GPU-"+strings.TrimPrefix(d.UUID, "GPU-") != f.devices()[i].UUID {
			return false, true
		}
	}
	return true, true
}

// granted judges what a container was given.
func (f *Facts) granted() (checks []Check) {
	if f.container() == "" || !f.Probe.Here {
		return nil
	}
	const id = "visible/container"
	switch value, set := f.Env[grantedVariable]; {
	case !set:
	case value == "void" || value == "":
		checks = append(checks, found(id, f.expected(), grantedVariable+"="+value+" gives this container no GPU", "The toolkit then starts it as one without.",
			"start it with "+grantedVariable+"=all, or with the devices that it should have"))
	case value == "none":
		checks = append(checks, found(id, f.expected(), grantedVariable+"=none gives this container the driver's libraries, and no device", "",
			"start it with "+grantedVariable+"=all, or with the devices that it should have"))
	default:
		checks = append(checks, ok(id, "%s=%s: what this container was started with; it hides nothing from programs within", grantedVariable, value))
	}
	if c, ok := f.abilities(); ok {
		checks = append(checks, c)
	}
	return checks
}

// lacksAbility tells whether a container was given the driver's libraries without those of one kind.
func (f *Facts) lacksAbility(name string) bool {
	value := f.env(abilityVariable)
	return value != "" && !slices.ContainsFunc(strings.Split(value, ","), func(v string) bool {
		v = strings.TrimSpace(v)
		return v == name || v == "all"
	})
}

// abilities judges which of the driver's libraries a container was given.
func (f *Facts) abilities() (Check, bool) {
	value := f.env(abilityVariable)
	const id = "visible/capabilities"
	switch {
	case f.lacksAbility("compute"):
		return found(id, Problem, abilityVariable+"="+value+" leaves out compute", "The container has no libcuda.", "start it with "+abilityVariable+"=compute,utility"), true
	case f.lacksAbility("utility") && f.Probe.Reading != nil: // else driver/gpu says so
		return found(id, Warning, abilityVariable+"="+value+" leaves out utility", "The container has neither NVML nor nvidia-smi: CUDA works, and nothing can tell what fills the GPU's memory.",
			"start it with "+abilityVariable+"=compute,utility"), true
	}
	return Check{}, false
}
