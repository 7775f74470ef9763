package metrics

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/lease"
)

type leaseFamilies struct {
	byState, byGrade, queued, oldest, overdue        *family
	info, memory, used, over, expires, drainingSince *family
}

func newLeaseFamilies(f *families) leaseFamilies {
	at := []string{"lease", "uuid", "gpu_instance"}
	return leaseFamilies{
		byState: f.gauge("ullage_leases", "Leases by state: queued, granted or draining.", "state"),
		byGrade: f.gauge("ullage_leases_held", "Leases that hold memory, by how firmly their limits are kept: hw, kernel, hook, server, self or watched.", "grade"),
		queued:  f.gauge("ullage_queue_length", "Requests that wait, by queue.", "queue"),
		oldest:  f.gauge("ullage_queue_longest_wait_seconds", "What the request that waits the longest has waited, by queue; 0 where none does.", "queue"),
		overdue: f.gauge("ullage_leases_drain_overdue", "Leases that have drained for longer than drain_deadline."),

		info:          f.gauge("ullage_lease_info", "A lease that holds memory, and whose it is; always 1.", "lease", "user", "group", "project", "queue", "grade", "name"),
		memory:        f.gauge("ullage_lease_memory_bytes", "A lease's share of a device.", at...),
		used:          f.gauge("ullage_lease_memory_used_bytes", "What the processes of a lease use of a device; absent where the driver does not tell.", at...),
		over:          f.gauge("ullage_lease_memory_over_bytes", "What they use above the share; absent likewise.", at...),
		expires:       f.gauge("ullage_lease_expires_timestamp_seconds", "When a lease runs out of time, as Unix time; absent where it lasts as long as its holder.", "lease"),
		drainingSince: f.gauge("ullage_lease_draining_timestamp_seconds", "Since when a lease is over whose memory is still in use, as Unix time.", "lease"),
	}
}

func (s *scrape) leaseSeries() {
	s.queueSeries()
	held := slices.DeleteFunc(slices.Clone(s.state.Leases), func(l client.Lease) bool { return !holds(&l) })
	s.heldSeries(held)
	slices.SortFunc(held, func(a, b client.Lease) int {
		return cmp.Or(cmp.Compare(leaseBytes(&b), leaseBytes(&a)), cmp.Compare(a.ID, b.ID))
	})
	held = slices.CompactFunc(held, func(a, b client.Lease) bool { return a.ID == b.ID })
	for i := range held[:s.capped(kindLease, len(held), s.options.MaxLeases)] {
		s.oneLease(&held[i])
	}
}

func holds(l *client.Lease) bool {
	return l.State == string(lease.Granted) || l.State == string(lease.Draining)
}

func leaseBytes(l *client.Lease) (sum int64) {
	for _, share := range l.Shares {
		sum += share.Bytes
	}
	return sum
}

// line is who waits in a queue.
type line struct {
	length int
	oldest time.Duration
}

// queueSeries tells of every queue that is configured, empty ones too, and of those that are
// no longer but have requests left.
func (s *scrape) queueSeries() {
	lines := map[string]line{queueLabel(""): {}}
	for _, name := range s.status.Queues {
		lines[s.text(queueLabel(name))] = line{}
	}
	for i := range s.state.Leases {
		l := &s.state.Leases[i]
		if l.State == string(lease.Queued) {
			name := s.text(queueLabel(l.Queue))
			in := lines[name]
			lines[name] = line{in.length + 1, max(in.oldest, s.now.Sub(l.Queued))}
		}
	}
	for name, in := range lines {
		s.put(s.lease.queued, float64(in.length), name)
		s.put(s.lease.oldest, in.oldest.Seconds(), name)
	}
}

// heldSeries counts leases by what they are.
func (s *scrape) heldSeries(held []client.Lease) {
	states := map[string]int{string(lease.Queued): len(s.state.Leases) - len(held), string(lease.Granted): 0, string(lease.Draining): 0}
	grades := map[string]int{"hw": 0, "kernel": 0, "hook": 0, "server": 0, "self": 0, "watched": 0}
	overdue := 0
	for i := range held {
		l := &held[i]
		states[l.State]++
		grades[s.text(l.Grade)]++
		if l.Draining != nil && s.status.DrainDeadline > 0 && s.now.Sub(*l.Draining) > s.status.DrainDeadline {
			overdue++
		}
	}
	for state, count := range states {
		s.put(s.lease.byState, float64(count), state)
	}
	for grade, count := range grades {
		s.put(s.lease.byGrade, float64(count), grade)
	}
	s.put(s.lease.overdue, float64(overdue))
}

func (s *scrape) oneLease(l *client.Lease) {
	id := strconv.FormatInt(l.ID, 10)
	s.put(s.lease.info, 1, id, s.text(l.User), s.text(l.Group), s.text(l.Project), s.text(queueLabel(l.Queue)), s.text(l.Grade), s.text(l.Name))
	s.putTime(s.lease.expires, l.Expires, id)
	s.putTime(s.lease.drainingSince, l.Draining, id)
	shares := map[place]client.Share{}
	for _, share := range l.Shares {
		p := s.place(share.Device)
		shares[p] = joined(shares[p], share)
	}
	for p, share := range shares {
		s.put(s.lease.memory, float64(share.Bytes), id, p.uuid, p.instance)
		if share.UsedBytes != nil && len(s.state.Reading.Devices) > 0 {
			s.put(s.lease.used, float64(*share.UsedBytes), id, p.uuid, p.instance)
			s.put(s.lease.over, float64(max(*share.UsedBytes-share.Bytes, 0)), id, p.uuid, p.instance)
		}
	}
}

// joined adds a share to another in the same place: MIG devices may share a GPU instance.
func joined(sum, share client.Share) client.Share {
	if sum.Device == "" {
		return share
	}
	sum.Bytes += share.Bytes
	sum.UsedBytes = plus(sum.UsedBytes, share.UsedBytes)
	return sum
}

// plus adds what may be unknown: then the sum is.
func plus[N int64 | float64](a, b *N) *N {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}

func (s *scrape) putTime(f *family, t *time.Time, labels ...string) {
	if t != nil {
		s.put(f, unix(*t), labels...)
	}
}
