package node

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/settings"
	"github.com/ullage-dev/ullage/internal/units"
)

// page is what the driver maps memory in: a share that is no whole number of pages is held
// to the next one.
const page = 2 * units.MiB

// overUse is a lease that uses more than its share of a place.
type overUse struct {
	lease lease.ID
	place string
}

// judge finds the leases that use more than they have, says so once each time, and returns
// what is to be stopped.
func (l *loop) judge(r *round) (stop []overUse) {
	action := l.settings.Load().Watch.Over
	seen := map[overUse]bool{}
	for i := range r.places {
		p := &r.places[i]
		if p.problem != "" { // it is as it was, for all that is known
			maps.Copy(seen, l.overOn(p.UUID))
			continue
		}
		over := r.over(p)
		for _, o := range over {
			seen[o] = true
			if !l.over[o] {
				l.tellOver(r, o, action)
			}
		}
		switch {
		case action == settings.Stop:
			stop = append(stop, over...)
		case action == settings.Tolerate && len(over) > 0:
			if why := l.intolerable(r, p, over); why != "" {
				l.Log.Warn(why, "lease", over[0].lease, "device", p.UUID)
				l.Counters.OverUse(string(settings.Stop))
				stop = append(stop, over[0])
			}
		}
	}
	for o := range l.over {
		if !seen[o] {
			l.Log.Info("a lease uses no more than its share any more, or has ended", "lease", o.lease, "device", o.place)
		}
	}
	l.over = seen
	return stop
}

func (l *loop) overOn(place string) map[overUse]bool {
	on := maps.Clone(l.over)
	maps.DeleteFunc(on, func(o overUse, _ bool) bool { return o.place != place })
	return on
}

// over returns the granted leases that use more of a place than they have, the one with the
// most first.
func (r *round) over(p *place) []overUse {
	shares, used := r.shares[p.UUID], r.use[p.UUID].leases
	var over []overUse
	for id, share := range shares {
		if used[id] > (share+page-1)/page*page && r.state[id] == lease.Granted {
			over = append(over, overUse{id, p.UUID})
		}
	}
	excess := func(o overUse) int64 { return used[o.lease] - shares[o.lease] }
	slices.SortFunc(over, func(a, b overUse) int {
		return cmp.Or(cmp.Compare(excess(b), excess(a)), cmp.Compare(a.lease, b.lease))
	})
	return over
}

// intolerable says why use above leases cannot be tolerated on a place any longer: those who have
// not used their shares yet would not find them, or somebody waits who could start there without it.
func (l *loop) intolerable(r *round, p *place, over []overUse) (why string) {
	if !r.room(p) {
		return "a device has no room left for what a lease uses above its share"
	}
	foreign := r.foreign[p.UUID]
	for _, o := range over {
		foreign -= r.use[p.UUID].leases[o.lease] - r.shares[p.UUID][o.lease]
	}
	l.Ledger.View(func(b *lease.Book) {
		if b.Wanted(r.atMS, p.UUID, foreign) {
			why = "a request waits for what a lease uses above its share"
		}
	})
	return why
}

// room tells whether what is free on a place covers what its leases have not used yet.
func (r *round) room(p *place) bool {
	left := p.free
	for id, share := range r.shares[p.UUID] {
		left -= max(0, share-r.use[p.UUID].leases[id])
	}
	return left >= 0
}

func (l *loop) tellOver(r *round, o overUse, action settings.Action) {
	l.Counters.OverUse(string(action))
	l.Log.Warn("a lease uses more than its share", "lease", o.lease, "device", o.place, "action", action,
		"share_bytes", r.shares[o.place][o.lease], "used_bytes", r.use[o.place].leases[o.lease])
}
