package tui

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/units"
)

// unknown stands for what nobody tells.
const unknown = "unknown"

// torchNote says what no driver tells.
const torchNote = "what PyTorch has allocated and reserved within a process is not known to the driver"

func bytesText(n *int64) string {
	if n == nil {
		return unknown
	}
	return units.FormatBytes(*n)
}

func owner(p gpu.Process) string {
	switch {
	case p.User != "":
		return p.User
	case p.UID != nil:
		return strconv.Itoa(*p.UID)
	}
	return unknown
}

func commandText(p gpu.Process) string {
	switch {
	case p.Command != "":
		return p.Command
	case p.Name != "":
		return p.Name
	}
	return unknown
}

// gpuText is the index of a device, with the profile of the instance that a process has of it.
func gpuText(d *gpu.Device, p gpu.Process) string {
	if d == nil {
		return unknown
	}
	text := strconv.Itoa(d.Index)
	if p.GPUInstance == nil {
		return text
	}
	for _, in := range d.Instances {
		if in.GPUInstance == *p.GPUInstance && (p.ComputeInstance == nil || in.ComputeInstance == *p.ComputeInstance) {
			return text + "/" + instanceName(in)
		}
	}
	return fmt.Sprintf("%s/gi%d", text, *p.GPUInstance)
}

func instanceName(in gpu.Instance) string {
	if in.Profile != "" {
		return in.Profile
	}
	return fmt.Sprintf("gi%d", in.GPUInstance)
}

// deviceName is the model, with what is special about its memory.
func deviceName(d gpu.Device) string {
	name := orUnknown(d.Name)
	if tag := kindTag(d); tag != "" {
		return name + " (" + tag + ")"
	}
	return name
}

func kindTag(d gpu.Device) string {
	switch {
	case d.Kind == gpu.KindVGPU:
		return "vGPU"
	case d.Kind == gpu.KindUnified:
		return "unified"
	case d.MIG:
		return "MIG"
	}
	return ""
}

func orUnknown(text string) string {
	if text == "" {
		return unknown
	}
	return text
}

// troubles are what is wrong with a device, a sentence each.
func troubles(d gpu.Device) []string {
	var all []string
	if d.Problem != "" {
		all = append(all, d.Problem)
	}
	if n := d.ECC.Uncorrected; n != nil && *n > 0 {
		all = append(all, units.FormatPlural(int(*n), "uncorrected error", "uncorrected errors")+" of its memory since the driver was loaded")
	}
	return all
}

// pairText is a part and the whole of it, with one unit where both have the same:
// "92.80 / 140.40 GiB".
func pairText(part, whole int64) string {
	a, b := units.FormatBytes(part), units.FormatBytes(whole)
	number, unit, _ := strings.Cut(a, " ")
	if strings.HasSuffix(b, " "+unit) {
		a = number
	}
	return a + " / " + b
}

// shares are the parts of a device's used memory. What no process accounts for is other:
// contexts of processes that nobody sees, and what the driver keeps for them.
type shares struct {
	processes, other int64
	told             bool // by every process; else processes is the least and other the most it can be
}

func sharesOf(r *gpu.Reading, d *gpu.Device) shares {
	held, told := r.Held(d.UUID)
	if d.Memory == nil {
		return shares{held, 0, told}
	}
	return split(held, d.Memory.UsedBytes, told && d.Kind != gpu.KindUnified)
}

// split holds the processes to what is used: the two are read one after the other.
func split(held, used int64, told bool) shares {
	held = min(held, used)
	return shares{held, used - held, told}
}

// instanceShares is as sharesOf, of a MIG device.
func instanceShares(r *gpu.Reading, d *gpu.Device, in gpu.Instance) shares {
	var held int64
	told := true
	for _, p := range r.Processes {
		if p.DeviceUUID != d.UUID || p.GPUInstance == nil || *p.GPUInstance != in.GPUInstance {
			continue
		}
		told = told && p.UsedBytes != nil
		held += usedOr(p, 0)
	}
	if in.Memory == nil {
		return shares{held, 0, told}
	}
	return split(held, in.Memory.UsedBytes, told)
}

// sourceText says where a reading came from.
func sourceText(r *gpu.Reading) string {
	parts := []string{r.Source}
	if r.Driver != "" {
		parts = append(parts, "driver "+r.Driver)
	}
	if r.CUDA != "" {
		parts = append(parts, "CUDA "+r.CUDA)
	}
	return strings.Join(append(parts, units.FormatPlural(len(r.Devices), "GPU", "GPUs")), ", ")
}
