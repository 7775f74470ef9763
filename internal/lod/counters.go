package lod

import (
	"github.com/ullage-dev/ullage/internal/column"
	"github.com/ullage-dev/ullage/internal/timeline"
)

// Series is one of the counters of a device.
type Series uint8

// The counters, in the order in which tiles have them.
const (
	Allocated Series = iota
	Reserved
	Active
	Requested
	numSeries
)

// values are all counters at one moment, in bytes, by Series.
type values [numSeries]int64

func valuesOf(t timeline.Totals) values {
	return values{Allocated: t.Allocated, Reserved: t.Reserved, Active: t.Active, Requested: t.Requested}
}

func (v values) totals() timeline.Totals {
	return timeline.Totals{Allocated: v[Allocated], Reserved: v[Reserved], Active: v[Active], Requested: v[Requested]}
}

// Counters is a pyramid over the counters after each event. A node of level l ≥ 1 is
// groupLen^l events; those of level 0, the events themselves, are replayed when they
// are needed. The columns are packed: about 3 bytes an event in all.
type Counters struct {
	tl       *timeline.Timeline
	n        int
	walkUpTo int              // events that a query replays rather than looks up
	levels   []level          // levels[0] is level 1
	last     [4]column.Column // by node of level 1: the counters after its last event
	sum      column.Column    // by node of level 1: allocated after each event before it, added up, modulo 2^64
}

// walkEvents is where a replay of 65,536 events, 1 ms, and 4,096 buckets looked up take
// about as long.
const walkEvents = 1 << 16

type level struct{ min, max [numSeries]column.Column }

// extent is the lowest and the highest of each counter over some events.
type extent struct{ min, max values }

func (x *extent) join(y extent) {
	for s := range x.min {
		x.min[s], x.max[s] = min(x.min[s], y.min[s]), max(x.max[s], y.max[s])
	}
}

// add appends a node.
func (l *level) add(x extent) {
	for s := range x.min {
		l.min[s].Append(uint64(x.min[s]))
		l.max[s].Append(uint64(x.max[s]))
	}
}

func (l *level) at(node int) (x extent) {
	for s := range x.min {
		x.min[s], x.max[s] = int64(l.min[s].At(node)), int64(l.max[s].At(node))
	}
	return x
}

func newCounters(tl *timeline.Timeline) *Counters {
	c := &Counters{tl: tl, n: tl.Dev.Events.Len(), walkUpTo: walkEvents, levels: make([]level, 1)}
	var x extent
	var sum uint64
	tl.Walk(0, c.n, func(i int, now timeline.Totals) {
		v := valuesOf(now)
		if i%groupLen == 0 {
			x = extent{v, v}
			c.sum.Append(sum)
		} else {
			x.join(extent{v, v})
		}
		sum += uint64(now.Allocated)
		if i%groupLen == groupLen-1 || i == c.n-1 {
			c.levels[0].add(x)
			for s := range v {
				c.last[s].Append(uint64(v[s]))
			}
		}
	})
	for nodes := (c.n + groupLen - 1) / groupLen; nodes > 1; nodes = (nodes + groupLen - 1) / groupLen {
		c.levels = append(c.levels, above(&c.levels[len(c.levels)-1], nodes))
	}
	c.trim()
	return c
}

// above makes the level above one of that many nodes.
func above(l *level, nodes int) (up level) {
	for first := 0; first < nodes; first += groupLen {
		x := l.at(first)
		for k := first + 1; k < min(first+groupLen, nodes); k++ {
			x.join(l.at(k))
		}
		up.add(x)
	}
	return up
}

func (c *Counters) trim() {
	c.sum.Trim()
	for s := range c.last {
		c.last[s].Trim()
	}
	for k := range c.levels {
		for s := range c.levels[k].min {
			c.levels[k].min[s].Trim()
			c.levels[k].max[s].Trim()
		}
	}
}

// before returns the counters before event i.
func (c *Counters) before(i int) timeline.Totals {
	g := i / groupLen
	now := c.beforeGroup(g)
	for e := g * groupLen; e < i; e++ {
		now = c.tl.Next(e, now)
	}
	return now
}

func (c *Counters) beforeGroup(g int) timeline.Totals {
	if g == 0 {
		return c.tl.Start
	}
	var v values
	for s := range v {
		v[s] = int64(c.last[s].At(g - 1))
	}
	return v.totals()
}

// At returns the counters after event i; -1 is before the first. What lies outside the
// recording is taken for its nearest end.
func (c *Counters) At(i int) timeline.Totals { return c.before(min(max(i, -1), c.n-1) + 1) }

// nodes calls f for the fewest nodes, of levels up to top, that make up events [a, b),
// in order.
func (c *Counters) nodes(a, b, top int, f func(level, node int)) {
	for a < b {
		l, size := 0, 1
		for l < top && a%(size*groupLen) == 0 && (a+size*groupLen <= b || b == c.n) {
			l, size = l+1, size*groupLen
		}
		f(l, a/size)
		a += size
	}
}

// extent returns the lowest and highest values after events [a, b), of which there is
// at least one.
func (c *Counters) extent(a, b int) (x extent) {
	first := true
	now, at := timeline.Totals{}, -1 // the event before which now holds
	c.nodes(a, b, len(c.levels), func(l, node int) {
		var y extent
		if l > 0 {
			y = c.levels[l-1].at(node)
		} else {
			if at != node {
				now = c.before(node)
			}
			now, at = c.tl.Next(node, now), node+1
			y = extent{valuesOf(now), valuesOf(now)}
		}
		if first {
			x, first = y, false
		}
		x.join(y)
	})
	return x
}

// peak returns how high allocated is after events [a, b), of which there is at least
// one, and the first of them after which it is. It looks at nodes of levels up to top.
func (c *Counters) peak(a, b, top int) (event int, bytes int64) {
	level, best := 0, -1
	now, at := timeline.Totals{}, -1 // the event before which now holds
	c.nodes(a, b, top, func(l, node int) {
		var highest int64
		if l > 0 {
			highest = int64(c.levels[l-1].max[Allocated].At(node))
		} else {
			if at != node {
				now = c.before(node)
			}
			now, at = c.tl.Next(node, now), node+1
			highest = now.Allocated
		}
		if best < 0 || highest > bytes {
			level, best, bytes = l, node, highest
		}
	})
	if level == 0 {
		return best, bytes
	}
	size := 1 << (groupBits * level)
	return c.peak(best*size, min((best+1)*size, c.n), level-1)
}

// sumBefore returns allocated after each of the events before i, added up, modulo 2^64.
func (c *Counters) sumBefore(i int) uint64 {
	g := i / groupLen
	if g*groupLen == c.n {
		g-- // there is no node that begins at the end
	}
	if g < 0 {
		return 0
	}
	sum, now := c.sum.At(g), c.beforeGroup(g)
	for e := g * groupLen; e < i; e++ {
		now = c.tl.Next(e, now)
		sum += uint64(now.Allocated)
	}
	return sum
}
