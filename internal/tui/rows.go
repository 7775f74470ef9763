package tui

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
)

// row is a process on a device, with what the agent knows of it.
type row struct {
	key     rowKey
	process gpu.Process
	device  *gpu.Device
	uuid    string            // of the device that the program sees: the GPU, or the MIG device
	job     *client.Job       // nil: the agent does not know it, or there is none
	held    *client.JobDevice // of the job on this device; nil likewise
	lease   *client.Lease     // nil: none
	hidden  bool              // the agent keeps from this user what it knows of it
}

// rowKey tells a process on one device, or one instance of it, from all others. A device's
// has no PID, a lease's only its number.
type rowKey struct {
	pid    int
	device string
	gi, ci int // -1: the whole device
	lease  int64
}

func keyOf(p gpu.Process) rowKey {
	k := rowKey{pid: p.PID, device: p.DeviceUUID, gi: -1, ci: -1}
	if p.GPUInstance != nil && p.ComputeInstance != nil {
		k.gi, k.ci = *p.GPUInstance, *p.ComputeInstance
	}
	return k
}

func deviceKey(uuid string) rowKey { return rowKey{device: uuid, gi: -1, ci: -1} }

func leaseKey(id int64) rowKey { return rowKey{lease: id} }

// jobKey tells what a job holds on a device.
type jobKey struct {
	pid  int
	uuid string
}

type jobPart struct {
	job  *client.Job
	held *client.JobDevice
}

// rows joins processes with jobs and leases. A job on a device whose driver shows no such
// process has a row too: what it told of itself is all that is known of it.
func (mo *Moment) rows() []row {
	parts := map[jobKey]jobPart{}
	for i := range mo.Jobs {
		job := &mo.Jobs[i]
		for k := range job.Devices {
			parts[jobKey{job.PID, job.Devices[k].Device}] = jobPart{job, &job.Devices[k]}
		}
	}
	leases := map[int64]*client.Lease{}
	for i := range mo.Leases {
		leases[mo.Leases[i].ID] = &mo.Leases[i]
	}
	rows := make([]row, 0, len(mo.Reading.Processes))
	for _, p := range mo.Reading.Processes {
		r := row{key: keyOf(p), process: p, device: mo.Reading.Device(p.DeviceUUID), uuid: p.DeviceUUID}
		r.hidden = mo.hides(p)
		if in := instanceOf(r.device, p); in != nil && in.UUID != "" {
			r.uuid = in.UUID
		}
		key := jobKey{p.PID, r.uuid}
		r.join(parts[key], leases)
		delete(parts, key)
		rows = append(rows, r)
	}
	return append(rows, mo.unseen(parts, leases)...)
}

// hides tells whether the agent keeps from this user what it knows of a process.
func (mo *Moment) hides(p gpu.Process) bool {
	return mo.About != nil && !mo.About.You.Admin && (p.UID == nil || *p.UID != mo.About.You.UID)
}

func (r *row) join(part jobPart, leases map[int64]*client.Lease) {
	r.job, r.held = part.job, part.held
	if r.job != nil {
		r.lease = leases[r.job.Lease]
	}
}

// unseen are rows of jobs that the driver does not show, in the order of the jobs.
func (mo *Moment) unseen(parts map[jobKey]jobPart, leases map[int64]*client.Lease) []row {
	var rows []row
	for i := range mo.Jobs {
		job := &mo.Jobs[i]
		for k := range job.Devices {
			held := &job.Devices[k]
			if _, ok := parts[jobKey{job.PID, held.Device}]; !ok {
				continue
			}
			p := gpu.Process{PID: job.PID, DeviceUUID: held.Device, User: job.User, Command: job.Name, UsedBytes: held.UsedBytes}
			r := row{process: p, uuid: held.Device}
			if d, in := mo.device(held.Device); d != nil {
				r.device, r.process.DeviceUUID = d, d.UUID
				if in != nil {
					r.process.GPUInstance, r.process.ComputeInstance = &in.GPUInstance, &in.ComputeInstance
				}
			}
			r.key = keyOf(r.process)
			r.join(jobPart{job, held}, leases)
			rows = append(rows, r)
		}
	}
	return rows
}

// instanceOf is the MIG device that a process is on; nil where it has the whole device.
func instanceOf(d *gpu.Device, p gpu.Process) *gpu.Instance {
	if d == nil || p.GPUInstance == nil {
		return nil
	}
	for i := range d.Instances {
		in := &d.Instances[i]
		if in.GPUInstance == *p.GPUInstance && (p.ComputeInstance == nil || in.ComputeInstance == *p.ComputeInstance) {
			return in
		}
	}
	return nil
}

// allocator is what the process told of PyTorch's allocator on this device; nil: nothing.
func (r *row) allocator() *client.Allocator {
	if r.held == nil {
		return nil
	}
	return r.held.Allocator
}

func (r *row) user() string {
	if u := owner(r.process); u != unknown || r.job == nil {
		return u
	}
	return orUnknown(r.job.User)
}

// matches tells whether a text is in what the list shows of a process.
func (r *row) matches(filter string) bool {
	texts := []string{strconv.Itoa(r.process.PID), r.user(), "gpu" + gpuText(r.device, r.process), r.process.Place.String(), r.leaseText(), commandText(r.process)}
	if r.job != nil {
		texts = append(texts, r.job.Name)
	}
	if r.lease != nil {
		texts = append(texts, r.lease.Name, r.lease.Project)
	}
	return contains(filter, texts...)
}

func contains(filter string, texts ...string) bool {
	return strings.Contains(strings.ToLower(strings.Join(texts, " ")), strings.ToLower(filter))
}

// refresh makes the lists that are shown: what passes the filter, in order. A detail of what
// has gone is closed.
func (m *model) refresh() {
	m.shown = slices.DeleteFunc(slices.Clone(m.all), func(r row) bool { return !r.matches(m.filter) })
	m.processes.sort(m.shown)
	m.shownLeases = slices.DeleteFunc(slices.Clone(m.now.Leases), func(l client.Lease) bool { return !m.leaseMatches(l) })
	m.leases.sort(m.shownLeases)
	processGone, leaseGone := m.processes.settle(m.shown), m.leases.settle(m.shownLeases)
	switch {
	case m.page != pageDetail:
	case m.focus == focusProcesses && processGone:
		m.page, m.told = pageList, "the process has ended, or holds nothing on a GPU any more"
	case m.focus == focusLeases && leaseGone:
		m.page, m.told = pageList, "the lease is over"
	}
}

// current is the process that is chosen; nil where there is none.
func (m *model) current() *row { return m.processes.current(m.shown) }

// currentLease is the lease that is chosen; nil where there is none.
func (m *model) currentLease() *client.Lease { return m.leases.current(m.shownLeases) }

func (m *model) currentDevice() *gpu.Device {
	devices := m.now.Reading.Devices
	if d := m.now.Reading.Device(m.device); d != nil {
		return d
	}
	if len(devices) == 0 {
		return nil
	}
	return &devices[0]
}

// move chooses another row of the list that has the focus.
func (m *model) move(by int) {
	switch m.focus {
	case focusProcesses:
		m.processes.move(m.shown, by)
	case focusLeases:
		m.leases.move(m.shownLeases, by)
	case focusDevices:
		devices := m.now.Reading.Devices
		if d := m.currentDevice(); d != nil {
			i := slices.IndexFunc(devices, func(o gpu.Device) bool { return o.UUID == d.UUID })
			m.device = devices[clamp(i+by, len(devices))].UUID
		}
	}
}

func clamp(i, n int) int { return min(max(i, 0), n-1) }
