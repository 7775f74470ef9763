package table

import (
	"sync"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// A block pins the free memory of its segment: as long as it lives the segment cannot go
// back to the driver.

// pinned is the free memory that each block pins at a moment: that of its segment, shared
// among the blocks there, as explain shares it among their sites.
func pinned(tl *timeline.Timeline, event int) map[int]int64 {
	of := make(map[int]int64)
	state := tl.StateAt(event)
	for i := range state.Segments {
		pinsOf(&state.Segments[i], of)
	}
	return of
}

// pinsOf shares the free memory of a segment. The first block takes what does not divide.
func pinsOf(g *timeline.StateSegment, of map[int]int64) {
	var free int64
	var blocks []int
	for _, p := range g.Spans {
		if p.State == snapshot.Inactive {
			free += p.SizeBytes
		} else {
			blocks = append(blocks, p.Block)
		}
	}
	if free == 0 || len(blocks) == 0 {
		return
	}
	share := free / int64(len(blocks))
	for _, b := range blocks {
		of[b] += share
	}
	of[blocks[0]] += free - share*int64(len(blocks))
}

// pinCache keeps the pins of the moment that was asked about last.
type pinCache struct {
	mu    sync.Mutex
	event int
	of    map[int]int64
}

func (t *Tables) pinsAt(event int) map[int]int64 {
	c := &t.pins
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || c.event != event {
		c.event, c.of = event, pinned(t.tl, event)
	}
	return c.of
}

// onPin fits blocks that keep free memory from being returned.
func onPin(t *Tables, w *word, in about) (test, error) {
	if !in.scope.isAt {
		return test{}, w.errorf("%s: what a block pins is told of a moment: expected an event to be live after", w.text)
	}
	of := t.pinsAt(in.scope.at)
	return test{0, 1, func(r *row) bool { return of[r.id] > 0 }}, nil
}

// pinnedColumn is what blocks pin at the moment of a scope.
func (t *Tables) pinnedColumn(s scope) column {
	pins := func() map[int]int64 {
		if !s.isAt {
			return nil
		}
		return t.pinsAt(s.at)
	}
	return column{Column{"pinned_bytes", "bytes", "pins"}, 0, func(*Tables) func(*row) int64 {
		of := pins()
		return func(r *row) int64 { return of[r.id] }
	}, func(_ *Tables, r *row) any {
		if !s.isAt {
			return nil
		}
		return pins()[r.id]
	}}
}
