package node

import (
	"slices"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/enforce"
	"github.com/ullage-dev/ullage/internal/lease"
)

// state is all that a monitor shows, as of one moment.
func (a *Agent) state(who *caller) client.State {
	v := a.now()
	s := client.State{Reading: who.shown(v.reading), Jobs: []client.Job{}}
	a.Ledger.View(func(b *lease.Book) {
		s.Devices = clientDevices(b, v)
		s.Leases = a.clientLeases(b, v, b.Leases(), who)
	})
	for _, j := range v.jobs {
		if who.admin || j.User == who.user {
			s.Jobs = append(s.Jobs, j)
		}
	}
	return s
}

// clientLeases returns those leases that the caller may see.
func (a *Agent) clientLeases(b *lease.Book, v *view, all []lease.Lease, who *caller) []client.Lease {
	position := map[lease.ID]int{}
	for i, id := range b.Waiting() {
		position[id] = i + 1
	}
	seen := []client.Lease{}
	for i := range all {
		if l := &all[i]; who.owns(l) {
			seen = append(seen, a.clientLease(v, l, position[l.ID]))
		}
	}
	return seen
}

// clientLease is a lease as clients see it.
func (a *Agent) clientLease(v *view, l *lease.Lease, position int) client.Lease {
	w := v.watched[l.ID]
	c := client.Lease{
		ID: int64(l.ID), State: string(l.State), User: l.User, Group: l.Group, Project: l.Project, Name: l.Name, Key: l.Key,
		MemoryBytes: l.MemoryBytes, DeviceCount: l.Devices, Device: l.Device, Model: l.Model, Exclusive: l.Exclusive,
		Priority: l.Priority, Queue: l.Queue, Detached: l.Detached, HolderPID: l.HolderPID, Epoch: l.Epoch,
		Grade: w.grade, ContextBytes: a.settings.Load().ContextBytes, Shares: make([]client.Share, len(l.Shares)),
		Queued: timeOf(l.QueuedMS), Granted: timeOrNil(l.GrantedMS), Expires: timeOrNil(l.ExpiresMS),
		Draining: timeOrNil(l.DrainingMS), Ended: timeOrNil(l.EndedMS), Cause: string(l.Cause), EndedBy: l.EndedBy,
		Position: position, Processes: w.processes,
	}
	if c.Grade == "" {
		c.Grade = string(enforce.Watched) // the least: nothing is granted that nobody watches
	}
	if l.Over != nil {
		c.Over = &client.Over{Device: l.Over.Device, UsedBytes: l.Over.UsedBytes}
	}
	for i, s := range l.Shares {
		c.Shares[i] = client.Share{Device: s.Device, Bytes: s.Bytes}
		if used, ok := w.used[s.Device]; ok {
			c.Shares[i].UsedBytes = &used
		}
	}
	return c
}

func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func timeOrNil(ms int64) *time.Time {
	if ms == 0 {
		return nil
	}
	t := timeOf(ms)
	return &t
}

// clientReasons are reasons as clients see them.
func clientReasons(all []lease.Reason) []client.Reason {
	reasons := make([]client.Reason, len(all))
	for i, r := range all {
		reasons[i] = client.Reason{Code: string(r.Code), Text: r.Text, Bytes: r.Bytes, Lease: int64(r.Lease), Until: timeOrNil(r.UntilMS)}
	}
	return reasons
}

// clientDevices returns the devices as leases see them.
func clientDevices(b *lease.Book, v *view) []client.Device {
	all := []client.Device{}
	for _, d := range b.Devices() {
		all = append(all, clientDevice(b, v, &d))
	}
	return all
}

func clientDevice(b *lease.Book, v *view, d *lease.DeviceStatus) client.Device {
	c := client.Device{
		Index: v.index(d), UUID: d.UUID, Model: d.Model, Parent: d.Parent, CapacityBytes: d.CapacityBytes, GrantedBytes: d.GrantedBytes,
		ForeignBytes: d.ForeignBytes, AvailableBytes: b.Free(d.UUID, ""), Absent: d.Absent, Unseen: d.Unseen,
		Cordoned: d.Cordoned, Split: d.Split, Overfull: d.Overfull, Links: v.links(d.UUID),
	}
	for _, r := range d.Reserves {
		c.Reserves = append(c.Reserves, client.Reserve{Queue: r.Queue, Bytes: r.Bytes})
	}
	return c
}

// deviceNamed returns one device, if the book has it.
func deviceNamed(b *lease.Book, v *view, uuid string) (client.Device, bool) {
	all := b.Devices()
	i := slices.IndexFunc(all, func(d lease.DeviceStatus) bool { return d.UUID == uuid })
	if i < 0 {
		return client.Device{}, false
	}
	return clientDevice(b, v, &all[i]), true
}
