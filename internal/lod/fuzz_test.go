package lod

import (
	"math"
	"testing"
)

// FuzzQueries: whatever is asked for, an answer is a tile or none, of a size that the
// limits bound.
func FuzzQueries(f *testing.F) {
	s := newScene(8, true)
	s.run(3000)
	d := New(s.build(700))
	g := d.Group(bySize(d))
	f.Add(3, int64(0), 9, int64(0), 100, 0, uint32(1), false)
	f.Add(0, int64(0), 0, int64(0), 18, math.MaxInt, uint32(5), true)
	f.Add(40, int64(math.MaxInt64), -1, int64(-1), -5, math.MaxInt, uint32(math.MaxUint32), true)
	f.Fuzz(func(t *testing.T, level int, i int64, levelY int, j int64, from, to int, group uint32, byTime bool) {
		x, y := Tile(level, i), Tile(levelY, j)
		d.CountersTile(x, byTime)
		g.BandsTile(x, byTime, []uint32{group, group})
		if tile, ok := d.BlocksTile(MapView{X: x, Y: y, Limit: from}, g); ok && len(tile) < TileHeaderBytes {
			t.Errorf("a tile of %d bytes", len(tile))
		}
		d.SegmentsTile(MapView{X: x, Y: y, Limit: to})
		d.PackedTile(from, to, PackedLimits{Blocks: level, Steps: levelY}, g)
		g.NextOf(group, from)
		g.PrevOf(group, to)
		d.FoldBorn(from, to, g.Of)
		d.LiveAt(from)
		d.Times.Event(i)
		d.Counters.At(from)
		d.SegmentEvents(from, to)
		d.NextOOM(from)
		d.PrevSegment(to)
	})
}
