package node

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/units"
)

// outsideMargin is what a process's use outside its allocator may grow by between two
// reports without taking its job above its share: kernels are loaded when they are first run,
// most of them by far in the first minute.
const outsideMargin = 32 * units.MiB

// strayRoom is what a stray context may grow to, at most. It most likely never allocates
// anything; if it does, it is no stray any more.
const strayRoom = 64 * units.MiB

// claim is what one process that reports has of a share.
type claim struct {
	reserved int64  // by its allocator, as it said last
	high     int64  // the most that it had reserved
	outside  int64  // besides: its context, libraries
	promised *int64 // the limit that it was told last; nil: none yet
	rests    bool   // has not grown for long
	stray    bool
}

// holds is what the claim's allocator has or may take without asking again.
func (c *claim) holds() int64 {
	if c.promised == nil {
		return c.reserved
	}
	return max(c.reserved, *c.promised)
}

// most is what the claim may have at most while others may want the rest.
func (c *claim) most() int64 {
	switch {
	case c.stray:
		return c.reserved + strayRoom
	case c.rests:
		return max(c.reserved, c.high) + max(256*units.MiB, c.high/8)
	}
	return math.MaxInt64
}

// limitOf is what the allocator of claims[me] may reserve of a share, or nil for now. others
// is what processes use that tell nothing.
//
// All have the same limit, but those that hold more already, which keep what they hold, and
// those that have not grown for long, which have a little more than they ever held: what these
// leave goes to the rest. What others were told stays theirs until they report next and are
// told less. So all limits and what is used besides come to no more than the share, whenever
// each of them is told; where what is used besides grows, they do again once each process has
// reported. A limit below what a process holds takes nothing away from it: its allocator gives
// cached memory back before it takes more, and takes no more.
//
// A process that is new gets no limit while others were told all there is, if it can wait: it
// keeps the one that it began with for the second or two until they have reported.
func limitOf(share, others int64, claims []claim, me int, canWait bool) *int64 {
	room, ahead, promises := share-others, int64(0), false
	for i := range claims {
		room -= claims[i].outside
		if i != me {
			ahead += claims[i].holds()
			promises = promises || claims[i].holds() > claims[i].reserved
		}
	}
	fair, left := evenly(room, claims)[me], room-ahead
	if canWait && claims[me].promised == nil && promises && fair > max(left, 0) {
		return nil
	}
	limit := max(0, min(fair, left)/units.MiB*units.MiB)
	return &limit
}

// evenly divides what there is for allocators: see limitOf. Where they hold more than there
// is, what is missing is taken from each alike; where nobody wants what is left, all get a part.
func evenly(room int64, claims []claim) []int64 {
	at := func(level int64) (parts []int64, sum int64) {
		for i := range claims {
			c := &claims[i]
			part := min(c.most(), max(c.reserved, level))
			parts, sum = append(parts, part), sum+part
		}
		return parts, sum
	}
	var level int64
	for step := int64(1) << 50; step > 0; step /= 2 { // the highest level that fits, bit by bit
		if level+step <= room {
			if _, sum := at(level + step); sum <= room {
				level += step
			}
		}
	}
	parts, sum := at(level)
	if sum > room || !grows(claims) {
		rest := floorDiv(room-sum, int64(len(claims)))
		for i := range parts {
			parts[i] += rest
		}
	}
	return parts
}

// grows tells whether a claim may want all that is left.
func grows(claims []claim) bool {
	return slices.ContainsFunc(claims, func(c claim) bool { return !c.rests && !c.stray })
}

// floorDiv rounds down where what is divided is negative too: n parts come to no more than
// the whole.
func floorDiv(a, n int64) int64 {
	q := a / n
	if a%n < 0 {
		q--
	}
	return q
}

const (
	youth    = time.Minute // in which a context has not grown to what it will be
	patience = 10          // periods that a new process waits at most for others to be told less
	resting  = 30 * time.Second
)

// advise tells a process its limits, and when to report next. rs.mu is held.
func (rs *reports) advise(in *intake, t *teller) client.Advice {
	advice := client.Advice{Limits: []client.Limit{}}
	waits := false
	for _, place := range slices.Sorted(maps.Keys(t.devices)) {
		id, ok := rs.leaseOn(t, place)
		if !ok {
			continue
		}
		share, epoch, ok := in.shareOf(id, place)
		if !ok {
			continue
		}
		claims, me, others := rs.claimsOn(in, t, place, id)
		limit := limitOf(share, others, claims, me, in.now.Sub(t.began) < patience*in.interval)
		if limit == nil {
			waits = true
			continue
		}
		t.devices[place].promised = limit
		advice.Limits = append(advice.Limits, client.Limit{Device: place, Bytes: *limit, Epoch: epoch})
	}
	t.period = 2 * in.interval // a reading lies between two reports, which tells what is used besides
	if waits || in.now.Sub(t.began) < patience*in.interval {
		t.period = in.interval / 2
	}
	advice.PeriodMS = max(1, t.period.Milliseconds())
	return advice
}

// leaseOn is the lease whose share a process uses on a place: its innermost one there, by the
// last reading, or before that has shown it, the one that it was started under.
func (rs *reports) leaseOn(t *teller, place string) (lease.ID, bool) {
	leases := t.marked
	if p := rs.sight.of(t.id, place); p != nil && len(p.leases) > 0 {
		leases = p.leases
	}
	if len(leases) == 0 {
		return 0, false
	}
	return leases[0], true
}

// claimsOn is what all processes of a lease have of a place: those that report, with t among
// them, and, in sum, the others.
func (rs *reports) claimsOn(in *intake, t *teller, place string, id lease.ID) (claims []claim, me int, others int64) {
	reporting := map[holder.ID]bool{}
	for _, pid := range slices.Sorted(maps.Keys(rs.tellers)) {
		r := rs.tellers[pid]
		d := r.devices[place]
		if of, ok := rs.leaseOn(r, place); d == nil || !ok || of != id {
			continue
		}
		reporting[r.id] = true
		if r == t {
			me = len(claims)
		}
		var used *int64
		if p := rs.sight.of(r.id, place); p != nil {
			used = p.used
		}
		claims = append(claims, claim{
			reserved: d.now.ReservedBytes, high: d.high, outside: r.besides(d, in), promised: d.promised,
			rests: in.now.Sub(r.began) >= youth && in.now.Sub(d.grew) >= resting, stray: stray(r, place, used, in.context),
		})
	}
	for _, p := range rs.sight.on[place].who {
		switch {
		case len(p.leases) == 0 || p.leases[0] != id || reporting[p.id]:
		case p.used == nil:
			others += in.context
		default:
			others += *p.used
		}
	}
	return claims, me, others
}

// besides is what a process is taken to use of a device outside its allocator.
func (t *teller) besides(d *reported, in *intake) int64 {
	switch {
	case d.outside == nil:
		return in.context
	case in.now.Sub(t.began) < youth:
		return max(*d.outside+outsideMargin, in.context)
	}
	return *d.outside + outsideMargin
}
