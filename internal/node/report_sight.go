package node

import (
	"time"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
)

// sight is what the last readings showed, as far as reports need it.
type sight struct {
	named map[string]string // by UUID without its prefix: as the agent has it
	on    map[string]seen   // by place
}

// seen is a place as the last reading showed that could look at it.
type seen struct {
	at     time.Time
	parent string // the GPU of a MIG instance
	who    []present
}

// present is a process on a place.
type present struct {
	id     holder.ID
	used   *int64     // nil: the driver does not tell
	leases []lease.ID // of the process that have a share here, innermost first
}

// see takes down what a round has shown. Of a place that could not be looked at, what was
// known stays: a limit is no larger because somebody is not seen.
func (rs *reports) see(r *round, leasesOf func(*gpu.Process) []lease.ID) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	s := sight{named: map[string]string{}, on: map[string]seen{}}
	for i := range r.places {
		p := &r.places[i]
		s.named[bareUUID(p.UUID)] = p.UUID
		if p.problem != "" {
			s.on[p.UUID] = rs.sight.on[p.UUID]
			continue
		}
		now := seen{at: r.reading.Time, parent: p.Parent}
		for k := range p.procs {
			q := &p.procs[k]
			id := holder.ID{PID: q.PID, Start: q.StartTicks}
			now.who = append(now.who, present{id, q.UsedBytes, here(leasesOf(q), r.shares[p.UUID])})
		}
		s.on[p.UUID] = now
	}
	rs.sight = s
}

// find returns the place that a process means by a UUID, "" where there is none. Of a GPU that
// is split it is the instance on which the process was seen.
func (s *sight) find(name string, id holder.ID) string {
	uuid := s.named[bareUUID(name)]
	if uuid == "" {
		return ""
	}
	for place, there := range s.on {
		if there.parent == uuid && s.of(id, place) != nil {
			return place
		}
	}
	return uuid
}

// of returns a process on a place, or nil.
func (s *sight) of(id holder.ID, place string) *present {
	who := s.on[place].who
	for i := range who {
		if who[i].id == id {
			return &who[i]
		}
	}
	return nil
}

// usedBetween is what a process used on a place by the last reading, if that was made between
// two moments.
func (s *sight) usedBetween(id holder.ID, place string, from, to time.Time) *int64 {
	at := s.on[place].at
	if p := s.of(id, place); p != nil && at.After(from) && !at.After(to) {
		return p.used
	}
	return nil
}
