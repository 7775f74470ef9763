package tune

import (
	"cmp"
	"slices"
)

// Rank sorts results, the best first: those that live in the room, by the smallest
// limit under which they live, then by what they cost in the room (retries, and the
// time of the driver's calls), then by the peak of reserved memory. Limits that differ by
// less than half a percent count as equal: so much can depend on the order of addresses.
func Rank(results []Result) {
	if len(results) == 0 {
		return
	}
	least := int64(0)
	for i := range results {
		if n := results[i].SmallestLimit(); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	slices.SortStableFunc(results, func(a, b Result) int { return compare(&a, &b, least) })
}

// equalShare is the part of a limit by which two count as equal.
const equalShare = 200

func compare(a, b *Result, least int64) int {
	return cmp.Or(
		-compareBool(a.Lives(), b.Lives()),
		cmp.Compare(a.class(least), b.class(least)),
		cmp.Compare(a.Retries(), b.Retries()),
		cmp.Compare(a.options(), b.options()),
		cmp.Compare(a.StallUS(), b.StallUS()),
		cmp.Compare(a.PeakReserved(), b.PeakReserved()),
		cmp.Compare(a.SmallestLimit(), b.SmallestLimit()),
		cmp.Compare(a.Conf, b.Conf),
	)
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

// class is how many half percents above the least a limit is.
func (r *Result) class(least int64) int64 {
	n := r.SmallestLimit()
	if n == 0 {
		return 1 << 62
	}
	return (n - least) * equalShare / max(least, 1)
}

func (r *Result) options() int { return len(r.Given) }

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

// Retries is the most retries of any program.
func (r *Result) Retries() (most int) {
	for i := range r.Runs {
		most = max(most, r.Runs[i].Retries)
	}
	return most
}

// StallUS is the longest time that any program waits for the driver.
func (r *Result) StallUS() (most int64) {
	for i := range r.Runs {
		most = max(most, r.Runs[i].Calls.StallUS())
	}
	return most
}
