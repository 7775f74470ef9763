package lease

import "slices"

// schedule grants, in the order of rank, what can start now. One pass is enough: a grant only
// takes from those who were passed over.
func (t *turn) schedule() {
	b := t.book
	var g *guard
	for _, l := range slices.Clone(b.queue) {
		shares, why := b.startable(l, t.atMS, g)
		if why == nil {
			t.emit(b.grant(l, shares, t.atMS))
			continue
		}
		if g == nil && b.isHead(l, why) {
			g = newGuard(b, l)
		}
	}
}

// Wanted tells whether a request that waits would start on a device if no more than so much
// foreign memory were there. It asks a copy, by the rules of a real decision: quotas, the order of
// the queue and reserves count.
func (b *Book) Wanted(atMS int64, uuid string, foreignBytes int64) bool {
	if len(b.queue) == 0 || b.device(uuid) == nil {
		return false
	}
	without, err := Restore(b.Snapshot())
	if err != nil { // a book that has been checked can be restored
		return false
	}
	t := without.turn(atMS, Agent)
	t.schedule() // what starts anyway
	anyway := len(t.events)
	without.device(uuid).foreign = roundUp(max(foreignBytes, 0))
	t.schedule()
	return slices.ContainsFunc(t.events[anyway:], func(e Event) bool {
		p, ok := e.Body.(*Placed)
		return ok && slices.ContainsFunc(p.Shares, func(s Share) bool { return s.Device == uuid })
	})
}

func (b *Book) grant(l *Lease, shares []Share, atMS int64) *Placed {
	// Not less than the time, so that a book that was begun anew does not use the epochs of the one that
	// was lost: programs that were started under its leases may still run.
	p := &Placed{ID: l.ID, Epoch: max(b.epoch+1, atMS), Shares: shares}
	if l.TTLMS > 0 {
		p.ExpiresMS = atMS + l.TTLMS
	}
	return p
}

// codeNoRoom is the code of a request that cannot be placed, before anybody asks why: with a thousand
// waiting, that is mostly the answer, and the reason costs ten times as much. See lacks.
const codeNoRoom Code = ""

// startable returns where a request would start now, or the reason why it cannot. Behind a head (g)
// it does not look whether a request that has no room is over its quota as well.
func (b *Book) startable(l *Lease, atMS int64, g *guard) ([]Share, *Reason) {
	shares := b.place(&l.Request, nil)
	if shares == nil {
		if g == nil {
			if why := b.overQuota(&l.Request, b.least(&l.Request), atMS); why != nil {
				return nil, why
			}
		}
		return nil, &b.noRoom
	}
	if why := b.overQuota(&l.Request, total(shares), atMS); why != nil {
		return nil, why
	}
	if g == nil {
		return shares, nil
	}
	if shares = b.place(&l.Request, func(d *device) bool { return g.allows(d, &l.Request) }); shares == nil || g.shares(&l.Request, total(shares)) {
		return nil, &g.reason
	}
	return shares, nil
}

func total(shares []Share) (sum int64) {
	for _, s := range shares {
		sum += s.Bytes
	}
	return sum
}

// isHead tells whether those behind a request must not delay it: it waits for memory, and would
// start if all leases ended. What waits for its quota waits for its own side, and what waits for
// a device to come back, for a cordon to be lifted, or for foreign processes alone, might wait for ever.
func (b *Book) isHead(l *Lease, why *Reason) bool {
	return why.Code != CodeQuotaPeak && why.Code != CodeQuotaHours && b.couldStart(&l.Request)
}

// couldStart tells whether enough devices would do if all leases ended.
func (b *Book) couldStart(r *Request) bool {
	n := 0
	for _, d := range b.devices {
		if d.suits(r) && !d.cordoned && d.most(r.Queue)-d.foreign >= d.share(r) {
			n++
		}
	}
	return n >= r.Devices
}
