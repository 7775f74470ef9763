package tune

import (
	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// Program is what a recorded program did to the allocator, without what the allocator
// made of it: requests, frees and calls of empty_cache, in order. It is immutable
// and safe for concurrent use.
type Program struct {
	TL    *timeline.Timeline
	Died  int // event of the failure that ended the recorded run; -1 for none
	Notes Notes

	ops      []op
	requests []request
	slots    int // live blocks at the most: ops name blocks by slots that are used again
	start    start
	retries  []Retry
}

// Retry is a request for memory of the driver that failed in the recording, and was made again
// after cached memory had been given back.
type Retry struct {
	From, To   int   // events: the first release, and the growth that succeeded
	WouldBytes int64 // reserved memory that the failed request would have led to
}

// Retries returns the retries of the recorded run, in order.
func (p *Program) Retries() []Retry { return p.retries }

// Notes counts what had to be inferred or left out to get from a recording to a Program.
type Notes struct {
	EmptyCaches   int // calls of empty_cache, inferred from segments that were given back
	NamedCaches   int // of these, those that a stack names; the others follow from what came after
	FailedBefore  int // requests that failed in the recording
	DeferredFrees int // frees that waited for another stream
	PrivatePools  int
	Workspaces    int // requests of convolutions that can do with less
	Odd           int // events that a sound recording does not hold, left out
}

// op is one step of a Program: 12 bytes, of which 5.2 million events make 42 MB.
type op struct {
	what    uint32 // kind in the upper bits, slot in the lower
	request uint32 // of opMalloc and opFail; of opRetain and opRelease, a request of the pool
	event   uint32
}

const (
	slotBits = 28 // 268 million live blocks are more than any device has room for
	slotMask = 1<<slotBits - 1
)

const (
	opMalloc     uint32 = iota << slotBits
	opWorkspace         // a malloc that the program can do without
	opFree              // freed, and free at once
	opRequested         // freed, still in use on another stream
	opCompleted         // the other stream is done with it
	opEmptyCache        // torch.cuda.empty_cache()
	opFail              // a request that failed in the recording
	opRetain            // a private pool comes to be
	opRelease           // nothing uses a private pool any more
)

// request is what a malloc asks for. Programs repeat themselves: there are fewer of
// these than mallocs by orders of magnitude.
type request struct {
	bytes  int64
	stream uint32
	pool   allocator.PoolID
}

// compiler turns the events of a timeline into ops.
type compiler struct {
	p  *Program
	tl *timeline.Timeline

	known  map[request]uint32
	slotOf []int32 // by block of the timeline; 0 for none, else slot + 1
	spare  []int32
	pools  poolMap
	inUse  map[allocator.PoolID]bool

	reserved int64 // after the last event
	burst    burst
	calls    callFinder
}

// Compile reads the program out of the replay of a recording. died is the event of
// the failed request that ended the run, or -1.
func Compile(tl *timeline.Timeline, died int) (*Program, error) {
	if err := usable(tl); err != nil {
		return nil, err
	}
	c := &compiler{
		p:      &Program{TL: tl, Died: died},
		tl:     tl,
		known:  make(map[request]uint32),
		slotOf: make([]int32, tl.NumBlocks()),
		pools:  newPoolMap(tl),
		inUse:  make(map[allocator.PoolID]bool),
		calls:  newCallFinder(tl),
	}
	c.reserved = tl.Start.Reserved
	c.p.ops = make([]op, 0, 2*tl.Replay.Allocs+64)
	c.startState()
	var b snapshot.Batch
	for k := range tl.Dev.Events.Chunks() {
		tl.Dev.Events.Chunk(k, &b)
		for j, a := range b.Action {
			c.event(b.First+j, snapshot.Action(a), &b, j)
		}
	}
	c.endBurst(tl.Dev.Events.Len(), snapshot.UnknownAction)
	c.p.Notes.PrivatePools = len(c.inUse)
	c.markWorkspaces()
	return c.p, nil
}

func (c *compiler) event(i int, a snapshot.Action, b *snapshot.Batch, j int) {
	switch a {
	case snapshot.SegmentFree, snapshot.SegmentUnmap:
		c.burst.add(c, i, b, j)
		c.reserved -= int64(b.Size[j])
		return
	case snapshot.Alloc, snapshot.FreeRequested, snapshot.FreeCompleted, snapshot.SegmentAlloc, snapshot.SegmentMap, snapshot.OOM:
		c.endBurst(i, a)
	}
	switch a {
	case snapshot.SegmentAlloc, snapshot.SegmentMap:
		c.reserved += int64(b.Size[j])
	case snapshot.Alloc:
		c.malloc(i, request{int64(b.Size[j]), uint32(b.Stream[j]), c.pools.at(i, b, j)})
	case snapshot.FreeRequested:
		c.requested(i)
	case snapshot.FreeCompleted:
		c.completed(i)
	case snapshot.OOM:
		c.p.Notes.FailedBefore++
		c.emit(opFail, c.requestID(request{int64(b.Size[j]), uint32(b.Stream[j]), c.pools.named(b, j)}), i)
	}
}

func (c *compiler) emit(what, request uint32, event int) {
	c.p.ops = append(c.p.ops, op{what, request, uint32(event)})
}

func (c *compiler) requestID(r request) uint32 {
	id, ok := c.known[r]
	if !ok {
		id = uint32(len(c.p.requests))
		c.p.requests = append(c.p.requests, r)
		c.known[r] = id
	}
	return id
}

func (c *compiler) malloc(i int, r request) {
	block := c.tl.BlockOf(i)
	if block < 0 || r.bytes <= 0 {
		c.p.Notes.Odd++
		return
	}
	c.retain(i, r)
	c.emit(opMalloc|c.take(block), c.requestID(r), i)
}

// retain tells that a private pool is in use, before the first request for it.
func (c *compiler) retain(i int, r request) {
	if (r.pool == allocator.PoolID{}) || c.inUse[r.pool] {
		return
	}
	c.inUse[r.pool] = true
	c.emit(opRetain, c.requestID(r), i)
}

// take gives a block a slot.
func (c *compiler) take(block int) uint32 {
	var slot int32
	if n := len(c.spare); n > 0 {
		slot, c.spare = c.spare[n-1], c.spare[:n-1]
	} else {
		slot = int32(c.p.slots)
		c.p.slots++
	}
	c.slotOf[block] = slot + 1
	return uint32(slot)
}

// held returns the slot of the block that event i is about.
func (c *compiler) held(i int) (block int, slot uint32, ok bool) {
	block = c.tl.BlockOf(i)
	if block < 0 || c.slotOf[block] == 0 {
		return block, 0, false
	}
	return block, uint32(c.slotOf[block] - 1), true
}

func (c *compiler) requested(i int) {
	block, slot, ok := c.held(i)
	if !ok {
		c.p.Notes.Odd++
		return
	}
	if c.tl.Life(block).FreeCompleted == i+1 {
		c.emit(opFree|slot, 0, i)
		c.giveBack(block)
		return
	}
	c.p.Notes.DeferredFrees++
	c.emit(opRequested|slot, 0, i)
}

func (c *compiler) completed(i int) {
	block, slot, ok := c.held(i)
	if !ok {
		if block < 0 || c.tl.Life(block).FreeRequested != i-1 {
			c.p.Notes.Odd++
		}
		return // freed with the event before
	}
	if c.tl.Life(block).FreeRequested == i { // its request was not recorded
		c.emit(opFree|slot, 0, i)
	} else {
		c.emit(opCompleted|slot, 0, i)
	}
	c.giveBack(block)
}

func (c *compiler) giveBack(block int) {
	c.spare = append(c.spare, c.slotOf[block]-1)
	c.slotOf[block] = 0
}

// Len returns how many calls of the allocator a program makes.
func (p *Program) Len() int { return len(p.ops) }
