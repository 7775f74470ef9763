package tui

import (
	"slices"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
)

// fill is what a device's memory, or that of a MIG device, is filled with. What is used is
// processes and other together; what PyTorch told of is a part of processes.
type fill struct {
	processes int64 // what the processes on the list hold
	other     int64 // what none of them accounts for
	told      bool  // by every process; else processes is the least and other the most it can be

	allocated int64 // of processes: by tensors of PyTorch
	cached    int64 // of processes: reserved by PyTorch's allocator, and not allocated
	idle      int64 // free, and held by leases that do not use it
}

// fillOf is the fill of a device, or where in is one, of that instance.
func (mo *Moment) fillOf(rows []row, d *gpu.Device, in *gpu.Instance) fill {
	f := fill{told: true}
	memory := d.Memory
	if in != nil {
		memory = in.Memory
	}
	for i := range rows {
		if r := &rows[i]; r.within(d, in) {
			f.add(r)
		}
	}
	if memory == nil {
		return f
	}
	f.told = f.told && d.Kind != gpu.KindUnified
	f.bound(memory.UsedBytes)
	f.idle = min(mo.idle(unitsOf(d, in)), memory.FreeBytes)
	return f
}

// within tells whether a process is on a device, or on the instance of it.
func (r *row) within(d *gpu.Device, in *gpu.Instance) bool {
	if r.process.DeviceUUID != d.UUID {
		return false
	}
	return in == nil || r.process.GPUInstance != nil && *r.process.GPUInstance == in.GPUInstance
}

func (f *fill) add(r *row) {
	f.told = f.told && r.process.UsedBytes != nil
	f.processes += usedOr(r.process, 0)
	if a := r.allocator(); a != nil {
		f.allocated += a.AllocatedBytes
		f.cached += a.ReservedBytes - a.AllocatedBytes
	}
}

// bound holds the parts to what is used: they are not read at the same instant, and a
// process tells of its allocator every few seconds only.
func (f *fill) bound(used int64) {
	f.processes = min(f.processes, used)
	f.other = used - f.processes
	f.allocated = min(max(f.allocated, 0), used)
	f.cached = min(max(f.cached, 0), used-f.allocated)
}

// unitsOf are the UUIDs of what is leased of a device: its own and those of its instances.
func unitsOf(d *gpu.Device, in *gpu.Instance) []string {
	if in != nil {
		return []string{in.UUID}
	}
	all := []string{d.UUID}
	for _, in := range d.Instances {
		all = append(all, in.UUID)
	}
	return all
}

// idle is what leases hold and do not use. A share whose use is not told counts as used.
func (mo *Moment) idle(uuids []string) int64 {
	var idle int64
	for i := range mo.Leases {
		for _, s := range heldShares(&mo.Leases[i]) {
			if s.UsedBytes != nil && slices.Contains(uuids, s.Device) {
				idle += max(0, s.Bytes-*s.UsedBytes)
			}
		}
	}
	return idle
}

// heldShares are the shares that a lease holds now. One that has ended has had some.
func heldShares(l *client.Lease) []client.Share {
	if l.State == stateGranted || l.State == stateDraining {
		return l.Shares
	}
	return nil
}

// leasedUse is what leases hold of a device together, and what they use of it: nil where the
// driver does not tell, or not every lease is shown to this user.
func (mo *Moment) leasedUse(d *client.Device) (used *int64) {
	var held, sum int64
	for i := range mo.Leases {
		for _, s := range heldShares(&mo.Leases[i]) {
			switch {
			case s.Device != d.UUID:
			case s.UsedBytes == nil:
				return nil
			default:
				held += s.Bytes
				sum += *s.UsedBytes
			}
		}
	}
	if held != d.GrantedBytes {
		return nil
	}
	return &sum
}
