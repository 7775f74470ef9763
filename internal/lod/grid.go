package lod

import (
	"github.com/ullage-dev/ullage/internal/column"
)

// grid is what is held of each cell of the whole map, 2^level events by 2^bits units, in
// units × events. A view from so far that its cells are no smaller takes its raster from
// there, less the rectangles that it has, and looks at no block that has none: programs
// whose blocks live long and in places of their own have millions of them.
type grid struct {
	level, bits int
	cells       column.Column // gridRows for each cell of events
}

const (
	leastGridLevel = 12 // below, a tile has so few blocks that they are added one by one
	gridRows       = 2048
	gridStrip      = 64 // cells of events that are made at once
)

// newGrids makes all levels that a whole recording can be seen with.
func newGrids(m *Map) (all []grid) {
	if m.events>>leastGridLevel == 0 || m.units == 0 {
		return nil
	}
	g := grid{level: leastGridLevel}
	for (m.units-1)>>g.bits >= gridRows {
		g.bits++
	}
	for from := 0; from < m.events; from += gridStrip << g.level {
		g.fill(m, view{from, min(from+gridStrip<<g.level, m.events), 0, m.units})
	}
	g.cells.Trim()
	all = append(all, g)
	for m.events>>(g.level+smudgeSteps) > 0 {
		g = g.above()
		all = append(all, g)
	}
	return all
}

// fill appends the cells of a view, which is as high as the map.
func (g *grid) fill(m *Map, v view) {
	r := newRaster(v, g.level, g.bits)
	for length := range lengthClasses {
		for size := range sizeClasses {
			m.index.class(length, size, v, func(_ uint32, b box) { r.add(b, 1) })
		}
	}
	amounts := r.amounts()
	for x := range r.nx {
		for _, v := range amounts[x*r.ny : (x+1)*r.ny] {
			g.cells.Append(uint64(v))
		}
		g.cells.AppendSame(0, gridRows-r.ny)
	}
}

// above makes the grid whose cells are 2^smudgeSteps of g's along the axis of events.
func (g *grid) above() grid {
	up := grid{level: g.level + smudgeSteps, bits: g.bits}
	const wide = 1 << smudgeSteps
	sums := make([]uint64, gridRows)
	n := g.cells.Len() / gridRows
	for x := range n {
		for y := range sums {
			sums[y] += g.cells.At(x*gridRows + y)
		}
		if x%wide == wide-1 || x == n-1 {
			up.cells.AppendAll(sums)
			clear(sums)
		}
	}
	up.cells.Trim()
	return up
}

// gridFor returns the grid for a view of these levels, or nil.
func (m *Map) gridFor(x, y int) (best *grid) {
	for k := range m.grids {
		if g := &m.grids[k]; g.level <= x && g.bits <= y {
			best = g
		}
	}
	return best
}

// add adds to r what is in its view. A cell lies within one of r's.
func (g *grid) add(r *raster) {
	const perChunk = column.ChunkLen / gridRows
	values := make([]uint64, column.ChunkLen)
	first, last := int(r.low>>g.bits), int((r.high-1)>>g.bits)
	for k := r.from >> g.level / perChunk; k < g.cells.Chunks(); k++ {
		chunk := g.cells.Chunk(k, values)
		for c := range len(chunk) / gridRows {
			at := (k*perChunk + c) << g.level
			if at < r.from {
				continue
			}
			if at >= r.to {
				return
			}
			column := r.points[r.column((at-r.from)>>r.cellX):]
			for row := first; row <= last; row++ {
				y := (int64(row)<<g.bits - r.low) >> r.cellY
				column[y] += float64(chunk[c*gridRows+row])
			}
		}
	}
}
