package node

import (
	"slices"
	"time"

	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/units"
)

// foreignStep is what foreign memory is rounded up to, so that a process that breathes a
// little does not write an event to the ledger with every reading.
const foreignStep = 64 * units.MiB

// peaks remembers the most that each source of foreign memory used within a window of time,
// while the source is there: what a process has used it will most likely use again, and
// what it gives back for half a second is nothing to promise to others.
type peaks struct {
	held map[source][]sample
	now  map[source]bool // seen since the last sweep
}

// source is a process without a lease, a lease that uses more than it has, or, with neither,
// what no process accounts for.
type source struct {
	place   string
	process holder.ID
	lease   lease.ID
}

type sample struct {
	atMS  int64
	bytes int64
}

func newPeaks() *peaks { return &peaks{held: map[source][]sample{}, now: map[source]bool{}} }

// peak takes down what a source uses and returns the most of the window. The samples kept
// fall from one to the next: an older one that is smaller than a younger one never counts
// again.
func (p *peaks) peak(s source, atMS, bytes int64, window time.Duration) int64 {
	p.now[s] = true
	kept := slices.DeleteFunc(p.held[s], func(o sample) bool {
		return o.bytes <= bytes || o.atMS < atMS-window.Milliseconds()
	})
	p.held[s] = append(kept, sample{atMS, bytes})
	return p.held[s][0].bytes
}

// pass is peak for what will not last: it counts now and is not taken down.
func (p *peaks) pass(s source, atMS, bytes int64, window time.Duration) int64 {
	p.now[s] = true
	kept := slices.DeleteFunc(p.held[s], func(o sample) bool { return o.atMS < atMS-window.Milliseconds() })
	p.held[s] = kept
	if len(kept) > 0 {
		return max(bytes, kept[0].bytes)
	}
	return bytes
}

// sweep forgets the sources of a place that were not seen since the last sweep of it.
func (p *peaks) sweep(place string) {
	for s := range p.held {
		if s.place == place && !p.now[s] {
			delete(p.held, s)
		}
	}
	for s := range p.now {
		if s.place == place {
			delete(p.now, s)
		}
	}
}

// foreign sums up what counts against a place's capacity besides its leases. passing tells
// that a process has just left the place or is about to: the driver may show its memory for
// a moment as nobody's.
func (p *peaks) foreign(place string, u *use, shares map[lease.ID]int64, atMS int64, window time.Duration, passing bool) int64 {
	var sum int64
	for id, bytes := range u.foreign {
		sum += p.peak(source{place: place, process: id}, atMS, bytes, window)
	}
	for id, share := range shares {
		sum += p.peak(source{place: place, lease: id}, atMS, max(0, u.leases[id]-share), window)
	}
	rest := source{place: place}
	if passing {
		sum += p.pass(rest, atMS, u.unaccounted, window)
	} else {
		sum += p.peak(rest, atMS, u.unaccounted, window)
	}
	p.sweep(place)
	return (sum + foreignStep - 1) / foreignStep * foreignStep
}
