package timeline

import (
	"errors"
	"slices"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/snapshot"
)

// segment replays the segment event i, row j of b. What the table of segments says is
// what the placer has: the same memory, after every event of any recording.
func (r *replayer) segment(i int, a snapshot.Action, b *snapshot.Batch, j int) {
	addr, size, stream := b.Addr[j], int64(b.Size[j]), snapshot.StreamID(b.Stream[j])
	var pool snapshot.PoolID
	if len(r.pools) > 0 {
		pool, r.pools = r.pools[0], r.pools[1:]
	}
	before := r.mapped.bytes
	native := !isMap(a) || r.host
	var err error
	switch {
	case a.Grows():
		if err = r.p.grow(a, addr, size, stream, pool); !errors.Is(err, allocator.ErrSize) {
			r.clearSegments(i, addr, addr+uint64(size)) // memory that was there was returned unseen
			r.openSegment(Segment{
				From: i, To: Never, Addr: addr, SizeBytes: size, Stream: stream, Pool: pool,
				Small: size <= smallSegmentBytes, Expandable: !native, Stack: snapshot.StackID(b.Stack[j]),
			})
		}
	case native:
		err = r.p.shrink(a, addr, size)
		r.freeSegment(i, addr)
	default:
		if err = r.p.shrink(a, addr, size); !errors.Is(err, allocator.ErrSize) {
			r.unmapSegments(i, addr, addr+uint64(size))
		}
	}
	r.settleSegment(i, a, size, before, err)
}

// isMap tells whether a is about pages of an expandable segment.
func isMap(a snapshot.Action) bool { return a == snapshot.SegmentMap || a == snapshot.SegmentUnmap }

// settleSegment ends the blocks whose memory went with segment event i, and notes
// where more or less memory moved than the event says.
func (r *replayer) settleSegment(i int, a snapshot.Action, sizeBytes, before int64, err error) {
	if err != nil {
		r.t.Replay.Odd.note(err)
	}
	moved, said := r.mapped.bytes-before, sizeBytes
	if !a.Grows() {
		said = -sizeBytes
	}
	fix := Totals{Reserved: moved - said}
	for _, lost := range r.p.lost() {
		id := int(r.ids[lost.Block])
		l := r.t.Life(id)
		if l.FreeRequested == Never {
			r.t.blocks.setRequested(id, i)
			fix.Allocated -= l.SizeBytes
		}
		r.t.blocks.setCompleted(id, i)
		fix.Active -= l.SizeBytes
		fix.Requested -= lost.RequestedBytes
	}
	r.t.correct(i, fix)
}

// correct makes event i move the counters by more than its kind and size say. Only
// recordings that do not fit together need it.
func (t *Timeline) correct(i int, by Totals) {
	if by == (Totals{}) {
		return
	}
	if t.odd == nil {
		t.odd = make(map[int]Totals)
	}
	t.odd[i] = by
}

func (r *replayer) openSegment(g Segment) {
	r.t.Segments = append(r.t.Segments, g)
	r.mapped.add(g.Addr, g.Addr+uint64(g.SizeBytes), int32(len(r.t.Segments)-1))
}

// clearSegments ends what is mapped in a range: of expandable segments the part that
// lies in it, native ones whole.
func (r *replayer) clearSegments(i int, from, to uint64) {
	for _, g := range r.mapped.over(from, to) {
		if r.t.Segments[g.id].Expandable {
			r.closeSegment(i, g, max(from, g.from), min(to, g.to))
		} else {
			r.closeSegment(i, g, g.from, g.to)
		}
	}
}

// freeSegment ends the native segment at addr, if there is one.
func (r *replayer) freeSegment(i int, addr uint64) {
	if g, ok := r.mapped.find(addr); ok && g.from == addr && !r.t.Segments[g.id].Expandable {
		r.closeSegment(i, g, g.from, g.to)
	}
}

// unmapSegments ends the parts of expandable segments in a range, from its end down to
// the first native one: pages never lie beyond it.
func (r *replayer) unmapSegments(i int, from, to uint64) {
	for _, g := range slices.Backward(r.mapped.over(from, to)) {
		if !r.t.Segments[g.id].Expandable {
			return
		}
		r.closeSegment(i, g, max(from, g.from), min(to, g.to))
	}
}

// closeSegment ends the part [from, to) of g at event i. What lies outside goes on as a
// segment of its own.
func (r *replayer) closeSegment(i int, g mapped, from, to uint64) {
	r.mapped.cut(g.from, g.to)
	was := &r.t.Segments[g.id]
	was.To = i
	rest := *was
	rest.From, rest.To = i, Never
	for _, part := range [][2]uint64{{g.from, from}, {to, g.to}} {
		if part[0] < part[1] {
			rest.Addr, rest.SizeBytes = part[0], int64(part[1]-part[0])
			r.openSegment(rest)
		}
	}
}

// load puts the state before the first event in place.
func (r *replayer) load(s *start) {
	k := 0
	for _, g := range s.segments {
		first := k
		for end := g.Addr + uint64(g.SizeBytes); k < len(s.blocks) && s.blocks[k].addr < end; k++ {
		}
		blocks := r.t.Replay.Odd.fitting(s.blocks[first:k], g, r.host)
		if err := r.p.load(g, blocks); err != nil {
			r.t.Replay.Odd.note(err)
			continue
		}
		r.now.Reserved += g.SizeBytes
		r.openSegment(g)
		for _, b := range blocks {
			r.addStart(b)
		}
	}
	r.t.Replay.Odd.OutsideSegment += len(s.blocks) - k
}

// fitting returns the blocks that segment g has room for, one after the other, and
// counts the rest. A segment of host memory is one block.
func (o *Odd) fitting(blocks []startBlock, g Segment, host bool) []startBlock {
	at, end := g.Addr, g.Addr+uint64(g.SizeBytes)
	var fit []startBlock
	for _, b := range blocks {
		switch {
		case b.sizeBytes <= 0:
			o.BadSize++
		case b.addr < g.Addr || uint64(b.sizeBytes) > end-b.addr || host && b.addr != g.Addr:
			o.OutsideSegment++
		case b.addr < at:
			o.Overlap++
		default:
			fit = append(fit, b)
			at = b.addr + uint64(b.sizeBytes)
		}
	}
	return fit
}

func (r *replayer) addStart(b startBlock) {
	id := r.t.blocks.addInitial(b.initialBlock, b.sizeBytes)
	r.name(r.p.at(b.addr), id)
	r.now.Requested += b.requestedBytes
	r.now.Active += b.sizeBytes
	if b.pending {
		r.t.blocks.setRequested(id, -1)
	} else {
		r.now.Allocated += b.sizeBytes
	}
}

// note counts an error of the allocator by its kind.
func (o *Odd) note(err error) {
	switch {
	case errors.Is(err, allocator.ErrOverlap):
		o.Overlap++
	case errors.Is(err, allocator.ErrSize):
		o.BadSize++
	default:
		o.OutsideSegment++
	}
}
