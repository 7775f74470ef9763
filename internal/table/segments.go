package table

import (
	"cmp"
	"slices"
	"sort"

	"github.com/ullage-dev/ullage/internal/timeline"
)

// segmentRows is the table of segments: a row for each that was reserved at some moment.
// Expandable segments appear as the ranges of them that were mapped. A row's id is the
// place in Timeline.Segments.
type segmentRows struct{ t *Tables }

func (g segmentRows) in(s scope, i int) bool {
	v := &g.t.tl.Segments[i]
	return (!s.isAt || v.From <= s.at && s.at < v.To) && (!s.isRange || v.From <= s.to && s.from < v.To)
}

func (g segmentRows) count(s scope) int {
	n := 0
	for i := range g.t.tl.Segments {
		if g.in(s, i) {
			n++
		}
	}
	return n
}

func (g segmentRows) each(s scope, _ need, f func(*row)) {
	var r row
	for i := range g.t.tl.Segments {
		if g.in(s, i) {
			r.id = i
			g.fill(&r)
			f(&r)
		}
	}
}

func (g segmentRows) fill(r *row) {
	v := &g.t.tl.Segments[r.id]
	*r = row{id: r.id, addr: v.Addr, size: v.SizeBytes, stack: v.Stack, stream: v.Stream, from: v.From, freed: v.To, to: v.To, block: none}
}

func (g segmentRows) columns() []column {
	segment := func(r *row) *timeline.Segment { return &g.t.tl.Segments[r.id] }
	return []column{
		addressColumn, sizeColumn, streamColumn, poolColumn(Segments),
		{Column{"size_class", "text", "size class"}, 0, byText([]string{"large", "small"}, func(r *row) int { return bit(segment(r).Small) }), func(_ *Tables, r *row) any { return SizeClass(segment(r).Small) }},
		{Column{"expandable", "text", "expandable"}, 0, by(func(r *row) int64 { return int64(bit(segment(r).Expandable)) }), func(_ *Tables, r *row) any { return segment(r).Expandable }},
		{Column{"from_event", "event", "reserved at"}, 0, natural, func(_ *Tables, r *row) any { return r.from }},
		{Column{"to_event", "event", "given back at"}, 0, by(eventKey(func(r *row) int { return r.to })), func(_ *Tables, r *row) any { return orNull(r.to) }},
		stateColumn, siteColumn, siteIDColumn, opColumn, moduleColumn, stepColumn,
	}
}

// SizeClass names the kind of requests that a segment serves.
func SizeClass(small bool) string {
	if small {
		return "small"
	}
	return "large"
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// segmentIndex finds the segment that an address was in at a moment.
type segmentIndex struct {
	list   []timeline.Segment
	byAddr []int32
	ends   []uint64 // by place in byAddr: the highest end of it and all before
}

func newSegmentIndex(list []timeline.Segment) *segmentIndex {
	x := &segmentIndex{list: list, byAddr: make([]int32, len(list)), ends: make([]uint64, len(list))}
	for i := range x.byAddr {
		x.byAddr[i] = int32(i)
	}
	slices.SortFunc(x.byAddr, func(a, b int32) int { return cmp.Or(cmp.Compare(list[a].Addr, list[b].Addr), cmp.Compare(a, b)) })
	var end uint64
	for k, i := range x.byAddr {
		end = max(end, list[i].Addr+uint64(list[i].SizeBytes))
		x.ends[k] = end
	}
	return x
}

// find returns the place in Timeline.Segments of the segment that holds an address
// after an event, or none. Of segments before it only those can hold it that reach as far,
// which the highest end bounds: in a sound recording those that were at the same place.
func (x *segmentIndex) find(addr uint64, event int) int {
	k := sort.Search(len(x.byAddr), func(k int) bool { return x.list[x.byAddr[k]].Addr > addr }) - 1
	for ; k >= 0 && x.ends[k] > addr; k-- {
		g := &x.list[x.byAddr[k]]
		if g.From <= event && event < g.To && addr < g.Addr+uint64(g.SizeBytes) {
			return int(x.byAddr[k])
		}
	}
	return none
}
