package timeline

import "github.com/ullage-dev/ullage/snapshot"

// apply moves the counters as event ev does. PyTorch lets go of allocated bytes
// when a free is requested, but of active and requested bytes only when it
// completes.
func (n *Totals) apply(a snapshot.Action, sizeBytes, requestedBytes int64) {
	switch a {
	case snapshot.Alloc:
		n.Requested += requestedBytes
		n.Allocated += sizeBytes
		n.Active += sizeBytes
	case snapshot.FreeRequested:
		n.Allocated -= sizeBytes
	case snapshot.FreeCompleted:
		n.Requested -= requestedBytes
		n.Active -= sizeBytes
	case snapshot.SegmentAlloc, snapshot.SegmentMap:
		n.Reserved += sizeBytes
	case snapshot.SegmentFree, snapshot.SegmentUnmap:
		n.Reserved -= sizeBytes
	}
}

func (n *Totals) add(d Totals) {
	n.Requested += d.Requested
	n.Allocated += d.Allocated
	n.Active += d.Active
	n.Reserved += d.Reserved
}

// NewPeak returns the peaks of a window that begins with start after event.
func NewPeak(start Totals, event int) Peak {
	return Peak{Extreme{start.Requested, event}, Extreme{start.Allocated, event}, Extreme{start.Active, event}, Extreme{start.Reserved, event}}
}

// Update takes the counters after event into account.
func (p *Peak) Update(n Totals, event int) {
	p.Requested.update(n.Requested, event)
	p.Allocated.update(n.Allocated, event)
	p.Active.update(n.Active, event)
	p.Reserved.update(n.Reserved, event)
}

// Join takes the peaks of a later window into account.
func (p *Peak) Join(q Peak) {
	p.Requested.update(q.Requested.Bytes, q.Requested.Event)
	p.Allocated.update(q.Allocated.Bytes, q.Allocated.Event)
	p.Active.update(q.Active.Bytes, q.Active.Event)
	p.Reserved.update(q.Reserved.Bytes, q.Reserved.Event)
}

// PeakIn returns the peaks of events [from, to) and of the moment before them.
func (t *Timeline) PeakIn(from, to int) Peak {
	from, to = max(from, 0), min(to, t.Dev.Events.Len())
	p := NewPeak(t.TotalsAt(from-1), from-1)
	walk := func(from, to int) {
		t.Walk(from, to, func(i int, now Totals) { p.Update(now, i) })
	}
	first := (from + snapshot.EventsChunk - 1) / snapshot.EventsChunk // first whole chunk
	last := to / snapshot.EventsChunk
	if first >= last {
		walk(from, to)
		return p
	}
	walk(from, first*snapshot.EventsChunk)
	for _, top := range t.tops[first:last] {
		p.Join(top)
	}
	walk(last*snapshot.EventsChunk, to)
	return p
}

func (x *Extreme) update(bytes int64, event int) {
	if bytes > x.Bytes {
		x.Bytes, x.Event = bytes, event
	}
}

// TotalsAt returns the counters after event i; -1 is before the first event.
func (t *Timeline) TotalsAt(i int) Totals {
	if i < 0 {
		return t.Start
	}
	now := t.Start
	t.Walk(i, i+1, func(_ int, n Totals) { now = n })
	return now
}

// Walk calls f for every event in [from, to) with the counters after it.
func (t *Timeline) Walk(from, to int, f func(event int, now Totals)) {
	from, to = max(from, 0), min(to, t.Dev.Events.Len())
	b := snapshot.Batch{Want: snapshot.WithAction | snapshot.WithSize}
	blockOf := make([]uint64, snapshot.EventsChunk)
	for k := from / snapshot.EventsChunk; k*snapshot.EventsChunk < to; k++ {
		t.Dev.Events.Chunk(k, &b)
		ids := t.blockOf.Chunk(k, blockOf)
		now := t.marks[k]
		for j, a := range b.Action {
			i := b.First + j
			if i >= to {
				return
			}
			t.move(&now, i, snapshot.Action(a), int64(b.Size[j]), int(ids[j])-1)
			if i >= from {
				f(i, now)
			}
		}
	}
}

// move applies event i, whose block, where it has one, is id. A free that
// completes without ever having been requested (its request was not recorded, or
// came before the first event) is told apart by the block itself.
func (t *Timeline) move(now *Totals, i int, a snapshot.Action, sizeBytes int64, id int) {
	if t.odd != nil {
		now.add(t.odd[i])
	}
	switch a {
	case snapshot.Alloc, snapshot.FreeRequested:
		if id >= 0 {
			now.apply(a, t.blocks.size(id), sizeBytes)
		}
	case snapshot.FreeCompleted:
		if id < 0 {
			return
		}
		size := t.blocks.size(id)
		if l := t.Life(id); l.FreeRequested == l.FreeCompleted {
			now.apply(snapshot.FreeRequested, size, sizeBytes)
		}
		now.apply(a, size, sizeBytes)
	default:
		now.apply(a, sizeBytes, 0)
	}
}

// Next returns the counters after event i, where now is what they were before it.
// Walk is several times faster for a run of events.
func (t *Timeline) Next(i int, now Totals) Totals {
	e := t.Dev.Events
	t.move(&now, i, e.ActionAt(i), e.SizeAt(i), t.BlockOf(i))
	return now
}
