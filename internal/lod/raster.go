package lod

// raster adds up rectangles over cells, in units × events. A rectangle costs the same
// however many cells it covers: along each axis it is what it has in the cells where
// it begins and ends (points), and the full cells between them (a step, kept as its
// two ends). The four combinations of point and step are kept apart and summed up at
// the end. All amounts are whole numbers below 2^53 except for those of blurred
// smudges, so that float64 adds and cancels them exactly. Cells lie column after column,
// since most of what is added comes in the order of places.
type raster struct {
	view
	nx, ny                     int
	cellX, cellY               int // cells are 2^cellX events wide and 2^cellY units high
	points, stepX, stepY, step []float64
}

func newRaster(v view, cellX, cellY int) *raster {
	r := &raster{view: v, cellX: cellX, cellY: cellY}
	r.nx = (v.to-v.from-1)>>cellX + 1
	r.ny = int((v.high-v.low-1)>>cellY) + 1
	n := (r.nx + 1) * (r.ny + 1)
	all := make([]float64, 4*n)
	r.points, r.stepX, r.stepY, r.step = all[:n], all[n:2*n], all[2*n:3*n], all[3*n:]
	return r
}

// column returns where a column begins.
func (r *raster) column(x int) int { return x * (r.ny + 1) }

// add adds a box, cut to the view, so many times: -1 takes away one that was added.
func (r *raster) add(b box, times float64) {
	from, to := max(b.start, r.from)-r.from, min(b.end, r.to)-r.from
	low, high := max(b.place, r.low)-r.low, min(b.place+b.size, r.high)-r.low
	if from >= to || low >= high {
		return
	}
	first, last, cell := from>>r.cellX, (to-1)>>r.cellX, 1<<r.cellX
	if first == last {
		r.addTo(r.points, r.stepY, first, low, high, float64(to-from)*times)
		return
	}
	if head := (first+1)<<r.cellX - from; head < cell {
		r.addTo(r.points, r.stepY, first, low, high, float64(head)*times)
		first++
	}
	if tail := to - last<<r.cellX; tail < cell {
		r.addTo(r.points, r.stepY, last, low, high, float64(tail)*times)
	} else {
		last++
	}
	if first < last {
		r.addTo(r.stepX, r.step, first, low, high, float64(cell)*times)
		r.addTo(r.stepX, r.step, last, low, high, -float64(cell)*times)
	}
}

// addTo adds to one column what units [low, high) of the view, of which there are any, hold
// for so many events.
func (r *raster) addTo(points, steps []float64, x int, low, high int64, events float64) {
	points, steps = points[r.column(x):r.column(x+1)], steps[r.column(x):r.column(x+1)]
	first, last, cell := low>>r.cellY, (high-1)>>r.cellY, int64(1)<<r.cellY
	if first == last {
		points[first] += float64(high-low) * events
		return
	}
	if head := (first+1)<<r.cellY - low; head < cell {
		points[first] += float64(head) * events
		first++
	}
	if tail := high - last<<r.cellY; tail < cell {
		points[last] += float64(tail) * events
	} else {
		last++
	}
	if first < last {
		steps[first] += float64(cell) * events
		steps[last] -= float64(cell) * events
	}
}

// addWeight adds a rectangle that lies within one cell along x and lasts weight events
// in it.
func (r *raster) addWeight(at int, low, high int64, weight float64) {
	low, high = max(low, r.low)-r.low, min(high, r.high)-r.low
	if low < high && at >= r.from && at < r.to {
		r.addTo(r.points, r.stepY, (at-r.from)>>r.cellX, low, high, weight)
	}
}

// addAlong adds units that lie within one cell along y and are held in all of the view.
func (r *raster) addAlong(at int64, units float64) {
	y, events := int((at-r.low)>>r.cellY), r.to-r.from
	whole := events >> r.cellX
	full := units * float64(int(1)<<r.cellX)
	r.stepX[y] += full
	r.stepX[r.column(whole)+y] -= full
	r.points[r.column(whole)+y] += units * float64(events-whole<<r.cellX)
}

// leastAmount is below all that one block can have in a cell, 1 if it is not blurred,
// and above what rounding leaves where blurred ones cancel.
const leastAmount = 1.0 / 16

// amounts returns what is held of each cell, cells of a column one after the other. The
// raster is used up.
func (r *raster) amounts() []float64 {
	h := r.ny + 1
	out := make([]float64, r.nx*r.ny)
	for x := range r.nx {
		var runY, run float64
		for y := range r.ny {
			at := x*h + y
			if x > 0 {
				r.stepX[at] += r.stepX[at-h]
				r.step[at] += r.step[at-h]
			}
			runY += r.stepY[at]
			run += r.step[at]
			if sum := r.points[at] + runY + r.stepX[at] + run; sum >= leastAmount {
				out[x*r.ny+y] = sum
			}
		}
	}
	return out
}

// shares returns the share of each cell that is held, 0 to 1, cells of a row one after the
// other. Cells may be cut short by the view.
func (r *raster) shares() []float32 {
	out := make([]float32, r.nx*r.ny)
	amounts := r.amounts()
	for y := range r.ny {
		height := min(1<<r.cellY, r.high-r.low-int64(y)<<r.cellY)
		for x := range r.nx {
			width := min(1<<r.cellX, r.to-r.from-x<<r.cellX)
			out[y*r.nx+x] = float32(min(amounts[x*r.ny+y]/(float64(width)*float64(height)), 1))
		}
	}
	return out
}
