package lod

import "slices"

// Bands are what groups have allocated over consecutive runs of events, in bytes. The
// last of them is everything else, NoGroup.
type Bands struct {
	Edge   []int // bucket j is events [Edge[j], Edge[j+1])
	At     []int // by bucket: the first event after which allocated is highest; -1 where it has no events
	Groups []uint32
	Peak   [][]int64   // by group and bucket: after event At; the groups add up to allocated
	Mean   [][]float64 // by group and bucket: over its events. Without events, both are what stood before
}

// Bands returns what groups hold over the buckets between edges; see Counters.Buckets.
func (g *Grouping) Bands(edge []int, groups []uint32) *Bands {
	c := g.d.Counters
	b := &Bands{Edge: edge, Groups: append(slices.Clone(groups), NoGroup)}
	var restPeak []int64
	b.At, restPeak = c.peaks(edge)
	rest := make([]float64, len(b.At))
	for j, sum := range c.areas(edge) {
		rest[j] = b.mean(j, sum, restPeak[j])
	}
	for _, k := range groups {
		peak, mean := g.band(b, k)
		for j := range rest {
			restPeak[j] -= peak[j]
			rest[j] = max(rest[j]-mean[j], 0) // the difference of two roundings may be below
		}
		b.Peak, b.Mean = append(b.Peak, peak), append(b.Mean, mean)
	}
	b.Peak, b.Mean = append(b.Peak, restPeak), append(b.Mean, rest)
	return b
}

// mean returns the mean of bucket j from the sum over its events, or else what stood
// before it.
func (b *Bands) mean(j int, sum uint64, before int64) float64 {
	if n := b.Edge[j+1] - b.Edge[j]; n > 0 {
		return float64(sum) / float64(n)
	}
	return float64(before)
}

// areas returns allocated added up over the events of each bucket.
func (c *Counters) areas(edge []int) []uint64 {
	out := make([]uint64, len(edge)-1)
	before := c.sumBefore(edge[0])
	for j := range out {
		if edge[j+1] > edge[j] {
			next := c.sumBefore(edge[j+1])
			out[j], before = next-before, next
		}
	}
	return out
}

// band returns what one group has in each bucket.
func (g *Grouping) band(b *Bands, group uint32) (peak []int64, mean []float64) {
	n := len(b.Edge) - 1
	peak, mean = make([]int64, n), make([]float64, n)
	c := g.cursor(group)
	area := func(event int) uint64 {
		s := c.before(event)
		return uint64(event)*uint64(s.held) - s.moment
	}
	before := area(b.Edge[0])
	for j := range n {
		if b.At[j] < 0 {
			peak[j] = c.before(b.Edge[j]).held
			mean[j] = float64(peak[j])
			continue
		}
		peak[j] = c.before(b.At[j] + 1).held
		next := area(b.Edge[j+1])
		mean[j], before = b.mean(j, next-before, 0), next
	}
	return peak, mean
}
