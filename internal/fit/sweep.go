package fit

import "slices"

// Sweep looks for the largest value of a number, such as the batch size, with which a job is
// safe in the room there is. Few values are tried: what lies between two of them is
// estimated, allocation by allocation where their traces are alike, and else by the line
// through both, since the need for memory is nearly a straight line in such a number.
type Sweep struct {
	Low, High int // both included
	Tried     []SweepPoint

	// Estimate says what a value between two that were tried comes to, and false where it
	// cannot. It may be nil.
	Estimate func(below, above, value int) (SweepPoint, bool)
}

// SweepPoint is a value that was tried.
type SweepPoint struct {
	Value         int
	ReservedBytes int64 // the expected peak
	NeedBytes     int64 // the safe bound of reserved memory
	RoomBytes     int64 // what there is for it
	Estimated     bool  // from values on both sides; the program was not traced with this one
}

// Fits tells whether the job is safe with the value.
func (p *SweepPoint) Fits() bool { return p.NeedBytes <= p.RoomBytes }

// maxSweep is how many values are tried at the most.
const maxSweep = 14

// Next returns the value to try next, and false where nothing is left to find out: the
// largest value is known, or is known to one in a hundred, or enough were tried.
func (s *Sweep) Next() (value int, more bool) {
	below, above := s.bounds()
	switch {
	case len(s.Tried) == 0:
		return s.Low, true
	case below == nil: // even the lowest is too much
		return 0, false
	case above == nil:
		return s.High, below.Value < s.High
	case above.Value-below.Value <= 1 || len(s.Tried) >= maxSweep:
		return 0, false
	}
	if value, ok := s.estimated(below, above); ok {
		return value, value > below.Value
	}
	if above.Value-below.Value <= below.Value/100 {
		return 0, false
	}
	return s.between(below, above), true
}

// estimated returns the largest value from below up to above, itself excluded, that fits by
// the estimate, and false where there is no estimate.
func (s *Sweep) estimated(below, above *SweepPoint) (value int, ok bool) {
	if s.Estimate == nil {
		return 0, false
	}
	low, high := below.Value, above.Value
	for high-low > 1 {
		middle := low + (high-low)/2
		p, ok := s.Estimate(below.Value, above.Value, middle)
		switch {
		case !ok:
			return 0, false
		case p.Fits():
			low = middle
		default:
			high = middle
		}
	}
	return low, true
}

// rows is about how many values a table has.
const rows = 10

// Table returns the values that were tried and, between them, estimates of others: the
// doubles of the lowest, in order.
func (s *Sweep) Table() []SweepPoint {
	points := slices.Clone(s.Tried)
	sort := func() { slices.SortFunc(points, func(a, b SweepPoint) int { return a.Value - b.Value }) }
	sort()
	for value := 2 * s.Low; s.Estimate != nil && len(points) < rows && value > 0 && value < s.High; value *= 2 {
		at := slices.IndexFunc(points, func(p SweepPoint) bool { return p.Value >= value })
		if at < 1 || points[at].Value == value {
			continue
		}
		below, above := s.around(value)
		if p, ok := s.Estimate(below, above, value); ok {
			p.Estimated = true
			points = append(points, p)
			sort()
		}
	}
	return points
}

// around returns the values nearest to another that were tried.
func (s *Sweep) around(value int) (below, above int) {
	for _, p := range s.Tried {
		if p.Value < value {
			below = max(below, p.Value)
		}
		if p.Value > value && (above == 0 || p.Value < above) {
			above = p.Value
		}
	}
	return below, above
}

// between is where the line through two points meets the room. Once two tries in a row took
// less than half of the range away, the need is no line, and the range is halved from then on.
func (s *Sweep) between(below, above *SweepPoint) int {
	value := below.Value + (above.Value-below.Value)/2
	if rise := above.NeedBytes - below.NeedBytes; rise > 0 && s.isLine() {
		value = below.Value + int(float64(above.Value-below.Value)*float64(below.RoomBytes-below.NeedBytes)/float64(rise))
	}
	return min(max(value, below.Value+1), above.Value-1)
}

// isLine tells whether no two tries in a row took less than half of the range away. One does
// so on a line too: the one that finds the largest value, before the next shows that it is.
func (s *Sweep) isLine() bool {
	width, slow := 0, 0
	for n := 2; n <= len(s.Tried); n++ {
		part := Sweep{Tried: s.Tried[:n]}
		below, above := part.bounds()
		if below == nil || above == nil {
			continue
		}
		now := above.Value - below.Value
		if slow++; width == 0 || 2*now <= width {
			slow = 0
		}
		if slow == 2 {
			return false
		}
		width = now
	}
	return true
}

// bounds returns the largest value that fits and the smallest above it that does not; nil
// where there is none.
func (s *Sweep) bounds() (below, above *SweepPoint) {
	points := slices.Clone(s.Tried)
	slices.SortFunc(points, func(a, b SweepPoint) int { return a.Value - b.Value })
	for i := range points {
		if !points[i].Fits() {
			return below, &points[i]
		}
		below = &points[i]
	}
	return below, nil
}

// Best returns the largest value with which the job is known to be safe, and false where
// there is none.
func (s *Sweep) Best() (int, bool) {
	if below, _ := s.bounds(); below != nil {
		return below.Value, true
	}
	return 0, false
}
