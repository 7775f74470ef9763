package node

import (
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
)

// use is who uses a place, by one reading.
type use struct {
	leases      map[lease.ID]int64  // bytes that processes of a lease with a share here use
	untold      map[lease.ID]bool   // the driver does not tell it all
	foreign     map[holder.ID]int64 // by processes without such a lease; the ID has no start where it cannot be seen
	unaccounted int64               // by no process that tells
}

// charge is what one process uses, and the leases that may be charged with it.
type charge struct {
	bytes  int64
	leases []lease.ID // innermost first
}

// useOf joins a place's processes with the leases on it. shares are those leases and what
// they have here; leasesOf names a process's leases.
func useOf(p *place, shares map[lease.ID]int64, leasesOf func(*gpu.Process) []lease.ID) use {
	u := use{leases: map[lease.ID]int64{}, untold: map[lease.ID]bool{}, foreign: map[holder.ID]int64{}}
	for id := range shares {
		u.leases[id] = 0
	}
	var charges, untold []charge
	var told int64
	secret := false // somebody without a lease is here, and what they use is not told
	for i := range p.procs {
		q := &p.procs[i]
		c := charge{leases: here(leasesOf(q), shares)}
		switch {
		case q.UsedBytes == nil && len(c.leases) == 0:
			secret = true
			continue
		case q.UsedBytes == nil:
			untold = append(untold, c)
			continue
		}
		c.bytes = *q.UsedBytes
		told += c.bytes
		if len(c.leases) == 0 {
			u.foreign[holder.ID{PID: q.PID, Start: q.StartTicks}] += c.bytes
		} else {
			charges = append(charges, c)
		}
	}
	u.unaccounted = max(0, p.used-told)
	u.fill(charges, shares)
	u.guess(untold, shares, secret)
	return u
}

func here(leases []lease.ID, shares map[lease.ID]int64) (with []lease.ID) {
	for _, id := range leases {
		if _, ok := shares[id]; ok {
			with = append(with, id)
		}
	}
	return with
}

// fill charges leases with what their processes use. A process of several may use all their
// shares, the innermost first; those that have no choice come first. What goes beyond is
// the innermost's.
func (u *use) fill(charges []charge, shares map[lease.ID]int64) {
	slices.SortStableFunc(charges, func(a, b charge) int { return cmp.Compare(len(a.leases), len(b.leases)) })
	for _, c := range charges {
		rest := c.bytes
		for _, id := range c.leases {
			part := min(rest, max(0, shares[id]-u.leases[id]))
			u.leases[id] += part
			rest -= part
		}
		u.leases[c.leases[0]] += rest
	}
}

// guess splits what no process accounts for, where the driver does not tell what some use.
// If all of these belong to leases, it is theirs up to their shares; if one does not, it may
// be that one's, and stays what nobody accounts for.
func (u *use) guess(untold []charge, shares map[lease.ID]int64, secret bool) {
	for _, c := range untold {
		for _, id := range c.leases {
			u.untold[id] = true
			if !secret {
				part := min(u.unaccounted, max(0, shares[id]-u.leases[id]))
				u.leases[id] += part
				u.unaccounted -= part
			}
		}
	}
}
