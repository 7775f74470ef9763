package timeline

import (
	"slices"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/snapshot"
)

// Build replays dev, a device of rec, under the recording's own settings.
func Build(rec *snapshot.Recording, dev *snapshot.Device) *Timeline {
	moves := findSegmentEvents(dev.Events)
	cfg := ConfigOf(rec.Settings)
	if rec.Settings == nil {
		cfg.Expandable = mapsPages(dev.Events, moves)
	}
	if dev.Cut && dev.Events.Len() > 0 {
		// The dump is of a later moment than the events lead to. A recording that does not
		// contradict it began before the first allocation, and needs no dump.
		if t := replayAll(rec, dev, cfg, coldStart(dev, moves), nil); t.Replay.Odd == (Odd{}) {
			return t
		}
	}
	s := inferStart(dev, moves, cfg.LargeSegmentBytes)
	t := withPools(replayAll(rec, dev, cfg, s, nil), s)
	t.Replay.Guessed = dev.Cut
	return t
}

// replayAll replays all events of dev from s. watch may be nil.
func replayAll(rec *snapshot.Recording, dev *snapshot.Device, cfg allocator.Config, s *start, watch *poolWatch) *Timeline {
	t := &Timeline{Rec: rec, Dev: dev, Config: cfg}
	r := newReplayer(t, newPlacer(t), s)
	r.watch = watch
	var b snapshot.Batch
	for k := range dev.Events.Chunks() {
		dev.Events.Chunk(k, &b)
		r.replay(&b)
	}
	r.finish()
	return t
}

// mapsPages tells whether expandable segments were in force, where a recording does not
// say so.
func mapsPages(e *snapshot.Events, moves []int) bool {
	return slices.ContainsFunc(moves, func(i int) bool { return isMap(e.At(i).Action) })
}

// ConfigOf returns the allocator's configuration that a recording was made under.
// Without settings (torch before 2.3) it is the default. What the recording says to
// be in force counts; the string tells the rest.
func ConfigOf(s *snapshot.Settings) allocator.Config {
	var c allocator.Config
	if s == nil {
		return c
	}
	if said, err := allocator.ParseConfig(allocator.Newest, s.Conf); err == nil {
		c.LargeSegmentBytes, c.MaxNonSplitRoundingBytes = said.Config.LargeSegmentBytes, said.Config.MaxNonSplitRoundingBytes
	}
	c.MaxSplitBytes = max(s.MaxSplitBytes, 0)
	c.Expandable = s.ExpandableSegments
	c.RoundupDivisions = s.RoundupDivisions
	return c
}

// replayer carries a replay from event to event.
type replayer struct {
	t      *Timeline
	p      placer
	ids    []int32 // by the placer's id: the block of the table
	now    Totals
	pools  []snapshot.PoolID // of the segment events to come
	mapped ranges            // ids are ordinals in t.Segments
	host   bool              // of pinned host memory, whose segments are never expandable
	watch  *poolWatch        // nil in all but replays that look for private pools
	many   bool              // there are pools beside the default one, so that a request's pool must be looked up
}

func newReplayer(t *Timeline, p placer, s *start) *replayer {
	r := &replayer{t: t, p: p, pools: s.pools}
	_, r.host = p.(*hostPlacer)
	t.Replay.First = -1
	t.Replay.FromCold = len(s.segments) == 0
	r.many = s.manyPools()
	s.settle(t.Config.Round)
	r.load(s)
	t.Replay.Start = t.blocks.n
	t.Start = r.now
	t.Peak = NewPeak(r.now, -1)
	return r
}

// replay applies a run of events. Runs come in order.
func (r *replayer) replay(b *snapshot.Batch) {
	t := r.t
	for j, v := range b.Action {
		i, a, id := b.First+j, snapshot.Action(v), -1
		if i%snapshot.EventsChunk == 0 {
			t.marks = append(t.marks, r.now)
			t.tops = append(t.tops, NewPeak(r.now, i-1))
		}
		switch {
		case a == snapshot.Alloc:
			id = r.alloc(i, b, j)
		case a == snapshot.FreeRequested:
			id = r.freeRequested(i, b.Addr[j])
		case a == snapshot.FreeCompleted:
			id = r.freeCompleted(i, b.Addr[j], int64(b.Size[j]))
		case a.MovesSegment():
			r.segment(i, a, b, j)
		case a == snapshot.OOM:
			r.p.failed()
			t.OOMs = append(t.OOMs, i)
		}
		t.blockOf.Append(uint64(id + 1))
		t.move(&r.now, i, a, int64(b.Size[j]), id)
		if a == snapshot.Alloc || a.Grows() {
			t.tops[len(t.tops)-1].Update(r.now, i)
		}
	}
}

// alloc replays the allocation at event i, row j of b, and returns its block.
func (r *replayer) alloc(i int, b *snapshot.Batch, j int) int {
	t := r.t
	t.Replay.Allocs++
	addr, requested, stream := b.Addr[j], int64(b.Size[j]), snapshot.StreamID(b.Stream[j])
	var pool snapshot.PoolID
	if r.many {
		pool = r.p.poolAt(addr)
	}
	if r.watch != nil {
		r.watchAlloc(i, addr, requested, stream, pool)
	}
	key, size, chosen, err := r.p.alloc(addr, requested, stream, pool)
	if chosen {
		t.Replay.Equal++
	} else if t.Replay.First < 0 {
		t.Replay.First = i
	}
	if err != nil {
		t.Replay.Odd.note(err)
		return -1
	}
	id := t.blocks.add(i, size)
	r.name(key, id)
	return id
}

// name remembers that the placer's block key is block id of the table.
func (r *replayer) name(key int32, id int) {
	for int(key) >= len(r.ids) {
		r.ids = append(r.ids, make([]int32, max(64, len(r.ids)))...)
	}
	r.ids[key] = int32(id)
}

func (r *replayer) freeRequested(i int, addr uint64) int {
	key := r.p.at(addr)
	if key < 0 || r.p.freeRequested(key) != nil {
		r.t.Replay.Odd.FreeWithoutAlloc++
		return -1
	}
	id := int(r.ids[key])
	r.t.blocks.setRequested(id, i)
	return id
}

func (r *replayer) freeCompleted(i int, addr uint64, requestedBytes int64) int {
	key := r.p.at(addr)
	if key < 0 {
		r.t.Replay.Odd.FreeWithoutAlloc++
		return -1
	}
	if was := r.p.freeCompleted(key); was != requestedBytes {
		r.t.Replay.Odd.BadSize++
		r.t.correct(i, Totals{Requested: requestedBytes - was})
	}
	id := int(r.ids[key])
	if r.t.Life(id).FreeRequested == Never {
		r.t.blocks.setRequested(id, i)
	}
	r.t.blocks.setCompleted(id, i)
	return id
}

// finish compares the end of the replay with the dump.
func (r *replayer) finish() {
	t := r.t
	t.End = r.now
	for _, p := range t.tops {
		t.Peak.Join(p)
	}
	t.Replay.FromCold = t.Replay.FromCold && t.Dev.Events.Len() > 0
	t.blockOf.Trim()
	t.held = newHeldTree(&t.blocks)
	if t.Dev.Cut {
		return // the dump is of a later moment
	}
	for i := range t.Dev.Segments {
		g := &t.Dev.Segments[i]
		for _, b := range t.Dev.Blocks[g.FirstBlock : g.FirstBlock+g.NumBlocks] {
			if b.State == snapshot.Inactive {
				continue
			}
			key := r.p.at(b.Addr)
			if key < 0 || t.blocks.size(int(r.ids[key])) != b.SizeBytes {
				t.Replay.Odd.EndMismatch++
			}
		}
	}
}
