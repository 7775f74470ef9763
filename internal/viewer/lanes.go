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

// lanes returns the lanes in ascending order, laid end to end, and the length of all.
func (d *Device) lanes() (list []laneJSON, heightBytes int64) {
	list = []laneJSON{}
	for _, g := range lanesOf(d.TL) {
		list = append(list, laneJSON{
			fmt.Sprintf("%#x", g.Addr), g.SizeBytes, heightBytes, streamText(d.Rec, g.Stream), g.Pool.String(), g.Small, g.Expandable,
		})
		heightBytes += g.SizeBytes
	}
	return list, heightBytes
}

// lanesOf joins the ranges of addresses that were ever reserved where they touch. A lane has
// the properties of the segment that came first at its beginning.
func lanesOf(tl *timeline.Timeline) []timeline.Segment {
	segments := slices.Clone(tl.Segments)
	slices.SortFunc(segments, func(a, b timeline.Segment) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.From, b.From))
	})
	var lanes []timeline.Segment
	for _, g := range segments {
		n := len(lanes)
		if n == 0 || g.Addr > lanes[n-1].Addr+uint64(lanes[n-1].SizeBytes) {
			lanes = append(lanes, g)
			continue
		}
		last := &lanes[n-1]
		last.SizeBytes = max(last.SizeBytes, int64(g.Addr-last.Addr)+g.SizeBytes)
	}
	return lanes
}
