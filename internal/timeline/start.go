package timeline

import (
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/snapshot"
)

// start is memory before the first event, inferred from the dump and the events.
type start struct {
	segments []Segment // ascending by address
	blocks   []startBlock
	pools    []snapshot.PoolID // of every event that moves segments, in order
	page     int64             // of large expandable segments; 0 is PyTorch's
	moves    []int             // events of segments, as pools has them
	nameless []int             // of these, ones that bring a segment of which nothing tells the pool
}

type startBlock struct {
	initialBlock
	sizeBytes int64 // 0 while only the request is known
	pending   bool  // its free was requested before the first event
}

// inferStart undoes the events of dev from its state at the dump.
//
// Segments are few, and undone one by one from the last event to the first.
// Blocks need no undoing: a block that was live before the first event is one
// whose address is freed in the window before anything is allocated there, or one
// that is live at the dump although nothing was allocated there in the window.
//
// pageBytes is what large expandable segments grow by.
func inferStart(dev *snapshot.Device, segmentEvents []int, pageBytes int64) *start {
	s := &start{page: pageBytes}
	s.undoSegments(dev, segmentEvents)
	if len(s.segments) > 0 {
		s.findBlocks(dev)
	}
	return s
}

// coldStart is the start of a recording that begins before the first allocation: there
// is nothing but the pools of what comes.
func coldStart(dev *snapshot.Device, segmentEvents []int) *start {
	s := &start{pools: make([]snapshot.PoolID, len(segmentEvents))}
	for k, i := range segmentEvents {
		if dev.Events.HasPools {
			s.pools[k] = dev.Events.Pools[dev.Events.At(i).Pool]
		}
	}
	return s
}

// findSegmentEvents returns the ordinals of the events that move segments.
func findSegmentEvents(e *snapshot.Events) []int {
	var list []int
	b := snapshot.Batch{Want: snapshot.WithAction}
	for k := range e.Chunks() {
		e.Chunk(k, &b)
		for j, v := range b.Action {
			if snapshot.Action(v).MovesSegment() {
				list = append(list, b.First+j)
			}
		}
	}
	return list
}

// undoing is the segments while events are undone.
type undoing struct {
	ranges
	table  []Segment
	events *snapshot.Events
	freed  map[int32]bool // segments of the table that were freed before the dump: nothing tells their pool
	page   int64
	host   bool
}

func (s *start) undoSegments(dev *snapshot.Device, segmentEvents []int) {
	u := undoing{events: dev.Events, freed: make(map[int32]bool), page: cmp.Or(s.page, largePageBytes), host: dev.Kind == snapshot.Host}
	for i := range dev.Segments {
		g := &dev.Segments[i]
		u.put(Segment{Addr: g.Addr, SizeBytes: g.SizeBytes, Stream: g.Stream, Pool: g.Pool, Small: g.Kind == snapshot.SmallSegment, Expandable: g.Expandable && !u.host, Stack: g.Stack})
	}
	s.pools = make([]snapshot.PoolID, len(segmentEvents))
	s.moves = segmentEvents
	for k, i := range slices.Backward(segmentEvents) {
		var known bool
		if s.pools[k], known = u.undo(dev.Events.At(i)); !known {
			s.nameless = append(s.nameless, i)
		}
	}
	slices.Reverse(s.nameless)
	for _, r := range u.all() {
		g := u.table[r.id]
		g.Addr, g.SizeBytes = r.from, int64(r.to-r.from)
		g.From, g.To = -1, Never
		if n := len(s.segments); n > 0 && s.segments[n-1].joins(g) {
			s.segments[n-1].SizeBytes += g.SizeBytes // blocks reach from one range into the next
			continue
		}
		s.segments = append(s.segments, g)
	}
}

// manyPools tells whether any segment is of a pool beside the default one.
func (s *start) manyPools() bool {
	other := func(p snapshot.PoolID) bool { return p != snapshot.PoolID{} }
	return slices.ContainsFunc(s.pools, other) || slices.ContainsFunc(s.segments, func(g Segment) bool { return other(g.Pool) })
}

// put adds a segment. What was taken to be there before is not: of two that contradict
// each other, the one nearer to the start tells about the start.
func (u *undoing) put(g Segment) {
	if !possible(g.Addr, g.SizeBytes) {
		return // counted when it is replayed
	}
	u.table = append(u.table, g)
	u.cut(g.Addr, g.Addr+uint64(g.SizeBytes))
	u.add(g.Addr, g.Addr+uint64(g.SizeBytes), int32(len(u.table)-1))
}

// undo takes one event back and returns the pool of its segment; of one that brought
// a segment, also whether that is known. Before torch 2.12 it is known only of
// segments that live on to the dump, or touch one that does.
func (u *undoing) undo(e snapshot.Event) (pool snapshot.PoolID, known bool) {
	from, to := e.Addr, e.Addr+uint64(e.SizeBytes)
	if u.events.HasPools {
		pool = u.events.Pools[e.Pool]
	}
	if e.Action.Grows() {
		if !possible(from, e.SizeBytes) {
			return pool, true
		}
		gone := u.cut(from, to)
		if len(gone) == 0 || u.events.HasPools {
			return pool, true
		}
		return u.table[gone[0].id].Pool, !u.freed[gone[0].id]
	}
	g := Segment{Addr: from, SizeBytes: e.SizeBytes, Stream: e.Stream, Pool: pool, Small: e.SizeBytes <= smallSegmentBytes, Expandable: e.Action == snapshot.SegmentUnmap && !u.host}
	if g.Expandable {
		g.Small = e.SizeBytes%u.page != 0 // several small pages are unmapped at once, too
	}
	named := u.events.HasPools
	if id, ok := u.near(from, to); ok && g.Expandable {
		g.Small = u.table[id].Small
		if !named {
			g.Pool, named = u.table[id].Pool, !u.freed[id]
		}
	}
	u.put(g)
	if !named {
		u.freed[int32(len(u.table)-1)] = true
	}
	return g.Pool, true
}

// largePageBytes is what large expandable segments grow by, unless they are told
// otherwise.
const largePageBytes = 20 << 20

// smallSegmentBytes is the size of every native segment of a small pool; a large
// one is at least 20 MiB, or 11 MiB with large_segment_size_mb at its smallest.
const smallSegmentBytes = 2 << 20

// findBlocks finds the blocks that were live before the first event.
func (s *start) findBlocks(dev *snapshot.Device) {
	seen := make(map[uint64]struct{}) // addresses whose first event in the window has been met
	var b snapshot.Batch
	for k := range dev.Events.Chunks() {
		dev.Events.Chunk(k, &b)
		for j, v := range b.Action {
			action := snapshot.Action(v)
			if action != snapshot.Alloc && action != snapshot.FreeRequested && action != snapshot.FreeCompleted {
				continue
			}
			if _, ok := seen[b.Addr[j]]; ok {
				continue
			}
			seen[b.Addr[j]] = struct{}{}
			if action != snapshot.Alloc {
				s.blocks = append(s.blocks, startBlock{
					initialBlock: initialBlock{addr: b.Addr[j], requestedBytes: int64(b.Size[j]), stream: snapshot.StreamID(b.Stream[j])},
					pending:      action == snapshot.FreeCompleted,
				})
			}
		}
	}
	s.blocksOfDump(dev, seen)
	slices.SortFunc(s.blocks, func(a, b startBlock) int { return cmp.Compare(a.addr, b.addr) })
}

// blocksOfDump adds the blocks live at the dump that no event of the window touched.
func (s *start) blocksOfDump(dev *snapshot.Device, seen map[uint64]struct{}) {
	for i := range dev.Segments {
		g := &dev.Segments[i]
		for _, b := range dev.Blocks[g.FirstBlock : g.FirstBlock+g.NumBlocks] {
			if _, ok := seen[b.Addr]; ok || b.State == snapshot.Inactive {
				continue
			}
			s.blocks = append(s.blocks, startBlock{
				initialBlock: initialBlock{addr: b.Addr, requestedBytes: b.RequestedBytes, stack: b.Stack, stream: g.Stream},
				sizeBytes:    b.SizeBytes,
				pending:      b.State == snapshot.PendingFree,
			})
		}
	}
}

// maxTailBytes is the largest remainder that a large native block keeps unsplit.
const maxTailBytes = 1 << 20

// settle gives every block of the start its size. round is the allocator's rounding.
func (s *start) settle(round func(int64) int64) {
	k := 0
	for _, g := range s.segments {
		end := g.Addr + uint64(g.SizeBytes)
		for ; k < len(s.blocks) && s.blocks[k].addr < end; k++ {
			next := end
			if k+1 < len(s.blocks) && s.blocks[k+1].addr < end {
				next = s.blocks[k+1].addr
			}
			s.blocks[k].settle(g, next, round)
		}
	}
}

// settle gives a block its size, unless the dump told it. next is where the block after
// it, or the end of its segment, is. No free block of a large native segment is as
// small as 1 MiB, so that a gap of at most 1 MiB behind a block of unknown size is that
// block's own tail.
func (b *startBlock) settle(g Segment, next uint64, round func(int64) int64) {
	switch {
	case b.requestedBytes < 0 || b.requestedBytes > maxSizeBytes || next < b.addr:
		b.sizeBytes = 0 // it can't be
		return
	case b.sizeBytes == 0:
		room := int64(next - b.addr)
		b.sizeBytes = min(round(b.requestedBytes), room) // the neighbour is certain, the rounding is not
		if gap := room - b.sizeBytes; !g.Small && !g.Expandable && gap <= maxTailBytes {
			b.sizeBytes += gap
		}
	}
	b.requestedBytes = min(b.requestedBytes, b.sizeBytes)
}
