package table

import (
	"github.com/ullage-dev/ullage/snapshot"
)

// eventRows is the table of events; a row's id is the event's ordinal.
type eventRows struct{ t *Tables }

func (e eventRows) span(s scope) (first, last int) {
	n := e.t.tl.Dev.Events.Len()
	if !s.isRange {
		return 0, n
	}
	return min(max(s.from, 0), n), min(max(s.to+1, 0), n)
}

func (e eventRows) count(s scope) int {
	first, last := e.span(s)
	return max(last-first, 0)
}

func (e eventRows) each(s scope, n need, f func(*row)) {
	r := row{block: none}
	want := n.fromEvents()
	reader := newRowReader(e.t.tl, want)
	first, last := e.span(s)
	for i := first; i < last; i++ {
		r.id, r.from, r.freed, r.to = i, i, i, i
		if want != 0 {
			reader.read(&r, i)
			r.size = r.requested
		}
		if n&needBlock != 0 {
			r.block = e.t.tl.BlockOf(i)
		}
		f(&r)
	}
}

func (e eventRows) fill(r *row) {
	v := e.t.tl.Dev.Events.At(r.id)
	*r = row{
		id: r.id, from: r.id, freed: r.id, to: r.id, block: e.t.tl.BlockOf(r.id),
		addr: v.Addr, size: v.SizeBytes, requested: v.SizeBytes, stack: v.Stack, stream: v.Stream, action: v.Action, timeUS: v.TimeUS,
	}
}

func (e eventRows) columns() []column {
	return []column{
		{Column{"event", "event", "event"}, 0, natural, func(_ *Tables, r *row) any { return r.id }},
		{Column{"time_us", "us", "time"}, needTime, by(func(r *row) int64 { return r.timeUS }), func(t *Tables, r *row) any { return t.sinceFirst(r) }},
		{Column{"action", "text", "action"}, needAction, byText(actionNames(), func(r *row) int { return int(r.action) }), func(_ *Tables, r *row) any { return ActionName(r.action) }},
		{Column{"address", "address", "address"}, needAddr | needAction, by(eventAddr), func(_ *Tables, r *row) any {
			if !hasAddress(r.action) {
				return nil
			}
			return Address(r.addr)
		}},
		sizeColumn, streamColumn, poolColumn(Events),
		{Column{"block", "block", "block"}, needBlock, by(eventBlock), func(_ *Tables, r *row) any {
			if r.block == none {
				return nil
			}
			return r.block
		}},
		categoryColumn, siteColumn, siteIDColumn, opColumn, moduleColumn, stepColumn,
	}
}

// eventAddr orders events by their address; an event without one comes first. The address
// of a failed allocation is how much the driver had left.
func eventAddr(r *row) int64 {
	if !hasAddress(r.action) {
		return absent
	}
	return addrKey(r)
}

func eventBlock(r *row) int64 {
	if r.block == none {
		return absent
	}
	return int64(r.block)
}

func hasAddress(a snapshot.Action) bool {
	switch a {
	case snapshot.Alloc, snapshot.FreeRequested, snapshot.FreeCompleted, snapshot.Annotate:
		return true
	}
	return a.MovesSegment()
}

// actions are the kinds of events as PyTorch writes them.
var actions = [...]string{
	snapshot.UnknownAction: "unknown", snapshot.Alloc: "alloc", snapshot.FreeRequested: "free_requested", snapshot.FreeCompleted: "free_completed",
	snapshot.SegmentAlloc: "segment_alloc", snapshot.SegmentFree: "segment_free", snapshot.SegmentMap: "segment_map", snapshot.SegmentUnmap: "segment_unmap",
	snapshot.Snapshot: "snapshot", snapshot.OOM: "oom", snapshot.UserDefined: "user_defined", snapshot.Annotate: "annotate",
}

func actionNames() []string { return actions[:] }

// ActionName is a kind of event as PyTorch writes it.
func ActionName(a snapshot.Action) string {
	if int(a) >= len(actions) {
		a = snapshot.UnknownAction
	}
	return actions[a]
}
