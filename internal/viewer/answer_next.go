package viewer

import (
	"sort"

	"github.com/ullage-dev/ullage/snapshot"
)

// nextJSON is the answer to a step from one event to another.
type nextJSON struct {
	Event *int `json:"event"` // null: there is none
}

// kindsOfNext are what one can step along.
var kindsOfNext = []string{"alloc", "free", "segment", "oom", "retry", "step", "block", "site"}

// answerNext finds the next event of a kind, or the one before.
func answerNext(d *Device, q *query) (any, error) {
	event := q.event("event", d, -1)
	of := q.word("of", kindsOfNext...)
	forward := q.word("dir", "next", "prev") == "next"
	block := q.number("block", -1, 0, d.TL.NumBlocks()-1)
	switch {
	case q.err != nil:
		return nil, q.err
	case block < 0 && (of == "block" || of == "site"):
		return nil, badRequestf("of=%s needs a block to be given", of)
	}
	if found := d.seek(of, event, forward, block); found >= 0 && found < d.Events() { // the last step may end with the recording
		return nextJSON{&found}, nil
	}
	return nextJSON{}, nil
}

// seek returns the first event of a kind after an event, or the last before it; -1 where
// there is none.
func (d *Device) seek(of string, event int, forward bool, block int) int {
	direction := func(next, prev func() int) int {
		if forward {
			return next()
		}
		return prev()
	}
	switch of {
	case "alloc", "free":
		return d.seekAction(of == "free", event, forward)
	case "segment":
		return direction(func() int { return d.LOD.NextSegment(event) }, func() int { return d.LOD.PrevSegment(event) })
	case "oom":
		return seekIn(d.TL.OOMs, event, forward)
	case "retry":
		return seekIn(d.made.retries(), event, forward)
	case "step":
		return seekIn(d.X.Steps.Bounds, event, forward)
	case "block":
		return direction(func() int { return d.LOD.NextOfBlock(block, event) }, func() int { return d.LOD.PrevOfBlock(block, event) })
	}
	site, sites := uint32(d.Grouping("site").Of(block)), d.bands[siteGrouping]()
	return direction(func() int { return sites.NextOf(site, event) }, func() int { return sites.PrevOf(site, event) })
}

// seekIn looks in a list of events, ascending.
func seekIn(list []int, event int, forward bool) int {
	k := sort.SearchInts(list, event)
	if !forward {
		k--
	} else if k < len(list) && list[k] == event {
		k++
	}
	if k < 0 || k >= len(list) {
		return -1
	}
	return list[k]
}

// seekAction looks for an allocation or a free, of which the nearest is mostly near.
func (d *Device) seekAction(free bool, event int, forward bool) int {
	e := d.TL.Dev.Events
	step := 1
	if !forward {
		step = -1
	}
	b := snapshot.Batch{Want: snapshot.WithAction}
	chunk := -1
	for i := event + step; 0 <= i && i < e.Len(); i += step {
		if k := i / snapshot.EventsChunk; k != chunk {
			e.Chunk(k, &b)
			chunk = k
		}
		if d.fits(snapshot.Action(b.Action[i-b.First]), free, i) {
			return i
		}
	}
	return -1
}

// fits tells whether an event allocates, or lets go of, a block. Where only the end of a
// free was recorded, that is the event.
func (d *Device) fits(a snapshot.Action, free bool, event int) bool {
	switch {
	case !free:
		return a == snapshot.Alloc
	case a == snapshot.FreeCompleted:
		b := d.TL.BlockOf(event)
		return b >= 0 && d.TL.Life(b).FreeRequested == event
	}
	return a == snapshot.FreeRequested
}
