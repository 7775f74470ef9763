package viewer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/timeline"
)

// laneJSON is a range of addresses that was reserved at some time: a lane of the map.
type laneJSON struct {
	Address     string `json:"address"`
	SizeBytes   int64  `json:"size_bytes"`
	OffsetBytes int64  `json:"offset_bytes"` // where it begins on the map's axis
	Stream      string `json:"stream"`
	Pool        string `json:"pool"`
	Small       bool   `json:"small"`
	Expandable  bool   `json:"expandable"`
}

// lanes returns the lanes of the map. A lane has the properties of the segment that stood
// first at its beginning; one without a segment, in a recording that does not fit together,
// has none.
func (d *Device) lanes() []laneJSON {
	segments := slices.Clone(d.TL.Segments)
	slices.SortStableFunc(segments, func(a, b timeline.Segment) int { return cmp.Compare(a.Addr, b.Addr) })
	unit := d.LOD.Lanes.UnitBytes
	list := []laneJSON{}
	for _, l := range d.LOD.Lanes.List {
		j := laneJSON{Address: fmt.Sprintf("%#x", l.Addr), SizeBytes: int64(l.Size) * unit, OffsetBytes: int64(l.Place) * unit}
		for len(segments) > 0 && segments[0].Addr < l.Addr {
			segments = segments[1:]
		}
		if len(segments) > 0 && segments[0].Addr-l.Addr < uint64(j.SizeBytes) {
			g := segments[0]
			j.Stream, j.Pool, j.Small, j.Expandable = streamText(d.Rec, g.Stream), g.Pool.String(), g.Small, g.Expandable
		}
		list = append(list, j)
	}
	return list
}
