package fit

import "slices"

// Sweep looks for the largest value of a number, such as the batch size, with which a job is
// safe in the room there is. The need for memory is nearly a straight line in such a
// number, so few values have to be tried.
type Sweep struct {
	Low, High int // both included
	Tried     []SweepPoint
}

// SweepPoint is a value that was tried.
type SweepPoint struct {
	Value     int
	NeedBytes int64 // the safe bound of reserved memory
	RoomBytes int64 // what there is for it
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
	case above.Value-below.Value <= max(1, below.Value/100) || len(s.Tried) >= maxSweep:
		return 0, false
	}
	return s.between(below, above), true
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
