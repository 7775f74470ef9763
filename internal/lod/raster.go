package lod

// raster adds up rectangles over cells, in units × events. A rectangle costs the same
// however many cells it covers: along each axis it is what it has in the cells where
// it begins and ends (points), and the full cells between them (a step, kept as its
// two ends). The four combinations of point and step are kept apart and summed up at
// the end. All amounts are whole numbers below 2^53 except for those of blurred
// smudges, so that float64 adds and cancels them exactly.
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

// profile is what an interval has in the cells of an axis: amounts in up to two of
// them, and the full cells [from, to).
type profile struct {
	cell     [2]int
	amount   [2]float64
	n        int
	from, to int
	full     float64
}

// profileOf takes an interval that is within the axis and not empty, and cells of 2^bits.
func profileOf(from, to int64, bits int) (p profile) {
	first, last, cell := from>>bits, (to-1)>>bits, int64(1)<<bits
	if first == last {
		p.put(first, to-from)
		return p
	}
	p.from, p.to, p.full = int(first), int(last)+1, float64(cell)
	if head := (first+1)<<bits - from; head < cell {
		p.put(first, head)
		p.from++
	}
	if tail := to - last<<bits; tail < cell {
		p.put(last, tail)
		p.to--
	}
	return p
}

func (p *profile) put(cell, amount int64) {
	p.cell[p.n], p.amount[p.n] = int(cell), float64(amount)
	p.n++
}

// add adds a box, cut to the view, so many times: -1 takes away one that was added.
func (r *raster) add(b box, times float64) {
	from, to := max(b.start, r.from)-r.from, min(b.end, r.to)-r.from
	if y, ok := r.profileY(b.place, b.place+b.size); ok && from < to {
		r.put(profileOf(int64(from), int64(to), r.cellX), y, times)
	}
}

// addWeight adds a rectangle that lies within one cell along x and lasts weight events
// in it.
func (r *raster) addWeight(at int, low, high int64, weight float64) {
	if y, ok := r.profileY(low, high); ok && at >= r.from && at < r.to {
		x := profile{n: 1}
		x.cell[0], x.amount[0] = (at-r.from)>>r.cellX, 1
		r.put(x, y, weight)
	}
}

func (r *raster) profileY(low, high int64) (profile, bool) {
	low, high = max(low, r.low)-r.low, min(high, r.high)-r.low
	if low >= high {
		return profile{}, false
	}
	return profileOf(low, high, r.cellY), true
}

func (r *raster) put(x, y profile, weight float64) {
	w := r.nx + 1
	for j := range y.n {
		row, amount := y.cell[j]*w, y.amount[j]*weight
		for i := range x.n {
			r.points[row+x.cell[i]] += amount * x.amount[i]
		}
		if x.from < x.to {
			r.stepX[row+x.from] += amount * x.full
			r.stepX[row+x.to] -= amount * x.full
		}
	}
	if y.from >= y.to {
		return
	}
	low, high, amount := y.from*w, y.to*w, y.full*weight
	for i := range x.n {
		r.stepY[low+x.cell[i]] += amount * x.amount[i]
		r.stepY[high+x.cell[i]] -= amount * x.amount[i]
	}
	if x.from < x.to {
		r.step[low+x.from] += amount * x.full
		r.step[low+x.to] -= amount * x.full
		r.step[high+x.from] -= amount * x.full
		r.step[high+x.to] += amount * x.full
	}
}

// leastAmount is below all that one block can have in a cell, 1 if it is not blurred,
// and above what rounding leaves where blurred ones cancel.
const leastAmount = 1.0 / 16

// amounts returns what is held of each cell, cells of a row one after the other. The
// raster is used up.
func (r *raster) amounts() []float64 {
	w := r.nx + 1
	out := make([]float64, r.nx*r.ny)
	for y := range r.ny {
		var runX, run float64
		for x := range r.nx {
			at := y*w + x
			if y > 0 {
				r.stepY[at] += r.stepY[at-w]
				r.step[at] += r.step[at-w]
			}
			runX += r.stepX[at]
			run += r.step[at]
			if sum := r.points[at] + runX + r.stepY[at] + run; sum >= leastAmount {
				out[y*r.nx+x] = sum
			}
		}
	}
	return out
}

// shares returns the share of each cell that is held, 0 to 1. Cells may be cut short by
// the view.
func (r *raster) shares() []float32 {
	out := make([]float32, r.nx*r.ny)
	for i, amount := range r.amounts() {
		x, y := i%r.nx, int64(i/r.nx)
		width := min(1<<r.cellX, r.to-r.from-x<<r.cellX)
		height := min(1<<r.cellY, r.high-r.low-y<<r.cellY)
		out[i] = float32(min(amount/(float64(width)*float64(height)), 1))
	}
	return out
}
