package timeline

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ullage-dev/ullage/snapshot"
)

// What the search for private pools may cost: a round tries every suspect once, and a
// trial is a replay. A recording of 10^5 events takes 10 ms a trial.
const (
	maxSuspects  = 8          // that are tried in a round
	maxTrialWork = 20_000_000 // events replayed in all
)

// withPools finds private pools that were given back before the dump. Before torch
// 2.12 events do not name their pool, and the dump knows those of segments that live on
// only: what a CUDA graph or a MemPool held must be told from the addresses.
//
// It replays again, where t differs from its recording, with segments in a
// private pool of which the recording does not tell the pool: those, one after the
// other, that bring the most blocks to their recorded address. It returns t where
// none does.
func withPools(t *Timeline, s *start) *Timeline {
	place := make(map[int]int, len(s.moves)) // in s.pools, by event
	for k, i := range s.moves {
		place[i] = k
	}
	work := 0
	for len(s.nameless) > 0 && t.Replay.Equal < t.Replay.Allocs {
		w := &poolWatch{nameless: s.nameless, suspects: make(map[int]int)}
		replayAll(t.Rec, t.Dev, t.Config, s, w)
		best := t
		found := -1
		for _, i := range w.worst() {
			if work += t.Dev.Events.Len(); work > maxTrialWork {
				break
			}
			s.pools[place[i]] = snapshot.InferredPool
			if trial := replayAll(t.Rec, t.Dev, t.Config, s, nil); trial.Replay.Equal > best.Replay.Equal {
				best, found = trial, i
			}
			s.pools[place[i]] = snapshot.PoolID{}
		}
		if found < 0 {
			return t
		}
		t = best
		s.pools[place[found]] = snapshot.InferredPool
		s.nameless = slices.DeleteFunc(s.nameless, func(i int) bool { return i == found })
	}
	return t
}

// poolWatch looks, during a replay, for segments that are perhaps not of the default pool.
type poolWatch struct {
	nameless []int       // ascending: events that bring a segment of which nothing tells the pool
	suspects map[int]int // of these, how often one was in the way of a request, or unexpectedly served one
}

func (w *poolWatch) suspect(g *Segment) {
	if _, ok := slices.BinarySearch(w.nameless, g.From); ok {
		w.suspects[g.From]++
	}
}

// worst returns the likeliest suspects first.
func (w *poolWatch) worst() []int {
	list := slices.SortedFunc(maps.Keys(w.suspects), func(a, b int) int {
		return cmp.Or(cmp.Compare(w.suspects[b], w.suspects[a]), cmp.Compare(a, b))
	})
	return list[:min(len(list), maxSuspects)]
}

// alloc looks at the request of event i, which the recording served in segment at:
// the allocator would have put it into segment chosen without asking the driver.
func (w *poolWatch) alloc(i int, at, chosen *Segment, same bool) {
	if at == nil || chosen == nil || same {
		return
	}
	if at != chosen || at.From == i-1 { // a better place elsewhere, or growth although there was room
		w.suspect(at)
		w.suspect(chosen)
	}
}

// watchAlloc shows the request of event i to the watch.
func (r *replayer) watchAlloc(i int, addr uint64, requestedBytes int64, stream snapshot.StreamID, pool snapshot.PoolID) {
	where, ok := r.p.choice(requestedBytes, stream, pool)
	if !ok {
		return
	}
	r.watch.alloc(i, r.segmentAt(addr), r.segmentAt(where), where == addr)
}

// segmentAt returns the segment that holds addr, or nil.
func (r *replayer) segmentAt(addr uint64) *Segment {
	g, ok := r.mapped.find(addr)
	if !ok {
		return nil
	}
	return &r.t.Segments[g.id]
}
