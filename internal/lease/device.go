package lease

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/units"
)

// mib is the unit of memory that is handed out, in bytes.
const mib = 1 << 20

// Device is a GPU or a MIG instance that leases are placed on.
type Device struct {
	UUID          string    `json:"uuid"`
	Model         string    `json:"model,omitempty"`
	Parent        string    `json:"parent,omitempty"` // the UUID of the GPU, for a MIG instance
	CapacityBytes int64     `json:"capacity_bytes"`   // what may be handed out: without what the driver keeps for itself
	Reserves      []Reserve `json:"reserves,omitempty"`
}

// Reserve keeps a minimum of a device's memory for the requests of one queue.
type Reserve struct {
	Queue string `json:"queue"`
	Bytes int64  `json:"bytes"`
}

// Holding is a lease's part of a device.
type Holding struct {
	Lease     ID
	Queue     string
	Exclusive bool
	Bytes     int64
}

// device is a Device with its load.
type device struct {
	Device
	absent   bool  // the last probe did not show it; it stays while leases are on it
	cordoned bool  // nothing new is placed on it
	split    bool  // has MIG instances, which are leased in its stead
	unseen   bool  // nobody has looked for foreign processes on it since it came or the agent started, or can look now
	foreign  int64 // bytes of processes without a lease
	overfull bool  // capacity shrank, or a reserve grew, below what was granted
	holdings []Holding
}

// validDevices refuses a list that cannot be.
func validDevices(all []Device, links [][]int) error {
	if len(links) > len(all) || slices.ContainsFunc(links, func(row []int) bool { return len(row) > len(all) }) {
		return refusal(CodeInvalid, "links of more devices than there are")
	}
	for i, d := range all {
		switch {
		case d.UUID == "" || d.CapacityBytes < 0 || d.CapacityBytes > maxBytes || d.CapacityBytes%mib != 0:
			return refusal(CodeInvalid, fmt.Sprintf("device %q: expected a UUID, and a capacity of 0 to 16 TiB, in whole MiB", d.UUID))
		case slices.ContainsFunc(all[:i], func(o Device) bool { return o.UUID == d.UUID }):
			return refusal(CodeInvalid, fmt.Sprintf("device %s is listed twice", d.UUID))
		}
		var sum int64
		for j, r := range d.Reserves {
			if r.Bytes < 0 || r.Bytes > maxBytes || r.Bytes%mib != 0 || slices.ContainsFunc(d.Reserves[:j], func(o Reserve) bool { return o.Queue == r.Queue }) {
				return refusal(CodeInvalid, fmt.Sprintf("device %s: the reserve of queue %q is negative, or there are two", d.UUID, r.Queue))
			}
			if sum += r.Bytes; sum > d.CapacityBytes {
				return refusal(CodeInvalid, fmt.Sprintf("device %s: more is reserved than its %s", d.UUID, units.FormatBytes(d.CapacityBytes)))
			}
		}
	}
	return nil
}

func roundUp(bytes int64) int64   { return (bytes + mib - 1) / mib * mib }
func roundDown(bytes int64) int64 { return bytes / mib * mib }

// reserved returns what is kept for a queue, in bytes.
func (d *device) reserved(queue string) int64 {
	for _, r := range d.Reserves {
		if r.Queue == queue {
			return r.Bytes
		}
	}
	return 0
}

// granted returns what the leases of a queue hold, in bytes.
func (d *device) granted(queue string) int64 {
	var sum int64
	for _, h := range d.holdings {
		if h.Queue == queue {
			sum += h.Bytes
		}
	}
	return sum
}

// spoken returns what is granted, and reserved beyond that, in bytes; foreign use apart.
func (d *device) spoken() int64 {
	var sum int64
	for _, h := range d.holdings {
		sum += h.Bytes
	}
	for _, r := range d.Reserves {
		sum += max(0, r.Bytes-d.granted(r.Queue))
	}
	return sum
}

// free returns what a request of the queue may take, in bytes; below 0 where foreign use has
// taken what was promised.
func (d *device) free(queue string) int64 {
	own := max(0, d.reserved(queue)-d.granted(queue))
	return d.CapacityBytes - d.foreign - d.spoken() + own
}

// most returns what a request of the queue could take if no one else were there, in bytes.
func (d *device) most(queue string) int64 {
	left := d.CapacityBytes
	for _, r := range d.Reserves {
		if r.Queue != queue {
			left -= r.Bytes
		}
	}
	return left
}

func (d *device) exclusive() bool {
	return slices.ContainsFunc(d.holdings, func(h Holding) bool { return h.Exclusive })
}

// suits tells whether a request could ever be placed here: the device is of the kind, and large
// enough. A process can use one MIG instance only, so requests of several devices get whole GPUs.
func (d *device) suits(r *Request) bool {
	switch {
	case d.absent, d.split:
		return false
	case r.Devices > 1 && d.Parent != "":
		return false
	case r.Device != "" && r.Device != d.UUID && r.Device != d.Parent:
		return false
	case r.Model != "" && !strings.Contains(strings.ToLower(d.Model), strings.ToLower(r.Model)):
		return false
	case r.Exclusive && d.most(r.Queue) < d.CapacityBytes:
		return false // a part is kept for another queue
	}
	return d.most(r.Queue) >= max(d.share(r), r.MemoryBytes) // what is exclusive is all of it, and has to be enough
}

// share is what a request takes of the device, in bytes.
func (d *device) share(r *Request) int64 {
	if r.Exclusive {
		return d.CapacityBytes
	}
	return r.MemoryBytes
}

// Free returns what a request of a queue could take of a device now, in bytes, if it is its turn.
func (b *Book) Free(uuid, queue string) int64 {
	d := b.device(uuid)
	if d == nil || d.absent || d.split || !d.open() {
		return 0
	}
	return max(0, d.free(queue))
}

// open tells whether anything at all may start on the device.
func (d *device) open() bool { return !d.unseen && !d.cordoned && !d.overfull && !d.exclusive() }

// fits tells whether a request that suits the device can start on it now.
func (d *device) fits(r *Request) bool {
	if !d.open() || r.Exclusive && len(d.holdings) > 0 {
		return false
	}
	return d.free(r.Queue) >= d.share(r)
}

// settle notes whether what was promised fits the device.
func (d *device) settle() { d.overfull = d.spoken() > d.CapacityBytes }

func (d *device) add(h Holding) { d.holdings = append(d.holdings, h) }

func (d *device) remove(id ID) {
	d.holdings = slices.DeleteFunc(d.holdings, func(h Holding) bool { return h.Lease == id })
	d.settle()
}
