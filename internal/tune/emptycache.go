package tune

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// A call of torch.cuda.empty_cache() is no event. It shows only as segments that are
// given back, and so does the allocator's own way out of a failed cudaMalloc, which
// another setting may never need. The two are told apart by the stack of the release
// (both record the Python frames that led to it), by what follows (a way out is
// followed by more memory, or by the failure), and by how much was reserved: where
// the recording later reserved as much as the request needed, no limit was in the
// way. Calls that found nothing to give back leave no trace and cannot be replayed.

// burst is a run of releases with nothing between them.
type burst struct {
	n           int
	from        int   // the first event
	before      int64 // reserved before it
	stack       snapshot.StackID
	sameStack   bool
	ownStacks   bool // each has the stack of its segment's allocation: nothing is known of the release
	collectable bool // garbage collection can have done it
	pools       []allocator.PoolID
}

func (u *burst) add(c *compiler, i int, b *snapshot.Batch, j int) {
	stack := snapshot.StackID(b.Stack[j])
	if u.n == 0 {
		*u = burst{from: i, before: c.reserved, stack: stack, sameStack: true, ownStacks: true, collectable: true, pools: u.pools[:0]}
	}
	u.n++
	u.sameStack = u.sameStack && stack == u.stack
	for _, g := range c.calls.endedAt(i) {
		u.ownStacks = u.ownStacks && g.Stack == stack
		u.collectable = u.collectable && !g.Small && !g.Expandable && g.Pool == snapshot.PoolID{}
		if p := c.pools.ofSegment(&g); p != (allocator.PoolID{}) && !slices.Contains(u.pools, p) {
			u.pools = append(u.pools, p)
		}
	}
}

// endBurst decides what the releases before event i were.
func (c *compiler) endBurst(i int, a snapshot.Action) {
	u := &c.burst
	if u.n == 0 {
		return
	}
	for _, pool := range u.pools {
		if c.inUse[pool] {
			c.inUse[pool] = false
			c.emit(opRelease, c.requestID(request{1, 0, pool}), u.from)
		}
	}
	if named := u.sameStack && c.calls.isCall(u.stack); named || c.isCall(i, a) {
		c.emit(opEmptyCache, 0, u.from)
		c.p.Notes.EmptyCaches++
		if named {
			c.p.Notes.NamedCaches++
		}
	} else if a.Grows() && !c.collected() {
		c.p.retries = append(c.p.retries, Retry{u.from, i, u.before + c.tl.Dev.Events.At(i).SizeBytes})
	}
	u.n = 0
}

// collected tells whether the burst can have been garbage collection.
func (c *compiler) collected() bool {
	s := c.tl.Rec.Settings
	return s != nil && s.GCThreshold > 0 && c.burst.collectable
}

// isCall tells whether a burst whose stack does not name the call was one.
func (c *compiler) isCall(i int, a snapshot.Action) bool {
	u := &c.burst
	if a == snapshot.OOM {
		return false
	}
	if !a.Grows() {
		return true
	}
	next := c.tl.Dev.Events.At(i)
	if u.sameStack && u.stack != 0 && next.Stack != 0 && !u.ownStacks {
		return u.stack != next.Stack
	}
	return !c.collected() && u.before+next.SizeBytes <= c.tl.Peak.Reserved.Bytes
}

// callFinder knows the segments that were given back and the stacks that name the call.
type callFinder struct {
	rec   *snapshot.Recording
	ended []timeline.Segment // in order of To
	named map[snapshot.StackID]bool
}

func newCallFinder(tl *timeline.Timeline) callFinder {
	f := callFinder{rec: tl.Rec, named: make(map[snapshot.StackID]bool)}
	for _, g := range tl.Segments {
		if g.To != timeline.Never {
			f.ended = append(f.ended, g)
		}
	}
	slices.SortStableFunc(f.ended, func(a, b timeline.Segment) int { return a.To - b.To })
	return f
}

// endedAt returns the segments, or parts of them, that event i gave back. Events come in order.
func (f *callFinder) endedAt(i int) []timeline.Segment {
	for len(f.ended) > 0 && f.ended[0].To < i {
		f.ended = f.ended[1:]
	}
	n := 0
	for n < len(f.ended) && f.ended[n].To == i {
		n++
	}
	gone := f.ended[:n]
	f.ended = f.ended[n:]
	return gone
}

// isCall tells whether a stack goes through torch.cuda.empty_cache.
func (f *callFinder) isCall(id snapshot.StackID) bool {
	known, ok := f.named[id]
	if !ok {
		known = slices.ContainsFunc(f.rec.Stacks.Frames(id), func(k snapshot.FrameID) bool {
			v := &f.rec.Frames[k]
			return v.Name == "empty_cache" && strings.Contains(v.Filename, "torch") || strings.Contains(v.Name, "emptyCache")
		})
		f.named[id] = known
	}
	return known
}
