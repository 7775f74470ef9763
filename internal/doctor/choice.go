package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// choice is what CUDA makes of a value of CUDA_VISIBLE_DEVICES.
type choice struct {
	shown []string // what is visible, named as in the value, in its order
	at    string   // the entry at which it stops
	why   string   // why; "" where it reads to the end
	none  bool     // meant to hide all
	mig   int      // entries that name MIG instances
}

// chosen reads a value as CUDA does: devices by number or by UUID, of which a beginning that
// fits one is enough. The first entry that fits none ends the list, and a device that is
// named twice leaves nothing. How it takes spaces, signs and what follows a number was tried
// with driver 580.
func chosen(value string, devices []gpu.Device) choice {
	c := choice{}
	if c.none = slices.Contains(hidesAll, strings.TrimSpace(value)); c.none {
		return c
	}
	entries := strings.Split(strings.TrimRight(value, ", "), ",")
	find := deviceByIndex
	if isUUID(entries[0]) {
		find = deviceByUUID
	}
	taken := map[string]bool{}
	for _, entry := range entries {
		uuid, why := find(strings.TrimRight(entry, " "), devices)
		switch {
		case why != "":
			c.at, c.why = entry, why
			return c
		case taken[uuid]:
			return choice{at: entry, why: "it names a device a second time, which hides all"}
		}
		taken[uuid] = true
		c.shown = append(c.shown, entry)
		if isInstance(uuid, devices) {
			c.mig++
		}
	}
	return c
}

// hidesAll are values that people set to have no device.
var hidesAll = []string{"", "-1", "none", "NoDevFiles", "void"}

func isInstance(uuid string, devices []gpu.Device) bool {
	return strings.HasPrefix(uuid, "MIG-GPU-") || slices.ContainsFunc(devices, func(d gpu.Device) bool { return slices.Contains(instanceUUIDs(&d), uuid) })
}

func isUUID(entry string) bool {
	return strings.HasPrefix(entry, "GPU-") || strings.HasPrefix(entry, "MIG-")
}

// deviceByIndex reads the number that an entry begins with, as C's strtol does: behind spaces
// and a sign, and whatever follows it.
func deviceByIndex(entry string, devices []gpu.Device) (uuid, why string) {
	entry = strings.TrimPrefix(strings.TrimLeft(entry, " "), "+")
	digits := entry[:len(entry)-len(strings.TrimLeft(entry, "0123456789"))]
	n, err := strconv.Atoi(digits)
	switch {
	case entry == "":
		return "", "it is empty"
	case err != nil:
		return "", "it is neither a number nor a UUID"
	case n >= len(devices):
		return "", fmt.Sprintf("there is no such device: they are numbered from 0 to %d", len(devices)-1)
	}
	return devices[n].UUID, ""
}

// deviceByUUID finds the one device whose UUID begins so.
func deviceByUUID(entry string, devices []gpu.Device) (uuid, why string) {
	rest, old := strings.CutPrefix(entry, "MIG-GPU-")
	switch {
	case !isUUID(entry):
		return "", "the entries before it are UUIDs, and it is none"
	case old:
		return oldMIG(rest, devices)
	case len(entry) == len("GPU-"):
		return "", "every UUID begins so"
	}
	var fit []string
	for _, d := range devices {
		ids := append(instanceUUIDs(&d), d.UUID)
		if !d.MIG {
			ids = append(ids, strings.Replace(d.UUID, "GPU-", "MIG-", 1)) // the driver takes that too
		}
		for _, id := range ids {
			if strings.HasPrefix(id, entry) {
				fit = append(fit, id)
			}
		}
	}
	switch len(fit) {
	case 0:
		return "", "no device has such a UUID"
	case 1:
		return fit[0], ""
	}
	return "", fmt.Sprintf("the UUIDs of %d devices begin so", len(fit))
}

// oldMIG reads the names that MIG instances had before driver 470: the GPU's UUID, and the
// numbers of the GPU instance and the compute instance.
func oldMIG(rest string, devices []gpu.Device) (uuid, why string) {
	for _, d := range devices {
		for _, in := range d.Instances {
			if fmt.Sprintf("%s/%d/%d", strings.TrimPrefix(d.UUID, "GPU-"), in.GPUInstance, in.ComputeInstance) == rest {
				return "MIG-GPU-" + rest, ""
			}
		}
	}
	return "", "no MIG instance has such a name"
}

func instanceUUIDs(d *gpu.Device) (all []string) {
	for _, in := range d.Instances {
		if in.UUID != "" {
			all = append(all, in.UUID)
		}
	}
	return all
}
