package lod

import (
	"cmp"
	"slices"
)

// Map is rectangles of place × event, of blocks or of segments.
type Map struct {
	index    *boxIndex
	smudges  []smudges // of rising levels; none for segments
	grids    []grid    // of rising levels
	standing *standing // nil for segments, and where nothing stands
	events   int
	units    int64
}

func newMap(s boxes, d *Device) *Map {
	return &Map{index: newBoxIndex(s, int64(d.Lanes.Size)), events: d.Events, units: int64(d.Lanes.Size)}
}

// MapView is what a map shows: buckets of events along x, of units along y.
type MapView struct {
	X, Y  Range
	Limit int // how many rectangles at most; 0 is 4096
}

// defaultRects is a quarter of what the page draws in a frame, of which it sees four tiles or so.
const defaultRects = 4096

// Rect is a block or a segment on the map. Places are in units of Lanes.
type Rect struct {
	ID          uint32
	Start, End  int // events; held in [Start, End), and End is Device.Events where it is held at the end
	Place, Size int64
}

func (q Rect) box() box { return box{q.Start, q.End, q.Place, q.Size} }

// MapPicture is the answer to a MapView. What Rects has not, Density shows.
type MapPicture struct {
	X, Y       Range // cut to what there is
	MinX, MinY int   // rectangles are at least 2^MinX events and 2^MinY units
	Rects      []Rect
	CellsX     int
	CellsY     int
	Density    []float32 // share of each cell of 2 × 2 buckets, rows by rising place
}

// cellBits says that a cell of the raster is 2^1 buckets wide and high.
const cellBits = 1

// Picture returns what v shows, and false where it lies outside the map.
func (m *Map) Picture(v MapView) (*MapPicture, bool) {
	x, okX := v.X.within(int64(m.events))
	y, okY := v.Y.within(m.units)
	if !okX || !okY {
		return nil, false
	}
	see := view{int(x.From()), int(min(x.To(), int64(m.events))), y.From(), min(y.To(), m.units)}
	p := &MapPicture{X: x, Y: y, MinX: x.Level, MinY: y.Level}
	r := newRaster(see, x.Level+cellBits, y.Level+cellBits)
	p.Rects = m.rects(see, p.MinX, p.MinY)
	limit := cmp.Or(max(v.Limit, 0), defaultRects)
	if g := m.gridFor(x.Level, y.Level); g != nil {
		g.add(r)
		p.thin(limit, func(Rect) {})
		for _, q := range p.Rects {
			r.add(q.box(), -1)
		}
	} else {
		m.addSmall(r, p)
		p.thin(limit, func(q Rect) { r.add(q.box(), 1) })
	}
	slices.SortFunc(p.Rects, func(a, b Rect) int { return cmp.Compare(a.ID, b.ID) })
	p.CellsX, p.CellsY, p.Density = r.nx, r.ny, r.shares()
	return p, true
}

// rects returns the boxes in view that are at least 2^minX events and 2^minY units.
func (m *Map) rects(see view, minX, minY int) (rects []Rect) {
	for length := minX + 1; length < lengthClasses; length++ {
		for size := minY + 1; size < sizeClasses; size++ {
			m.index.class(length, size, see, func(id uint32, b box) {
				rects = append(rects, Rect{id, b.start, b.end, b.place, b.size})
			})
		}
	}
	return rects
}

// thin drops the smallest rectangles until the limit is kept.
func (p *MapPicture) thin(limit int, drop func(Rect)) {
	for len(p.Rects) > limit {
		p.MinX++
		p.MinY++
		p.Rects = slices.DeleteFunc(p.Rects, func(q Rect) bool {
			small := q.End-q.Start < 1<<p.MinX || q.Size < 1<<p.MinY
			if small {
				drop(q)
			}
			return small
		})
	}
}

// addSmall adds to r the boxes that have no rectangle: those that are short, from
// smudges as far as there are any, and those that are long but thin, from what stands.
func (m *Map) addSmall(r *raster, p *MapPicture) {
	shortest := 0 // of the boxes that the smudges do not have, as a class
	if s := m.smudgesFor(p.MinX); s != nil {
		s.add(r)
		shortest = s.level + 1
	}
	s := m.standingFor(p.MinY, shortest)
	if s != nil {
		s.add(r)
	}
	for length := shortest; length < lengthClasses; length++ {
		top := sizeClasses
		if length > p.MinX {
			top = min(p.MinY+1, sizeClasses)
		}
		for size := range top {
			if s.has(length, size) {
				continue
			}
			m.index.class(length, size, r.view, func(_ uint32, b box) { r.add(b, 1) })
		}
	}
}

// smudgesFor returns the smudges of the highest level that is not above level.
func (m *Map) smudgesFor(level int) (best *smudges) {
	for k := range m.smudges {
		if m.smudges[k].level <= level {
			best = &m.smudges[k]
		}
	}
	return best
}
