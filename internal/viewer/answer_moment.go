package viewer

import (
	"github.com/ullage-dev/ullage/internal/table"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// momentJSON is the state of memory after an event.
type momentJSON struct {
	Event    int             `json:"event"`
	Totals   totalsJSON      `json:"totals"`
	Action   map[string]any  `json:"action"` // the event's row; null before the first
	Segments []momentSegment `json:"segments"`
}

type momentSegment struct {
	Address     string    `json:"address"`
	SizeBytes   int64     `json:"size_bytes"`
	OffsetBytes int64     `json:"offset_bytes"` // on the map's axis
	Stream      string    `json:"stream"`
	Pool        string    `json:"pool"`
	Small       bool      `json:"small"`
	Expandable  bool      `json:"expandable"`
	StackID     uint32    `json:"stack_id"`
	Spans       spansJSON `json:"spans"`
}

// spansJSON is what fills a segment, ascending and without gaps.
type spansJSON struct {
	Offset []int64 `json:"offset"`
	Size   []int64 `json:"size"`
	Block  []int   `json:"block"` // -1: free
	State  []int   `json:"state"` // 0 free, 1 allocated, 2 pending free
	Group  []int   `json:"group"` // -1: free, or not one that is named
}

// answerMoment answers with all segments and what fills them after an event.
func answerMoment(d *Device, q *query) (any, error) {
	event := q.event("event", d, d.TL.Peak.Allocated.Event)
	by := q.word("by", groupingNames[:]...)
	if q.err != nil {
		return nil, q.err
	}
	return d.moment(event, d.Grouping(by)), nil
}

func (d *Device) moment(event int, by *Grouping) *momentJSON {
	m := &momentJSON{Event: event, Totals: newTotalsJSON(d.TL.TotalsAt(event)), Segments: []momentSegment{}}
	if event >= 0 {
		m.Action = d.made.tables().Row(table.Events, event)
	}
	state := d.TL.StateAt(event)
	for i := range state.Segments {
		m.Segments = append(m.Segments, d.momentSegment(&state.Segments[i], by))
	}
	return m
}

func (d *Device) momentSegment(g *timeline.StateSegment, by *Grouping) momentSegment {
	n := len(g.Spans)
	s := momentSegment{
		Address: table.Address(g.Addr), SizeBytes: g.SizeBytes, OffsetBytes: d.offset(g.Addr, g.SizeBytes),
		Stream: streamText(d.Rec, g.Stream), Pool: g.Pool.String(), Small: g.Small, Expandable: g.Expandable, StackID: uint32(g.Stack),
		Spans: spansJSON{make([]int64, n), make([]int64, n), make([]int, n), make([]int, n), make([]int, n)},
	}
	for i, p := range g.Spans {
		group := -1
		if p.Block >= 0 {
			group = by.Named(p.Block)
		}
		s.Spans.Offset[i], s.Spans.Size[i], s.Spans.Block[i] = int64(p.Addr-g.Addr), p.SizeBytes, p.Block
		s.Spans.State[i], s.Spans.Group[i] = spanState(p.State), group
	}
	return s
}

func spanState(s snapshot.BlockState) int {
	switch s {
	case snapshot.Allocated:
		return 1
	case snapshot.PendingFree:
		return 2
	}
	return 0
}

// offset is where a segment begins on the map's axis, or -1 where it stands on none of
// the lanes.
func (d *Device) offset(addr uint64, sizeBytes int64) int64 {
	place, _, ok := d.LOD.Lanes.Of(addr, sizeBytes)
	if !ok {
		return -1
	}
	return int64(place) * d.LOD.Lanes.UnitBytes
}
