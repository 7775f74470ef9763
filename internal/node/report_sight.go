package node

import (
	"time"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
)

// sight is what the last reading showed, as far as reports need it.
type sight struct {
	at      time.Time
	places  map[string]string    // by UUID without its prefix: as the agent has it
	parents map[string]string    // by UUID: the GPU of a MIG instance
	by      map[string][]present // by place
}

// present is a process on a place.
type present struct {
	id     holder.ID
	used   *int64     // nil: the driver does not tell
	leases []lease.ID // of the process that have a share here, innermost first
}

// see takes down what a round has shown.
func (rs *reports) see(r *round, leasesOf func(*gpu.Process) []lease.ID) {
	s := sight{at: r.reading.Time, places: map[string]string{}, parents: map[string]string{}, by: map[string][]present{}}
	for i := range r.places {
		p := &r.places[i]
		s.places[bareUUID(p.UUID)], s.parents[p.UUID] = p.UUID, p.Parent
		for k := range p.procs {
			q := &p.procs[k]
			id := holder.ID{PID: q.PID, Start: q.StartTicks}
			s.by[p.UUID] = append(s.by[p.UUID], present{id, q.UsedBytes, here(leasesOf(q), r.shares[p.UUID])})
		}
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.sight = s
}

// find returns the place that a process means by a UUID, "" where there is none. Of a GPU that
// is split it is the instance on which the process was seen.
func (s *sight) find(name string, id holder.ID) string {
	uuid := s.places[bareUUID(name)]
	if uuid == "" {
		return ""
	}
	for place, parent := range s.parents {
		if parent == uuid && s.of(id, place) != nil {
			return place
		}
	}
	return uuid
}

// of returns a process on a place, or nil.
func (s *sight) of(id holder.ID, place string) *present {
	for i := range s.by[place] {
		if p := &s.by[place][i]; p.id == id {
			return p
		}
	}
	return nil
}

// usedBetween is what a process used on a place by the last reading, if that was made between
// two moments.
func (s *sight) usedBetween(id holder.ID, place string, from, to time.Time) *int64 {
	if p := s.of(id, place); p != nil && s.at.After(from) && !s.at.After(to) {
		return p.used
	}
	return nil
}
