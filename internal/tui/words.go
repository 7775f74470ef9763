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

// foreignNote says what the agent's words on a device mean.
const foreignNote = "foreign is what processes without a lease use, and what others use above theirs; left is what can be leased"

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
	if in := instanceOf(d, p); in != nil {
		return text + "/" + instanceName(*in)
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

// placeText is a place in full.
func placeText(p gpu.Process) string {
	var parts []string
	for _, f := range [][2]string{
		{"Slurm job ", p.Place.SlurmJob},
		{"step ", p.Place.SlurmStep},
		{"pod ", p.Place.PodUID},
		{p.Place.Runtime + " container ", p.Place.ContainerID},
		{"unit ", p.Place.Unit},
	} {
		if f[1] != "" {
			parts = append(parts, f[0]+f[1])
		}
	}
	if p.NamespacePID != 0 && p.NamespacePID != p.PID {
		parts = append(parts, fmt.Sprintf("PID %d in there", p.NamespacePID))
	}
	if len(parts) == 0 {
		return unknown
	}
	return strings.Join(parts, ", ")
}

func usedOr(p gpu.Process, unknown int64) int64 {
	if p.UsedBytes == nil {
		return unknown
	}
	return *p.UsedBytes
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
