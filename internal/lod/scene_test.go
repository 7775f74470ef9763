package lod

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// scene draws recordings: segments come and go, blocks in them are allocated and freed,
// at once or later, and now and then something does not fit: a free without an
// allocation, a segment that goes with its blocks, a clock that runs backwards. What
// lod says of a recording is held against its timeline, block by block.
type scene struct {
	rng      *rand.Rand
	events   *snapshot.Events
	segments []sceneSegment
	timeUS   int64
	odd      bool
}

type sceneSegment struct {
	addr   uint64
	size   int64
	native bool
	blocks []sceneBlock
}

type sceneBlock struct {
	addr    uint64
	size    int64
	pending bool
}

const sceneSegments = 5

func newScene(seed uint64, odd bool) *scene {
	s := &scene{rng: rand.New(rand.NewPCG(seed, 7)), events: &snapshot.Events{HasTimes: true, Pools: []snapshot.PoolID{{}}}, timeUS: 1_700_000_000_000_000, odd: odd}
	for k := range sceneSegments {
		s.segments = append(s.segments, sceneSegment{addr: 0x7f00_0000_0000 + uint64(k/2)<<30 + uint64(k%2)<<25, size: 1 << (21 + k), native: k%3 != 2})
	}
	return s
}

func (s *scene) emit(a snapshot.Action, addr uint64, size int64) {
	s.timeUS += s.rng.Int64N(5)
	if s.rng.IntN(50) == 0 {
		s.timeUS += 3000
	}
	back := int64(0)
	if s.rng.IntN(20) == 0 {
		back = 40
	}
	s.events.Append(snapshot.Event{Action: a, Addr: addr, SizeBytes: size, TimeUS: s.timeUS - back, Stack: snapshot.StackID(s.rng.IntN(9))})
}

// run draws events until there are n.
func (s *scene) run(n int) {
	for s.events.Len() < n {
		g := &s.segments[s.rng.IntN(len(s.segments))]
		switch op := s.rng.IntN(100); {
		case op < 3:
			s.toggle(g)
		case op == 3 && s.odd:
			s.emit(snapshot.FreeRequested, g.addr+uint64(s.rng.IntN(1<<20)), 512)
		case op == 4:
			s.emit(snapshot.OOM, 1<<20, 1<<30)
		case op < 55:
			s.alloc(g)
		case len(g.blocks) > 0:
			s.free(g, s.rng.IntN(len(g.blocks)))
		}
	}
}

// toggle brings a segment or returns it: with its blocks only where the scene is odd.
func (s *scene) toggle(g *sceneSegment) {
	grow, shrink := snapshot.SegmentMap, snapshot.SegmentUnmap
	if g.native {
		grow, shrink = snapshot.SegmentAlloc, snapshot.SegmentFree
	}
	switch {
	case !s.mapped(g):
		s.emit(grow, g.addr, g.size)
		g.blocks = []sceneBlock{}
	case s.odd || len(g.blocks) == 0:
		s.emit(shrink, g.addr, g.size)
		g.blocks = nil
	}
}

func (s *scene) mapped(g *sceneSegment) bool { return g.blocks != nil }

// alloc puts a block where there is room for it.
func (s *scene) alloc(g *sceneSegment) {
	if !s.mapped(g) {
		s.toggle(g)
	}
	size := int64(512) << s.rng.IntN(14)
	size += size / 512 * int64(s.rng.IntN(3)) * 128
	slots := max(g.size/(1<<16), 1)
	addr := g.addr + uint64(s.rng.Int64N(slots))<<16
	end := addr + uint64(size)
	if end > g.addr+uint64(g.size) || slices.ContainsFunc(g.blocks, func(b sceneBlock) bool { return b.addr < end && addr < b.addr+uint64(b.size)+1<<20 }) {
		return
	}
	s.emit(snapshot.Alloc, addr, size)
	g.blocks = append(g.blocks, sceneBlock{addr: addr, size: size})
}

// free lets go of a block, or ends what is pending of it.
func (s *scene) free(g *sceneSegment, k int) {
	b := &g.blocks[k]
	if !b.pending {
		s.emit(snapshot.FreeRequested, b.addr, b.size)
		b.pending = true
		if s.rng.IntN(4) == 0 {
			return
		}
	}
	s.emit(snapshot.FreeCompleted, b.addr, b.size)
	g.blocks = slices.Delete(g.blocks, k, k+1)
}

// build replays the events from the first-th on.
func (s *scene) build(first int) *timeline.Timeline {
	dev := &snapshot.Device{Events: &snapshot.Events{HasTimes: true, Pools: s.events.Pools}}
	for i := first; i < s.events.Len(); i++ {
		dev.Events.Append(s.events.At(i))
	}
	for i := range s.segments {
		g := &s.segments[i]
		if !s.mapped(g) {
			continue
		}
		kind := snapshot.LargeSegment
		if g.size <= 2<<20 {
			kind = snapshot.SmallSegment
		}
		dev.Segments = append(dev.Segments, snapshot.Segment{Addr: g.addr, SizeBytes: g.size, Kind: kind, Expandable: !g.native, FirstBlock: len(dev.Blocks), NumBlocks: len(g.blocks)})
		for _, b := range g.blocks {
			state := snapshot.Allocated
			if b.pending {
				state = snapshot.PendingFree
			}
			dev.Blocks = append(dev.Blocks, snapshot.Block{Addr: b.addr, SizeBytes: b.size, RequestedBytes: b.size, State: state})
		}
	}
	return timeline.Build(&snapshot.Recording{Devices: []*snapshot.Device{dev}, Streams: []uint64{0}}, dev)
}

// drawDevice draws a recording of up to a few thousand events.
func drawDevice(t *rapid.T) *Device {
	s := newScene(rapid.Uint64().Draw(t, "seed"), rapid.Bool().Draw(t, "odd"))
	s.run(rapid.IntRange(1, 3000).Draw(t, "events"))
	d := New(s.build(rapid.IntRange(0, s.events.Len()-1).Draw(t, "first")))
	if rapid.Bool().Draw(t, "looks up") {
		d.Counters.walkUpTo = 0
	}
	return d
}

// TestScenesAreOfUse: what the properties draw has blocks that are there from the start,
// that are pending, that last, and segments of both kinds that go.
func TestScenesAreOfUse(t *testing.T) {
	s := newScene(1, true)
	s.run(6000)
	tl := s.build(2000)
	var initial, pending, last, gone int
	for b := range tl.NumBlocks() {
		l := tl.Life(b)
		initial += count(l.Alloc < 0)
		pending += count(l.FreeRequested < l.FreeCompleted && l.FreeCompleted != timeline.Never)
		last += count(l.FreeRequested == timeline.Never)
	}
	for _, g := range tl.Segments {
		gone += count(g.To != timeline.Never)
	}
	if n := tl.NumBlocks(); n < 800 || initial == 0 || pending == 0 || last == 0 || gone < 10 {
		t.Errorf("%d blocks, %d initial, %d pending, %d that last; %d segments that go; %+v", n, initial, pending, last, gone, tl.Replay)
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
