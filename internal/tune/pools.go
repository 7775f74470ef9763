package tune

import (
	"slices"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// poolMap tells the pool of a request. Traces of torch 2.12 and newer name it; in
// older ones it is the pool of the segment in which the block lies.
type poolMap struct {
	events *snapshot.Events
	coming []timeline.Segment // of private pools, in order of From
	alive  []timeline.Segment // ascending by address
	lines  map[snapshot.StackID]bool
}

func newPoolMap(tl *timeline.Timeline) poolMap {
	m := poolMap{events: tl.Dev.Events}
	if m.events.HasPools {
		return m
	}
	m.lines = inferredLines(tl)
	for _, g := range tl.Segments {
		if p := m.ofSegment(&g); p != (allocator.PoolID{}) {
			g.Pool = snapshot.PoolID(p)
			m.coming = append(m.coming, g)
		}
	}
	return m
}

// ofSegment returns the pool of a segment.
func (m *poolMap) ofSegment(g *timeline.Segment) allocator.PoolID {
	if g.Pool == (snapshot.PoolID{}) && g.To != timeline.Never && m.lines[g.Stack] {
		return allocator.PoolID(snapshot.InferredPool)
	}
	return allocator.PoolID(g.Pool)
}

// inferredLines returns the stacks that made the segments of a pool which the recording
// does not name. Where addresses prove one of its segments to be private, the others
// that were freed before the dump need not show it: a segment made for a request that
// nothing would have served anyway looks alike in every pool. The code that asked tells.
func inferredLines(tl *timeline.Timeline) map[snapshot.StackID]bool {
	lines := make(map[snapshot.StackID]bool)
	for _, g := range tl.Segments {
		if g.Pool == snapshot.InferredPool && g.Stack != 0 {
			lines[g.Stack] = true
		}
	}
	return lines
}

// at returns the pool of the block that event i, row j of b, allocates.
func (m *poolMap) at(i int, b *snapshot.Batch, j int) allocator.PoolID {
	if m.events.HasPools {
		return m.named(b, j)
	}
	for len(m.coming) > 0 && m.coming[0].From < i {
		m.open(m.coming[0])
		m.coming = m.coming[1:]
	}
	k := m.search(b.Addr[j]+1) - 1
	if k < 0 {
		return allocator.PoolID{}
	}
	if g := &m.alive[k]; b.Addr[j] < g.Addr+uint64(g.SizeBytes) && i < g.To {
		return allocator.PoolID(g.Pool)
	}
	return allocator.PoolID{}
}

// named returns the pool that the event itself names, else the default pool.
func (m *poolMap) named(b *snapshot.Batch, j int) allocator.PoolID {
	if !m.events.HasPools {
		return allocator.PoolID{}
	}
	return allocator.PoolID(m.events.Pools[b.Pool[j]])
}

// search returns the first segment that begins at addr or after it.
func (m *poolMap) search(addr uint64) int {
	k, _ := slices.BinarySearchFunc(m.alive, addr, func(g timeline.Segment, addr uint64) int {
		if g.Addr < addr {
			return -1
		}
		return 1
	})
	return k
}

// open puts a segment in the place of those at its addresses, which are gone.
func (m *poolMap) open(g timeline.Segment) {
	from, to := m.search(g.Addr), m.search(g.Addr+uint64(g.SizeBytes))
	if from > 0 && m.alive[from-1].Addr+uint64(m.alive[from-1].SizeBytes) > g.Addr {
		from--
	}
	m.alive = slices.Replace(m.alive, from, to, g)
}
