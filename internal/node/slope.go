package node

import (
	"math"
	"slices"
)

// A slope is said with this confidence that there is one: 99 %, two-sided. It has to hold for
// the newer half of the points alone too, for memory that grew and has stopped is no leak.
const slopeZ = 2.576

const (
	trendMost     = 64               // points kept; 2,016 pairs of them take 0.1 ms
	trendLeast    = 12               // below that nothing is said
	trendShortest = 45_000           // ms from the first to the last
	trendSpacing  = 2_000            // ms between points at first
	trendSlowest  = 64_000           // and at last: an hour of points is kept
	trendGrowth   = float64(1 << 20) // bytes that growth has to come to in all
)

// trend follows one amount over steps or time and finds whether it grows. Of what lies
// between two points it keeps the least: what is allocated breathes within a step and from
// one batch to the next, and a leak lifts the least with the rest. The zero value is ready.
type trend struct {
	points  []trendPoint
	spacing int64 // ms
	slope   *float64
	judged  bool
}

type trendPoint struct {
	atMS int64 // when it was begun
	x, y float64
}

// add takes in an amount y at x, steps or minutes, which does not fall but where a process
// begins to count anew.
func (t *trend) add(atMS int64, x, y float64) {
	last := len(t.points) - 1
	if last >= 0 && x < t.points[last].x {
		*t = trend{}
		last = -1
	}
	t.spacing = max(t.spacing, trendSpacing)
	if last >= 0 && atMS < t.points[last].atMS+t.spacing {
		if y < t.points[last].y {
			t.points[last].x, t.points[last].y = x, y
		}
		return
	}
	if len(t.points) == trendMost {
		t.thin()
	}
	t.points = append(t.points, trendPoint{atMS, x, y})
	t.judged = false
}

// thin makes room: of each two points the lower stays, or, once they lie far apart, the
// oldest goes.
func (t *trend) thin() {
	if t.spacing >= trendSlowest {
		t.points = append(t.points[:0], t.points[1:]...)
		return
	}
	t.spacing *= 2
	for i := range len(t.points) / 2 {
		a, b := t.points[2*i], t.points[2*i+1]
		if b.y < a.y {
			a.x, a.y = b.x, b.y
		}
		t.points[i] = a
	}
	t.points = t.points[:len(t.points)/2]
}

// growth is what the amount grows by for each unit of x, or nil where no growth is proved.
func (t *trend) growth() *float64 {
	if !t.judged {
		t.slope, t.judged = growthOf(t.points), true
	}
	return t.slope
}

// growthOf leaves out the last point, of which the least may be yet to come.
func growthOf(points []trendPoint) *float64 {
	n := len(points) - 1
	if n < trendLeast || points[n-1].atMS-points[0].atMS < trendShortest {
		return nil
	}
	points = points[:n]
	slope, least := theilSen(points)
	_, newer := theilSen(points[n/2:])
	if least <= 0 || newer <= 0 || slope*(points[n-1].x-points[0].x) < trendGrowth {
		return nil
	}
	return &slope
}

// theilSen returns the median of the slopes between all pairs of points, and what the true one
// exceeds with the confidence above (Sen 1968, by the variance of Kendall's S). A few points
// that lie anywhere change neither. Where there are too few for that confidence, the second
// is minus infinity.
func theilSen(points []trendPoint) (median, atLeast float64) {
	var slopes []float64
	for i, a := range points {
		for _, b := range points[i+1:] {
			if b.x > a.x {
				slopes = append(slopes, (b.y-a.y)/(b.x-a.x))
			}
		}
	}
	if len(slopes) == 0 {
		return 0, math.Inf(-1)
	}
	slices.Sort(slopes)
	n, pairs := float64(len(points)), float64(len(slopes))
	spread := slopeZ * math.Sqrt(n*(n-1)*(2*n+5)/18)
	low := int(math.Floor((pairs - spread) / 2))
	if low < 0 {
		return slopes[len(slopes)/2], math.Inf(-1)
	}
	return slopes[len(slopes)/2], slopes[low]
}
