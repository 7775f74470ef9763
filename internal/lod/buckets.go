package lod

import "github.com/ullage-dev/ullage/internal/timeline"

// Buckets are the counters over consecutive runs of events, in bytes. A bucket without
// events has the value before it as lowest, highest and last.
type Buckets struct {
	Edge           []int // bucket j is events [Edge[j], Edge[j+1])
	Min, Max, Last [numSeries][]int64
}

// Buckets returns the counters over the buckets between edges, which ascend within
// [0, Device.Events]; there are at least two. The highest value is never lost: each event is in one bucket.
func (c *Counters) Buckets(edge []int) *Buckets {
	n := len(edge) - 1
	b := &Buckets{Edge: edge}
	for s := range numSeries {
		all := make([]int64, 3*n)
		b.Min[s], b.Max[s], b.Last[s] = all[:n:n], all[n:2*n:2*n], all[2*n:]
	}
	if edge[n]-edge[0] <= c.walkUpTo {
		c.walk(b)
		return b
	}
	for j := range n {
		last := valuesOf(c.before(edge[j+1]))
		x := extent{last, last}
		if edge[j] < edge[j+1] {
			x = c.extent(edge[j], edge[j+1])
		}
		b.set(j, x, last)
	}
	return b
}

func (b *Buckets) set(j int, x extent, last values) {
	for s := range numSeries {
		b.Min[s][j], b.Max[s][j], b.Last[s][j] = x.min[s], x.max[s], last[s]
	}
}

// walk fills b from a replay of all its events.
func (c *Counters) walk(b *Buckets) {
	n := len(b.Edge) - 1
	j, last := 0, valuesOf(c.before(b.Edge[0]))
	x := extent{last, last}
	c.tl.Walk(b.Edge[0], b.Edge[n], func(i int, now timeline.Totals) {
		for ; i >= b.Edge[j+1]; j++ {
			b.set(j, x, last)
			x = extent{last, last}
		}
		last = valuesOf(now)
		if i == b.Edge[j] {
			x = extent{last, last}
		} else {
			x.join(extent{last, last})
		}
	})
	for ; j < n; j++ {
		b.set(j, x, last)
		x = extent{last, last}
	}
}

// peaks returns for each bucket the first event after which allocated is highest, and
// how high that is; -1 and what stood before it where it has no events.
func (c *Counters) peaks(edge []int) (at []int, bytes []int64) {
	n := len(edge) - 1
	at, bytes = make([]int, n), make([]int64, n)
	if edge[n]-edge[0] <= c.walkUpTo {
		c.walkPeaks(edge, at, bytes)
		return at, bytes
	}
	for j := range n {
		if edge[j] < edge[j+1] {
			at[j], bytes[j] = c.peak(edge[j], edge[j+1], len(c.levels))
		} else {
			at[j], bytes[j] = -1, c.before(edge[j]).Allocated
		}
	}
	return at, bytes
}

// walkPeaks is peaks from a replay of all events.
func (c *Counters) walkPeaks(edge, at []int, bytes []int64) {
	j, last := 0, c.before(edge[0]).Allocated
	at[0], bytes[0] = -1, last
	next := func() {
		if j++; j < len(at) {
			at[j], bytes[j] = -1, last
		}
	}
	c.tl.Walk(edge[0], edge[len(at)], func(i int, now timeline.Totals) {
		for i >= edge[j+1] {
			next()
		}
		if last = now.Allocated; at[j] < 0 || last > bytes[j] {
			at[j], bytes[j] = i, last
		}
	})
	for j < len(at) {
		next()
	}
}
