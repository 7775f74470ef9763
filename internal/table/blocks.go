package table

import (
	"github.com/ullage-dev/ullage/internal/timeline"
)

// blockRows is the table of blocks: a row for each that was handed out or pending at
// some moment of the recording. A row's id is the block's number.
type blockRows struct {
	t *Tables
	s scope // that the request is about
}

// span returns the blocks of a scope that is no moment: those that were allocated in it.
func (b blockRows) span(s scope) (first, last int) {
	if !s.isRange {
		return 0, b.t.tl.NumBlocks()
	}
	return b.t.tl.NumAllocatedBy(s.from - 1), b.t.tl.NumAllocatedBy(s.to)
}

func (b blockRows) count(s scope) int {
	first, last := b.span(s)
	if !s.isAt {
		return last - first
	}
	n := 0
	b.eachLive(s, func(int, timeline.Life) { n++ })
	return n
}

func (b blockRows) eachLive(s scope, f func(int, timeline.Life)) {
	first, last := b.span(s)
	b.t.tl.EachHeld(s.at, func(i int, l timeline.Life) {
		if l.LiveAfter(s.at) && first <= i && i < last {
			f(i, l)
		}
	})
}

func (b blockRows) each(s scope, n need, f func(*row)) {
	var r row
	n &^= needSize // a block's own size is not the event's
	if s.isAt {
		b.eachLive(s, func(i int, l timeline.Life) {
			b.set(&r, i, l)
			if n.fromEvents() != 0 {
				b.setRest(&r)
			}
			f(&r)
		})
		return
	}
	want := n.fromEvents()
	reader := newRowReader(b.t.tl, want)
	first, last := b.span(s)
	for i := first; i < last; i++ {
		l := b.t.tl.Life(i)
		b.set(&r, i, l)
		switch {
		case want == 0:
		case l.Alloc < 0:
			b.setRest(&r)
		default:
			reader.read(&r, l.Alloc)
		}
		f(&r)
	}
}

// set sets what a block's life tells.
func (b blockRows) set(r *row, i int, l timeline.Life) {
	r.id, r.block, r.size, r.from, r.freed, r.to = i, i, l.SizeBytes, l.Alloc, l.FreeRequested, l.FreeCompleted
}

// setRest sets what its allocation tells, and for one that was there before the first
// event the dump.
func (b blockRows) setRest(r *row) {
	v := b.t.tl.Block(r.id)
	r.addr, r.requested, r.stack, r.stream = v.Addr, v.RequestedBytes, v.Stack, v.Stream
	if r.from >= 0 {
		r.timeUS = b.t.tl.Dev.Events.At(r.from).TimeUS
	}
}

func (b blockRows) fill(r *row) {
	b.set(r, r.id, b.t.tl.Life(r.id))
	b.setRest(r)
}

func (b blockRows) columns() []column {
	return []column{
		{Column{"block", "block", "block"}, 0, natural, func(_ *Tables, r *row) any { return r.id }},
		addressColumn, sizeColumn,
		{Column{"requested_bytes", "bytes", "requested"}, needRequested, by(func(r *row) int64 { return r.requested }), func(_ *Tables, r *row) any { return r.requested }},
		streamColumn, poolColumn(Blocks),
		{Column{"alloc_event", "event", "allocated at"}, 0, natural, func(_ *Tables, r *row) any { return r.from }},
		{Column{"free_event", "event", "freed at"}, 0, by(eventKey(func(r *row) int { return r.freed })), func(_ *Tables, r *row) any { return orNull(r.freed) }},
		{Column{"life_events", "count", "life in events"}, 0, by(lifeEvents), func(_ *Tables, r *row) any {
			if r.from < 0 || r.freed == timeline.Never {
				return nil
			}
			return r.freed - r.from
		}},
		{Column{"life_us", "us", "life"}, 0, (*Tables).lifeKey, func(t *Tables, r *row) any { return t.LifeUS(r.id) }},
		b.t.pinnedColumn(b.s), stateColumn, categoryColumn, siteColumn, siteIDColumn, opColumn, moduleColumn, stepColumn,
	}
}

// eventKey orders by an event that may not be in the recording.
func eventKey(event func(*row) int) func(*row) int64 {
	return func(r *row) int64 {
		if e := event(r); e != timeline.Never {
			return int64(e)
		}
		return unending
	}
}

// orNull is an event, or null where it is not in the recording.
func orNull(event int) any {
	if event == timeline.Never {
		return nil
	}
	return event
}
