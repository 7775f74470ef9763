package lease

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/units"
)

// load is what a party has at this moment.
type load struct {
	waiting, held int
	bytes         int64 // held
}

// spent is what a party has used in a period, brought up to a time. Amounts are in MiB·ms: exact,
// and in an int64 good for 240 years of eight devices of 141 GiB.
type spent struct {
	MiBMS int64
	AtMS  int64
}

// gibHour is a GiB-hour in MiB·ms.
const gibHour = 1024 * hourMS

func (b *Book) periodStart(atMS int64) int64 { return atMS - atMS%b.policy.PeriodMS }

// used returns what a party has used since the period began, in MiB·ms.
func (b *Book) used(who party, atMS int64) int64 {
	s, start := b.spent[who], b.periodStart(atMS)
	if s.AtMS < start {
		s = spent{AtMS: start} // what it holds now it has held since, for every change brings spent up to date
	}
	return s.MiBMS + b.load[who].bytes/mib*(atMS-s.AtMS)
}

// charge brings what a request's parties have used up to a time. It is called before what they
// hold changes.
func (b *Book) charge(r *Request, atMS int64) {
	for _, who := range r.parties() {
		b.spent[who] = spent{b.used(who, atMS), atMS}
	}
}

// pledged returns what the leases of a party will have used by their ends, beyond what they have
// used, within this period, in MiB·ms. Leases without an end pledge nothing.
func (b *Book) pledged(who party, atMS int64) int64 {
	var sum int64
	end := b.periodStart(atMS) + b.policy.PeriodMS
	for _, d := range b.devices { // the leases that hold are few beside those that wait
		for _, h := range d.holdings {
			if l := b.live[h.Lease]; l.ExpiresMS > atMS && l.answers(who) {
				sum += h.Bytes / mib * (min(l.ExpiresMS, end) - atMS)
			}
		}
	}
	return sum
}

func (r *Request) answers(who party) bool {
	switch who.scope {
	case User:
		return r.User == who.name
	case Group:
		return r.Group == who.name
	}
	return r.Project == who.name
}

// overQuota says which quota keeps a request that would take so many bytes from starting now.
//
// GiB-hours bound the start of leases, not their lives: nothing is taken from a job that runs. A
// request with an end needs room for all of it, one without an end for its first millisecond.
func (b *Book) overQuota(r *Request, bytes, atMS int64) *Reason {
	for _, who := range r.parties() {
		q := b.policy.quota(who)
		if has := b.load[who].bytes; q.PeakBytes > 0 && has+bytes > q.PeakBytes {
			return &Reason{Code: CodeQuotaPeak, Bytes: has + bytes - q.PeakBytes, Text: fmt.Sprintf("%s holds %s of its quota of %s, and with this one it would be %s too much",
				who, sizes(has, q.PeakBytes), sizes(q.PeakBytes, has), units.FormatBytes(has+bytes-q.PeakBytes))}
		}
	}
	return b.overHours(r, bytes, atMS, atMS+max(1, r.TTLMS), atMS)
}

// overHours says whose GiB-hours do not reach for so many bytes from fromMS until toMS, beyond
// what is used and pledged. What is after the end of the period counts in the next.
func (b *Book) overHours(r *Request, bytes, fromMS, toMS, atMS int64) *Reason {
	end := b.periodStart(atMS) + b.policy.PeriodMS
	span := max(0, min(toMS, end)-fromMS)
	for _, who := range r.parties() {
		q := b.policy.quota(who)
		if q.GiBHours == 0 {
			continue
		}
		if used := b.used(who, atMS); used+b.pledged(who, atMS)+bytes/mib*span > q.GiBHours*gibHour {
			return &Reason{Code: CodeQuotaHours, UntilMS: end, Text: fmt.Sprintf(
				"%s has used %d of its %d GiB-hours, and what its leases may still use leaves too little", who, used/gibHour, q.GiBHours)}
		}
	}
	return nil
}
