package lod

import (
	"math"
	"math/bits"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestLanes: every block and segment stands in a lane, addresses and places are each
// other's, and lanes lie end to end, apart in address.
func TestLanes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDevice(t)
		var next uint32
		for i, lane := range d.Lanes.List {
			if lane.Place != next || lane.Size == 0 {
				t.Fatalf("lane %d of %v begins at %d", i, d.Lanes.List, next)
			}
			if next += lane.Size; i > 0 && d.Lanes.List[i-1].Addr+uint64(d.Lanes.List[i-1].Size)*512 >= lane.Addr {
				t.Fatalf("lane %d of %v touches the one before", i, d.Lanes.List)
			}
		}
		if next != d.Lanes.Size {
			t.Fatalf("lanes %v are %d units, not %d", d.Lanes.List, next, d.Lanes.Size)
		}
		for b := range d.TL.NumBlocks() {
			v, box := d.TL.Block(b), d.Blocks.index.box(uint32(b))
			addr, ok := d.Lanes.Addr(uint32(box.place))
			if !ok || addr != v.Addr&^511 || box.size != (v.SizeBytes+511)/512 {
				t.Fatalf("block %d, %d bytes at %#x, stands at %d: %#x, %v; %d units", b, v.SizeBytes, v.Addr, box.place, addr, ok, box.size)
			}
		}
		if _, ok := d.Lanes.Addr(d.Lanes.Size); ok {
			t.Fatal("there is an address beyond the last lane")
		}
	})
}

// TestLongLanes: where 2^32 units of 512 bytes are not enough, units are larger, and
// what is not a multiple of one is rounded outwards.
func TestLongLanes(t *testing.T) {
	l := newLanes([]span{{1 << 20, 1<<20 + 1<<41}, {1<<50 + 300, 1<<50 + 1<<41}, {math.MaxUint64 - 5000, math.MaxUint64}})
	if l.UnitBytes != 2048 || len(l.List) != 3 || l.List[1].Addr != 1<<50 {
		t.Fatalf("%+v", l)
	}
	if place, size, ok := l.Of(1<<50+4000, 600); !ok || place != l.List[1].Place+1 || size != 2 {
		t.Errorf("600 bytes from 4000 on: %d units at %d, %v", size, place-l.List[1].Place, ok)
	}
	for _, addr := range []uint64{0, 1 << 49, 1<<50 + 1<<41, math.MaxUint64} {
		if _, _, ok := l.Of(addr, 1<<40); ok {
			t.Errorf("%#x is in a lane", addr)
		}
	}
}

// drawView draws buckets of a map.
func drawView(t *rapid.T, d *Device) MapView {
	axis := func(what string, length int64) Range {
		level := rapid.IntRange(0, bits.Len64(uint64(length))).Draw(t, what+" level")
		n := (length-1)>>level + 1
		return Range{Level: level, First: rapid.Int64Range(0, n-1).Draw(t, what), N: rapid.IntRange(1, 40).Draw(t, what+" buckets")}
	}
	return MapView{X: axis("x", int64(d.Events)), Y: axis("y", max(int64(d.Lanes.Size), 1)), Limit: rapid.SampledFrom([]int{0, 1, 10}).Draw(t, "limit")}
}

// TestMap: blocks and segments that are large enough have rectangles, and the raster
// shows exactly what the others hold of each cell.
func TestMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDevice(t)
		d.Blocks.smudges = newSmudges(d.Blocks, 1<<30) // TestBlur looks at blurred ones
		v := drawView(t, d)
		for _, m := range []*Map{d.Blocks, d.Segments} {
			p, ok := m.Picture(v)
			if !ok {
				if d.Lanes.Size > 0 {
					t.Fatalf("nothing in %+v of %d events, %d units", v, d.Events, d.Lanes.Size)
				}
				return
			}
			checkPicture(t, m, p)
		}
	})
}

func checkPicture(t fataler, m *Map, p *MapPicture) {
	see := view{int(p.X.From()), int(min(p.X.To(), int64(m.events))), p.Y.From(), min(p.Y.To(), m.units)}
	var want []Rect
	held := make([]float64, p.CellsX*p.CellsY)
	for id := range m.index.len() {
		b := m.index.box(uint32(id))
		switch {
		case b.start >= b.end || !see.meets(b):
		case b.end-b.start >= 1<<p.MinX && b.size >= 1<<p.MinY:
			want = append(want, Rect{uint32(id), b.start, b.end, b.place, b.size})
		default:
			p.naiveAdd(held, see, b)
		}
	}
	if diff := gocmp.Diff(want, p.Rects, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("rectangles of %+v × %+v (-each +got):\n%s", p.X, p.Y, diff)
	}
	for i, share := range p.Density {
		cell := p.cell(see, i)
		if want := held[i] / (float64(cell.to-cell.from) * float64(cell.high-cell.low)); math.Abs(float64(share)-min(want, 1)) > 1e-6 || (share > 0) != (want > 0) {
			t.Fatalf("%+v × %+v: %g of cell %d is held, not %g", p.X, p.Y, want, i, share)
		}
	}
}

// cell returns what cell i of the raster covers.
func (p *MapPicture) cell(see view, i int) view {
	x, y := i%p.CellsX, int64(i/p.CellsX)
	wide, high := 2<<p.X.Level, int64(2)<<p.Y.Level
	return view{see.from + x*wide, min(see.from+(x+1)*wide, see.to), see.low + y*high, min(see.low+(y+1)*high, see.high)}
}

// naiveAdd adds a box to every cell that it meets.
func (p *MapPicture) naiveAdd(held []float64, see view, b box) {
	for i := range held {
		c := p.cell(see, i)
		if c.meets(b) {
			held[i] += float64(min(b.end, c.to)-max(b.start, c.from)) * float64(min(b.place+b.size, c.high)-max(b.place, c.low))
		}
	}
}

// fataler is a test, or one round of a property.
type fataler interface {
	Fatalf(format string, args ...any)
}

// TestMapFromAfar: the raster of a long recording, most of which comes from smudges or
// from a grid, is that of its blocks.
func TestMapFromAfar(t *testing.T) {
	s := newScene(11, true)
	s.run(20_000)
	d := New(s.build(0))
	d.Blocks.smudges = newSmudges(d.Blocks, 1<<30)
	if n, g := len(d.Blocks.smudges), d.Blocks.grids; n != 3 || len(g) != 2 || g[0].bits > 7 || d.Blocks.gridFor(13, 11) != &g[0] || d.Blocks.gridFor(12, g[0].bits-1) != nil {
		t.Fatalf("%d levels of smudges, grids of %d levels", n, len(g))
	}
	for _, level := range []int{9, 10, 11, 12, 13, 14} {
		for _, y := range []int{2, 7, 11} {
			for _, first := range []int64{0, 1} {
				n := 10
				if p, ok := d.Blocks.Picture(MapView{X: Range{level, first, n}, Y: Range{y, first * 3, 64}}); ok {
					checkPicture(t, d.Blocks, p)
				}
			}
		}
	}
}

// TestBlur: where too many different blocks come and go, smudges are blurred by no more
// than their size, and hold what they held.
func TestBlur(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := smudge{rapid.Uint32Range(0, 1<<31).Draw(t, "place"), rapid.Uint32Range(1, 1<<30).Draw(t, "size"), 100}
		was := v
		v.blur()
		low, high := int64(was.place)-int64(v.place), int64(v.place)+int64(v.size)-int64(was.place)-int64(was.size)
		if low < 0 || high < 0 || low >= int64(was.size) || high >= int64(was.size) {
			t.Fatalf("%+v becomes %+v", was, v)
		}
		again := v
		if again.blur(); again != v {
			t.Fatalf("%+v becomes %+v, and that %+v", was, v, again)
		}
		if a, b := float64(was.weight)*float64(was.size), float64(v.weight)*float64(v.size); math.Abs(a-b) > 1e-6*a {
			t.Fatalf("%+v holds %g, %+v %g", was, a, v, b)
		}
	})
}

// TestSmudgesAreBounded: in a cell that no two blocks have the same place in, there are
// few smudges all the same.
func TestSmudgesAreBounded(t *testing.T) {
	var list []smudge
	for i := range uint32(20_000) {
		list = append(list, smudge{place: i * 977 % (1 << 17), size: 100 + i%50, weight: 2})
	}
	s := smudges{first: []uint32{0}, atMost: tileSmudges / TileBuckets}
	s.close(list)
	var held float64
	for i := range s.place {
		held += float64(s.weight[i]) * float64(s.size[i])
	}
	if n := len(s.place); n > 1<<17/64*3 || math.Abs(held-2*124.5*20_000) > 1 {
		t.Errorf("%d smudges hold %g", n, held)
	}
}

// TestOutside: what lies outside the recording is said to, whatever is asked for.
func TestOutside(t *testing.T) {
	s := newScene(1, false)
	s.run(300)
	d := New(s.build(0))
	all := Range{Level: 20, N: 1}
	for _, r := range []Range{
		{},
		{Level: -1, N: 1},
		{Level: 64, N: 1},
		{Level: 0, First: 300, N: 1},
		{Level: 0, First: math.MaxInt64, N: math.MaxInt},
		{Level: 40, First: math.MaxInt64, N: 512},
		{Level: 3, First: -1, N: 5},
		{Level: 3, First: 0, N: -5},
		Tile(5, math.MaxInt64),
		Tile(0, -1),
		Tile(0, 1<<55),
	} {
		if _, ok := d.CountersTile(r, false); ok {
			t.Errorf("%+v has counters", r)
		}
		if _, ok := d.Blocks.Picture(MapView{X: r, Y: all}); ok {
			t.Errorf("%+v has a map", r)
		}
	}
	if r, edge, ok := d.EventEdges(Range{N: math.MaxInt}); !ok || r.N != 300 || len(edge) != 301 {
		t.Errorf("the whole: %+v, %d edges, %v", r, len(edge), ok)
	}
}

// TestNoEvents: of a recording without events there is what is held, and no picture.
func TestNoEvents(t *testing.T) {
	s := newScene(1, false)
	s.run(300)
	d := New(s.build(s.events.Len()))
	if d.Events != 0 || len(d.LiveAt(-1)) == 0 || d.Lanes.Size == 0 {
		t.Fatalf("%d events, %d blocks are live, lanes %+v", d.Events, len(d.LiveAt(-1)), d.Lanes)
	}
	g := d.Group(bySize(d))
	_, counters := d.CountersTile(Tile(0, 0), false)
	_, byTime := g.BandsTile(Tile(0, 0), true, largest(d, g, 3))
	_, blocks := d.BlocksTile(MapView{X: Tile(0, 0), Y: Tile(9, 0)}, g)
	if packed := d.Packed(0, 10, PackedLimits{}); counters || byTime || blocks || len(packed.Blocks) > 0 {
		t.Errorf("a picture of no events: counters %v, bands %v, blocks %v, packed %+v", counters, byTime, blocks, packed)
	}
}
