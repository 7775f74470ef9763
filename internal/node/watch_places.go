package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/units"
)

// place is something that leases are placed on, a GPU or a MIG instance, as one reading
// shows it.
type place struct {
	lease.Device
	shared  bool          // what is on other places can use its memory too: a GPU instance of several compute instances
	split   bool          // has MIG instances, which are leased in its stead
	problem string        // why what is here is not known; empty where it is
	used    int64         // bytes, by whomever; nothing where there is a problem
	free    int64         // likewise
	procs   []gpu.Process // likewise
}

// placesOf finds the places of a reading. What a device with a problem had to offer is
// taken from before: it is still there, only not seen.
func placesOf(r *gpu.Reading, before []lease.Device) (all []place) {
	for i := range r.Devices {
		d := &r.Devices[i]
		switch trouble := troubleOf(d); {
		case strings.HasPrefix(d.UUID, "unknown-"): // nothing could ever be found again on it
		case trouble != "":
			for _, b := range before {
				if b.UUID == d.UUID || b.Parent == d.UUID {
					all = append(all, place{Device: b, problem: trouble})
				}
			}
		case d.MIG:
			all = append(all, splitPlaces(d, processesOn(r, d.UUID))...)
		default:
			all = append(all, wholePlace(d, processesOn(r, d.UUID)))
		}
	}
	return all
}

// troubleOf says why what is on a device is not known. Every problem counts: with one list
// of processes missing, memory looks like nobody's.
func troubleOf(d *gpu.Device) string {
	if d.Problem != "" {
		return d.Problem
	}
	if !d.MIG && d.Memory == nil {
		return "the driver does not tell its memory"
	}
	for _, in := range d.Instances {
		if in.UUID == "" || in.Memory == nil {
			return "the driver does not tell the memory of a MIG instance"
		}
	}
	return ""
}

func processesOn(r *gpu.Reading, uuid string) (all []gpu.Process) {
	for _, p := range r.Processes {
		if p.DeviceUUID == uuid {
			all = append(all, p)
		}
	}
	return all
}

func wholePlace(d *gpu.Device, procs []gpu.Process) place {
	return place{
		Device: lease.Device{UUID: d.UUID, Model: d.Name, CapacityBytes: capacity(d.Memory)},
		used:   d.Memory.UsedBytes, free: d.Memory.FreeBytes, procs: procs,
	}
}

// capacity is what of a memory can be handed out, in whole MiB as leases are.
func capacity(m *gpu.Memory) int64 {
	bytes := m.TotalBytes
	if m.ReservedBytes != nil {
		bytes -= *m.ReservedBytes
	}
	return max(0, bytes/units.MiB*units.MiB)
}

// splitPlaces are a GPU's MIG instances, and the GPU itself. It offers nothing: programs
// cannot use it but through an instance, and there may be none yet.
func splitPlaces(d *gpu.Device, procs []gpu.Process) []place {
	all := []place{{Device: lease.Device{UUID: d.UUID, Model: d.Name}, split: true}}
	for i := range d.Instances {
		all = append(all, instancePlace(d, &d.Instances[i], procs))
	}
	return all
}

// instancePlace is one MIG device. Compute instances of one GPU instance share its memory,
// and nothing keeps them apart there: each gets an even part, and what the others take above
// theirs counts as used here.
func instancePlace(d *gpu.Device, in *gpu.Instance, procs []gpu.Process) place {
	sharers := int64(0)
	for _, o := range d.Instances {
		if o.GPUInstance == in.GPUInstance {
			sharers++
		}
	}
	part := capacity(in.Memory) / sharers / units.MiB * units.MiB
	p := place{
		Device: lease.Device{UUID: in.UUID, Model: d.Name + " MIG " + in.Profile, Parent: d.UUID, CapacityBytes: part},
		shared: sharers > 1, used: in.Memory.UsedBytes, free: in.Memory.FreeBytes,
	}
	others := map[int]int64{}
	for _, q := range procs {
		switch {
		case q.GPUInstance == nil || *q.GPUInstance != in.GPUInstance:
		case sharers == 1 || q.ComputeInstance == nil || *q.ComputeInstance == in.ComputeInstance:
			p.procs = append(p.procs, q)
		case q.UsedBytes != nil:
			others[*q.ComputeInstance] += *q.UsedBytes
		}
	}
	for _, bytes := range others {
		p.used -= min(bytes, part)
	}
	p.used, p.free = max(0, p.used), min(p.free, max(0, part-p.used))
	return p
}

// reserve puts what the settings keep for queues on the places, as far as it fits. cut says
// where it did not.
func reserve(places []place, of func(uuid, model string) []lease.Reserve) (cut []string) {
	for i := range places {
		p := &places[i]
		if p.problem != "" || p.split {
			continue
		}
		left := p.CapacityBytes
		p.Reserves = of(p.UUID, p.Model)
		for j := range p.Reserves {
			r := &p.Reserves[j]
			whole := (r.Bytes + units.MiB - 1) / units.MiB * units.MiB
			if whole > left {
				cut = append(cut, fmt.Sprintf("%s of queue %q on %s: only %s are left", units.FormatBytes(r.Bytes), r.Queue, p.UUID, units.FormatBytes(left)))
			}
			r.Bytes = min(whole, left)
			left -= r.Bytes
		}
	}
	return cut
}

// devicesOf are the places as the book has them.
func devicesOf(places []place) []lease.Device {
	all := make([]lease.Device, len(places))
	for i := range places {
		all[i] = places[i].Device
	}
	return all
}

func sameDevices(a, b []lease.Device) bool {
	return slices.EqualFunc(a, b, func(a, b lease.Device) bool {
		return a.UUID == b.UUID && a.Model == b.Model && a.Parent == b.Parent && a.CapacityBytes == b.CapacityBytes && slices.Equal(a.Reserves, b.Reserves)
	})
}
