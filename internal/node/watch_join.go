package node

import (
	"slices"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/units"
)

// join finds what is used on each place, and by whom.
func (l *loop) join(r *round) {
	s := l.settings.Load()
	r.places = placesOf(&r.reading, l.told)
	l.tellDevices(r)
	for i := range r.places {
		p := &r.places[i]
		switch {
		case p.problem != "":
			continue
		case p.split:
			continue
		}
		l.goodMS[p.UUID] = r.atMS
		u := useOf(p, r.shares[p.UUID], l.leasesOf)
		passing := l.passing(r, p)
		r.passing = r.passing || passing
		l.setApart(p, &u, passing)
		r.use[p.UUID] = u
		r.foreign[p.UUID] = l.peaks.foreign(p.UUID, &u, r.shares[p.UUID], r.atMS, s.ForeignWindow, passing)
	}
	l.reserve(r)
	l.dropFormer(r)
}

// reserve puts what the settings keep for queues on the places.
func (l *loop) reserve(r *round) {
	cut := reserve(r.places, l.settings.Load().ReservesOf)
	if slices.Equal(cut, l.cut) {
		return
	}
	for _, c := range cut {
		l.Log.Warn("a reserve does not fit its device", "reserve", c)
	}
	l.cut = cut
}

// ownMost is the most that a driver is taken to use of a place for itself, besides what it
// says it reserves: 12 MiB of a MIG instance that nobody uses, 0.6 MiB of a GB10, in the
// recordings of package gpu. What is more than this is somebody's.
const ownMost = 128 * units.MiB

// setApart takes what the driver uses for itself off a place's capacity, and off what no
// process accounts for. It comes to the same for what is free, but all of a place can be
// leased: to one that nobody uses there is no foreign memory. It is what is used while nobody
// is there, and never more than what is unaccounted for.
func (l *loop) setApart(p *place, u *use, passing bool) {
	own, known := l.own[p.UUID]
	if i := slices.IndexFunc(l.told, func(d lease.Device) bool { return d.UUID == p.UUID }); !known && i >= 0 {
		own, known = max(0, p.CapacityBytes-l.told[i].CapacityBytes), true // by the agent before this one
	}
	now := (u.unaccounted + units.MiB - 1) / units.MiB * units.MiB
	idle := len(p.procs) == 0 && len(u.leases) == 0 && !passing
	if !known || idle || now < own {
		own = now
	}
	if own > min(ownMost, p.CapacityBytes) {
		own = 0
	}
	l.own[p.UUID] = own
	p.CapacityBytes -= own
	u.unaccounted = max(0, u.unaccounted-own)
}

// leasesOf names the leases that a process of a reading belongs to, or did when it ended:
// the driver shows a process until its memory is back. One that has ended has no start any
// more.
func (l *loop) leasesOf(p *gpu.Process) []lease.ID {
	id := holder.ID{PID: p.PID, Start: p.StartTicks}
	if all := l.members.Leases(id); len(all) > 0 {
		leases := make([]lease.ID, len(all))
		for i, n := range all {
			leases[i] = lease.ID(n)
		}
		return leases
	}
	if p.StartTicks != 0 {
		return l.former[id]
	}
	for was, leases := range l.former {
		if was.PID == p.PID {
			return leases
		}
	}
	return nil
}

// leavingMS is how long memory may take to come back from where a process has left. The
// driver took up to half a second for 83 GiB of an H200, with nobody named for them; memory
// that takes longer than this is not given back so soon.
const leavingMS = 10_000

// passing tells whether a place's memory may be on its way back: a process has just left it,
// or a lease on it has nobody left.
func (l *loop) passing(r *round, p *place) bool {
	now := make([]holder.ID, len(p.procs))
	for i := range p.procs {
		now[i] = holder.ID{PID: p.procs[i].PID, Start: p.procs[i].StartTicks}
	}
	left := slices.ContainsFunc(l.on[p.UUID], func(id holder.ID) bool { return !slices.Contains(now, id) })
	l.on[p.UUID] = now
	for id := range r.shares[p.UUID] {
		left = left || r.empty[id]
	}
	if left {
		l.leftMS[p.UUID] = r.atMS
	}
	since, ok := l.leftMS[p.UUID]
	return ok && r.atMS-since < leavingMS
}

// dropFormer forgets the processes that are off the devices of their leases. They have
// ended, so they do not come back.
func (l *loop) dropFormer(r *round) {
	for id, leases := range l.former {
		left := slices.DeleteFunc(slices.Clone(leases), func(of lease.ID) bool {
			_, holds := r.state[of]
			return !holds || r.off(of, func(p *gpu.Process) bool {
				return p.PID == id.PID && (p.StartTicks == 0 || p.StartTicks == id.Start)
			})
		})
		if len(left) == 0 {
			delete(l.former, id)
		} else {
			l.former[id] = left
		}
	}
}

// off tells whether the reading shows that processes are on none of a lease's devices.
func (r *round) off(of lease.ID, them func(*gpu.Process) bool) bool {
	for uuid, shares := range r.shares {
		if _, ok := shares[of]; !ok {
			continue
		}
		i := slices.IndexFunc(r.places, func(p place) bool { return p.UUID == uuid })
		switch {
		case i < 0 && !r.destroyed(uuid):
			return false
		case i < 0:
		case r.places[i].problem != "":
			return false
		case slices.ContainsFunc(r.places[i].procs, func(p gpu.Process) bool { return them(&p) }):
			return false
		}
	}
	return true
}

// destroyed tells whether a device that is missing is a MIG instance whose GPU is there:
// somebody took the instance away, which the driver allows only when it is not in use. A
// GPU that is missing may come back as it was.
func (r *round) destroyed(uuid string) bool {
	parent := r.parents[uuid]
	i := slices.IndexFunc(r.places, func(p place) bool { return p.UUID == parent })
	return parent != "" && i >= 0 && r.places[i].problem == ""
}

// findClear finds the leases that nobody belongs to any more, and whose processes this
// reading shows on none of their devices.
func (l *loop) findClear(r *round) {
	for i := range r.leases {
		id := r.leases[i].ID
		if r.empty[id] && r.off(id, func(p *gpu.Process) bool { return slices.Contains(l.leasesOf(p), id) }) {
			r.clear = append(r.clear, id)
		}
	}
}
