package lod

import (
	"sync"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// Device is one device of one recording, ready for queries.
type Device struct {
	TL       *timeline.Timeline
	Events   int // how many the recording has
	Lanes    *Lanes
	Times    *Times
	Counters *Counters
	Blocks   *Map
	Segments *Map // ids are ordinals in TL.Segments

	moves []int32  // events that bring or return memory of the driver
	lost  []uint32 // blocks that ended with their segment
}

// New makes the structures of a replayed device. It takes about 120 ns an event of
// processor time, on as many cores as there are.
func New(tl *timeline.Timeline) *Device {
	d := &Device{TL: tl, Events: tl.Dev.Events.Len()}
	var wg sync.WaitGroup
	wg.Go(func() {
		d.Counters = newCounters(tl)
		d.Times = newTimes(tl.Dev.Events)
		d.moves = findMoves(tl.Dev.Events)
	})
	wg.Go(func() {
		var places []uint32
		d.Lanes, places = layOut(tl)
		d.Blocks = newMap(blockBoxes{tl, d.Lanes, places, d.Events}, d)
		wg.Go(func() { d.Blocks.smudges = newSmudges(d.Blocks, tileSmudges) })
		wg.Go(func() { d.Blocks.grids = newGrids(d.Blocks) })
		wg.Go(func() { d.Blocks.standing = newStanding(d.Blocks, standingLevel) })
		d.lost = findLost(tl)
		d.Segments = newMap(segmentBoxes{tl, d.Lanes, d.Events}, d)
	})
	wg.Wait()
	return d
}

// findMoves returns the events that bring or return memory of the driver.
func findMoves(e *snapshot.Events) (moves []int32) {
	b := snapshot.Batch{Want: snapshot.WithAction}
	for k := range e.Chunks() {
		e.Chunk(k, &b)
		for j, a := range b.Action {
			if snapshot.Action(a).MovesSegment() {
				moves = append(moves, int32(b.First+j))
			}
		}
	}
	return moves
}
