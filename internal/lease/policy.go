package lease

import (
	"fmt"
	"slices"
	"time"

	"github.com/ullage-dev/ullage/internal/units"
)

// Policy is what the administrator decides. The zero value has no limits.
type Policy struct {
	AgeMS    int64   `json:"age_ms,omitempty"`    // the waiting that a point of priority is worth; 0: ten minutes
	KeepMS   int64   `json:"keep_ms,omitempty"`   // how long ended leases, and their keys, are remembered; 0: a day
	KeepEach int     `json:"keep_each,omitempty"` // of each user at most so many of them, the last that ended; 0: no bound
	PeriodMS int64   `json:"period_ms,omitempty"` // of the GiB-hours; 0: 30 days. Periods are counted from the Unix epoch
	Queues   []Queue `json:"queues,omitempty"`
	Quotas   []Quota `json:"quotas,omitempty"`
	Limits   []Limit `json:"limits,omitempty"`
}

// Queue is a name that requests may give, with what it adds to their priority. The queue
// without a name is always there.
type Queue struct {
	Name     string `json:"name"`
	Priority int    `json:"priority,omitempty"`
}

// Scope is whom a quota or limit is about.
type Scope string

const (
	User    Scope = "user"
	Group   Scope = "group"
	Project Scope = "project"
)

// Each is the name, in a quota or limit, for everybody without a row of their own.
const Each = "*"

// Quota bounds what one user, group or project holds and uses.
type Quota struct {
	Scope     Scope  `json:"scope"`
	Name      string `json:"name"`
	PeakBytes int64  `json:"peak_bytes,omitempty"` // at any moment; 0: no bound
	GiBHours  int64  `json:"gib_hours,omitempty"`  // in a period; 0: no bound
}

// Limit bounds what one request may ask for, and how many a user, group or project may have.
// 0 is no bound, except for Priority.
type Limit struct {
	Scope       Scope  `json:"scope"`
	Name        string `json:"name"`
	MemoryBytes int64  `json:"memory_bytes,omitempty"` // on a device
	Devices     int    `json:"devices,omitempty"`
	TTLMS       int64  `json:"ttl_ms,omitempty"` // and a request without an end gets this one
	Priority    int    `json:"priority"`         // the highest
	Waiting     int    `json:"waiting,omitempty"`
	Leases      int    `json:"leases,omitempty"` // that hold memory or wait
}

const (
	minuteMS = 60_000
	hourMS   = 60 * minuteMS
	dayMS    = 24 * hourMS
)

// normal fills in what is left open, and refuses what cannot be.
func (p Policy) normal() (Policy, error) {
	if p.AgeMS < 0 || p.KeepMS < 0 || p.KeepEach < 0 || p.PeriodMS < 0 {
		return p, refusal(CodeInvalid, "a policy has a negative span of time, or number of leases")
	}
	if p.AgeMS == 0 {
		p.AgeMS = 10 * minuteMS
	}
	if p.KeepMS == 0 {
		p.KeepMS = dayMS
	}
	if p.PeriodMS == 0 {
		p.PeriodMS = 30 * dayMS
	}
	if p.AgeMS > 365*dayMS {
		return p, refusal(CodeInvalid, "a point of priority is worth more than a year of waiting")
	}
	for _, q := range p.Queues {
		if q.Name == "" || q.Priority < -maxPriority || q.Priority > maxPriority {
			return p, refusal(CodeInvalid, fmt.Sprintf("queue %q: expected a name, and a priority of %d to %d", q.Name, -maxPriority, maxPriority))
		}
	}
	for _, q := range p.Quotas {
		if !q.Scope.valid() || q.Name == "" || q.PeakBytes < 0 || q.PeakBytes > maxBytes*maxDevices || q.GiBHours < 0 || q.GiBHours > 1<<40 {
			return p, refusal(CodeInvalid, fmt.Sprintf("quota of %s %q: expected user, group or project, a name, and amounts", q.Scope, q.Name))
		}
	}
	for _, l := range p.Limits {
		if !l.Scope.valid() || l.Name == "" || l.MemoryBytes < 0 || l.Devices < 0 || l.TTLMS < 0 || l.TTLMS > maxTTLMS || l.Waiting < 0 || l.Leases < 0 {
			return p, refusal(CodeInvalid, fmt.Sprintf("limit of %s %q: expected user, group or project, a name, and amounts", l.Scope, l.Name))
		}
	}
	return p, nil
}

func (s Scope) valid() bool { return s == User || s == Group || s == Project }

// queue finds a queue by name.
func (p *Policy) queue(name string) (Queue, bool) {
	if name == "" {
		return Queue{}, true
	}
	i := slices.IndexFunc(p.Queues, func(q Queue) bool { return q.Name == name })
	if i < 0 {
		return Queue{}, false
	}
	return p.Queues[i], true
}

// party is a user, a group or a project.
type party struct {
	scope Scope
	name  string
}

func (p party) String() string { return string(p.scope) + " " + p.name }

// parties are those who answer for a request. The group and project without a name are nobody.
func (r *Request) parties() []party {
	all := append(make([]party, 0, 3), party{User, r.User})
	if r.Group != "" {
		all = append(all, party{Group, r.Group})
	}
	if r.Project != "" {
		all = append(all, party{Project, r.Project})
	}
	return all
}

// quota returns the quota of a party: its own row, or that of each.
func (p *Policy) quota(of party) Quota {
	return rowOf(p.Quotas, of, func(q Quota) party { return party{q.Scope, q.Name} })
}

func (p *Policy) limit(of party) (Limit, bool) {
	l := rowOf(p.Limits, of, func(l Limit) party { return party{l.Scope, l.Name} })
	return l, l.Name != ""
}

func rowOf[T any](rows []T, of party, name func(T) party) T {
	var each T
	for _, row := range rows {
		switch name(row) {
		case of:
			return row
		case party{of.scope, Each}:
			each = row
		}
	}
	return each
}

// applyLimits refuses a request that is more than its parties may ask for, and gives it an end
// where it must have one.
func (b *Book) applyLimits(r *Request) error {
	for _, who := range r.parties() {
		l, ok := b.policy.limit(who)
		if !ok {
			continue
		}
		if r.TTLMS == 0 {
			r.TTLMS = l.TTLMS
		}
		if why := l.refuses(r, b.load[who]); why != "" {
			return refusal(CodeLimit, fmt.Sprintf("%s of %s", why, who))
		}
	}
	return nil
}

// tooLong says that a time to live is above a limit, and by how much: two that are almost the
// same are printed the same.
func tooLong(ttlMS, limitMS int64) string {
	span := func(ms int64) string { return units.FormatDuration(time.Duration(ms) * time.Millisecond) }
	return fmt.Sprintf("%s is %s above the limit of %s", span(ttlMS), span(ttlMS-limitMS), span(limitMS))
}

func (l *Limit) refuses(r *Request, has load) string {
	over := func(n, limit int64) bool { return limit > 0 && n > limit }
	switch {
	case over(r.MemoryBytes, l.MemoryBytes):
		return fmt.Sprintf("%s is above the limit of %s a device", sizes(r.MemoryBytes, l.MemoryBytes), sizes(l.MemoryBytes, r.MemoryBytes))
	case over(int64(r.Devices), int64(l.Devices)):
		return fmt.Sprintf("%d devices is above the limit of %d", r.Devices, l.Devices)
	case over(r.TTLMS, l.TTLMS):
		return tooLong(r.TTLMS, l.TTLMS)
	case r.Priority > l.Priority:
		return fmt.Sprintf("priority %d is above the limit of %d", r.Priority, l.Priority)
	case over(int64(has.waiting+1), int64(l.Waiting)):
		return fmt.Sprintf("%d requests wait already, which is the limit", has.waiting)
	case over(int64(has.waiting+has.held+1), int64(l.Leases)):
		return fmt.Sprintf("%d leases is the limit", l.Leases)
	}
	return ""
}
