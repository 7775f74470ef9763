package viewer

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/lod"
)

// tilesJSON says which tiles a device has.
type tilesJSON struct {
	MaxLevel  int   `json:"max_level"`   // at which one tile holds all events
	MaxLevelY int   `json:"max_level_y"` // at which one holds all places
	UnitBytes int64 `json:"unit_bytes"`  // of a place
}

func (d *Device) tiles() tilesJSON {
	return tilesJSON{topLevel(int64(d.Events())), topLevel(int64(d.LOD.Lanes.Size)), d.LOD.Lanes.UnitBytes}
}

// topLevel is the lowest level at which one tile covers an axis of that length.
func topLevel(length int64) int {
	level := 0
	for length > lod.TileBuckets<<level {
		level++
	}
	return level
}

// tileCount is how many tiles of a level an axis has.
func tileCount(length int64, level int) int64 {
	width := int64(lod.TileBuckets) << level
	return (length + width - 1) / width
}

// Limits of a tile. The page draws some ten tiles at a time, and 16,000 rectangles a frame.
const (
	bandGroups   = 15
	packedBlocks = 16 << 10
	packedSteps  = 256 << 10
)

// answerTile answers with a tile, in the form of docs/formats/tile.md.
func answerTile(d *Device, q *query) (any, error) {
	top := d.tiles()
	level := q.partNumber("level", top.MaxLevel)
	if q.err != nil {
		return nil, q.err
	}
	i := q.partNumber("i", max(int(tileCount(int64(d.Events()), level))-1, 0))
	kind, rest, more := strings.Cut(q.part("kind"), "-")
	if q.err != nil {
		return nil, q.err
	}
	x := lod.Tile(level, int64(i))
	tile, ok := []byte(nil), false
	switch kind {
	case "counters":
		if !more {
			tile, ok = d.LOD.CountersTile(x, false)
		}
	case "bands":
		tile, ok = d.bandsTile(rest, x)
	case "packed":
		tile, ok = d.packedTile(rest, x)
	case "map", "segments":
		return d.placeTile(kind, rest, x)
	}
	if !ok {
		return nil, notFoundf("no tile %.60q of level %d here", q.part("kind"), level)
	}
	return raw(tile), nil
}

func (d *Device) bandsTile(by string, x lod.Range) ([]byte, bool) {
	g, ok := d.group(by)
	if !ok {
		return nil, false
	}
	var groups []uint32
	for n := range min(bandGroups, len(d.Grouping(by).Groups)) {
		groups = append(groups, uint32(n))
	}
	return g.BandsTile(x, false, groups)
}

func (d *Device) packedTile(by string, x lod.Range) ([]byte, bool) {
	g, ok := d.group(by)
	from, to := int(x.From()), min(int(x.To()), d.Events())
	if !ok || from >= to {
		return nil, false
	}
	return d.LOD.PackedTile(from, to, lod.PackedLimits{Blocks: packedBlocks, Steps: packedSteps}, g), true
}

// placeTile answers with a tile that has levels of places too: rest ends in level and row.
func (d *Device) placeTile(kind, rest string, x lod.Range) (any, error) {
	parts := strings.Split(rest, "-")
	by := ""
	if kind == "map" {
		by, parts = parts[0], parts[1:]
	}
	if len(parts) != 2 {
		return nil, badRequestf("tile kind %.60q is not written as in docs/formats/view-api.md", kind+"-"+rest)
	}
	level, err := wholeNumber(parts[0])
	row, rowErr := wholeNumber(parts[1])
	if err != nil || rowErr != nil {
		return nil, badRequestf("level or row of tile kind %.60q is not a whole number", kind+"-"+rest)
	}
	height := int64(d.LOD.Lanes.Size)
	if level < 0 || level > topLevel(height) || row < 0 || int64(row) >= tileCount(height, level) {
		return nil, notFoundf("no tile of level %d and row %d here", level, row)
	}
	v := lod.MapView{X: x, Y: lod.Tile(level, int64(row))}
	tile, ok := []byte(nil), false
	if kind == "segments" {
		tile, ok = d.LOD.SegmentsTile(v)
	} else if g, known := d.group(by); known {
		tile, ok = d.LOD.BlocksTile(v, g)
	}
	if !ok {
		return nil, notFoundf("no tile %.60q here", kind+"-"+rest)
	}
	return raw(tile), nil
}

// group returns what draws the groups of a grouping.
func (d *Device) group(by string) (*lod.Grouping, bool) {
	k := slices.Index(groupingNames[:], by)
	if k < 0 {
		return nil, false
	}
	return d.bands[k](), true
}
