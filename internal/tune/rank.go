package tune

import (
	"cmp"
	"slices"
)

// Rank sorts results, the best first: those that live in the room, by the smallest
// limit under which they live, then by what they cost (retries, the time of the driver's
// calls, options to set), then by the peak of reserved memory. Limits within a few percent
// of each other count as equal: a limit that is barely enough is paid for in retries.
func (t *Tuner) Rank(results []Result) {
	least := leastLimit(results)
	slices.SortStableFunc(results, func(a, b Result) int { return t.compare(&a, &b, least) })
}

// leastLimit returns the smallest limit under which any result lives; 0 for none.
func leastLimit(results []Result) (least int64) {
	for i := range results {
		if n := results[i].SmallestLimit(); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// equalShare is the part of a limit by which two count as equal: 5 %.
const equalShare = 20

func (t *Tuner) compare(a, b *Result, least int64) int {
	if !a.Lives() && !b.Lives() { // what a run that dies costs tells nothing
		return cmp.Or(cmp.Compare(a.least(), b.least()), cmp.Compare(len(a.Given), len(b.Given)), cmp.Compare(a.Conf, b.Conf))
	}
	return cmp.Or(
		-compareBool(a.Lives(), b.Lives()),
		cmp.Compare(a.class(least), b.class(least)),
		-compareBool(a.Cost().Lives, b.Cost().Lives),
		cmp.Compare(a.Cost().Retries, b.Cost().Retries),
		cmp.Compare(t.stallClass(a), t.stallClass(b)),
		cmp.Compare(len(a.Given), len(b.Given)),
		cmp.Compare(a.Reserves(), b.Reserves()),
		cmp.Compare(a.SmallestLimit(), b.SmallestLimit()),
		cmp.Compare(a.Conf, b.Conf),
	)
}

// stallClass is how many twentieths of the recorded time the driver's calls take. Up to
// a tenth of a second nobody notices.
func (t *Tuner) stallClass(r *Result) int64 {
	return r.Cost().StallUS / max(t.Programs[0].durationUS()/20, 1e6/10)
}

// durationUS is the time from the first event of a program to the last; 1 s where that
// is not recorded.
func (p *Program) durationUS() int64 {
	e := p.TL.Dev.Events
	if d := e.At(e.Len()-1).TimeUS - e.At(0).TimeUS; d > 0 {
		return d
	}
	return 1e6
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// least is the smallest limit, or more than any where it is not known.
func (r *Result) least() int64 {
	if n := r.SmallestLimit(); n > 0 {
		return n
	}
	return 1 << 50
}

// class is how many times 5 % a limit is above the least.
func (r *Result) class(least int64) int64 {
	return (r.least() - least) * equalShare / max(least, 1)
}

// Worst returns the run that needs the most: one that does not live before others.
func (r *Result) Worst() *Run {
	worst := &r.Runs[0]
	for i := range r.Runs[1:] {
		v := &r.Runs[i+1]
		if c := cmp.Or(compareBool(worst.Lives(), v.Lives()), cmp.Compare(v.SmallestLimitBytes, worst.SmallestLimitBytes), cmp.Compare(v.PeakReserved, worst.PeakReserved)); c > 0 {
			worst = v
		}
	}
	return worst
}

// Lives tells whether all programs live as far as they were recorded.
func (r *Result) Lives() bool {
	return !slices.ContainsFunc(r.Runs, func(v Run) bool { return !v.Lives() })
}

// SmallestLimit is the limit under which all programs live; 0 where it is not known.
func (r *Result) SmallestLimit() (most int64) {
	for i := range r.Runs {
		n := r.Runs[i].SmallestLimitBytes
		if n == 0 {
			return 0
		}
		most = max(most, n)
	}
	return most
}

// PeakReserved is the highest peak of reserved memory.
func (r *Result) PeakReserved() (most int64) {
	for i := range r.Runs {
		most = max(most, r.Runs[i].PeakReserved)
	}
	return most
}

// Reserves is the highest peak of reserved memory, by which settings are compared: where a
// recording begins in the middle of a run, memory at its beginning is placed anew under
// each, the recorded ones too.
func (r *Result) Reserves() (most int64) {
	for i := range r.Runs {
		most = max(most, r.Runs[i].anew)
	}
	return most
}

// Cost is what running under a setting costs beside memory, of the program that it costs
// the most: in the Tuner's room, or where that has no bound, in a tight one that is the
// same for all settings.
type Cost struct {
	Lives   bool
	Retries int
	StallUS int64
}

// Cost returns the highest cost of any program.
func (r *Result) Cost() Cost {
	c := Cost{Lives: true}
	for i := range r.Runs {
		v := r.Runs[i].cost
		c.Lives = c.Lives && v.Lives
		c.Retries, c.StallUS = max(c.Retries, v.Retries), max(c.StallUS, v.StallUS)
	}
	return c
}

func costOf(o *Outcome) Cost { return Cost{o.Lives(), o.Retries, o.Calls.StallUS()} }

// Retries is the most retries of any program in the room.
func (r *Result) Retries() (most int) {
	for i := range r.Runs {
		most = max(most, r.Runs[i].Retries)
	}
	return most
}
