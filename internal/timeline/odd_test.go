package timeline

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/snapshot"
)

const base = uint64(1) << 40

// trace makes a device whose recording holds just these events, and these segments at
// its dump.
func trace(kind snapshot.Kind, events []snapshot.Event, segments ...snapshot.Segment) (*snapshot.Recording, *snapshot.Device) {
	dev := &snapshot.Device{Kind: kind, Events: &snapshot.Events{Pools: pools, HasPools: true}, Segments: segments}
	for _, e := range events {
		dev.Events.Append(e)
	}
	return &snapshot.Recording{Devices: []*snapshot.Device{dev}, Streams: []uint64{0, 77}}, dev
}

// TestOddRecordings replays what no allocator can have done: it is counted by its
// kind, the rest is used, and what is counted at the end fits together.
func TestOddRecordings(t *testing.T) {
	event := func(a snapshot.Action, offsetMiB int64, size int64) snapshot.Event {
		return snapshot.Event{Action: a, Addr: base + uint64(offsetMiB*mib), SizeBytes: size}
	}
	const (
		alloc, request, free = snapshot.Alloc, snapshot.FreeRequested, snapshot.FreeCompleted
		grow, release        = snapshot.SegmentAlloc, snapshot.SegmentFree
		maps, unmap          = snapshot.SegmentMap, snapshot.SegmentUnmap
	)
	for _, c := range []struct {
		name     string
		events   []snapshot.Event
		odd      Odd
		end      Totals
		segments int // at the end
	}{
		{
			"frees of what was never allocated",
			[]snapshot.Event{event(grow, 0, 20*mib), event(request, 0, mib), event(free, 0, mib), event(free, 4, mib)},
			Odd{FreeWithoutAlloc: 3},
			Totals{Reserved: 20 * mib},
			1,
		},
		{
			"freed twice",
			[]snapshot.Event{event(grow, 0, 20*mib), event(alloc, 0, 4*mib), event(request, 0, 4*mib), event(request, 0, 4*mib), event(free, 0, 4*mib), event(free, 0, 4*mib)},
			Odd{FreeWithoutAlloc: 2},
			Totals{Reserved: 20 * mib},
			1,
		},
		{
			"a block in a block",
			[]snapshot.Event{event(grow, 0, 20*mib), event(alloc, 0, 8*mib), event(alloc, 4, 8*mib), event(alloc, 0, mib)},
			Odd{Overlap: 2},
			Totals{8 * mib, 8 * mib, 8 * mib, 20 * mib},
			1,
		},
		{
			"a block over the end of its segment",
			[]snapshot.Event{event(grow, 0, 20*mib), event(alloc, 16, 8*mib)},
			Odd{Overlap: 1},
			Totals{Reserved: 20 * mib},
			1,
		},
		{
			"a segment freed while blocks live",
			[]snapshot.Event{event(grow, 0, 20*mib), event(alloc, 0, 8*mib), event(alloc, 8, 4*mib), event(request, 8, 4*mib), event(release, 0, 20*mib)},
			Odd{Overlap: 1},
			Totals{},
			0,
		},
		{
			"pages unmapped while blocks live",
			[]snapshot.Event{event(maps, 0, 20*mib), event(maps, 20, 20*mib), event(alloc, 0, 8*mib), event(alloc, 30, 4*mib), event(unmap, 0, 20*mib)},
			Odd{Overlap: 1},
			Totals{4 * mib, 4 * mib, 4 * mib, 20 * mib},
			1,
		},
		{
			"no segment",
			[]snapshot.Event{event(alloc, 0, 8*mib), event(free, 0, 8*mib)},
			Odd{OutsideSegment: 1, FreeWithoutAlloc: 1},
			Totals{},
			0,
		},
		{
			"beside the segment",
			[]snapshot.Event{event(grow, 0, 20*mib), event(alloc, 50, 8*mib)},
			Odd{OutsideSegment: 1},
			Totals{Reserved: 20 * mib},
			1,
		},
		{
			"sizes that cannot be",
			[]snapshot.Event{event(grow, 0, -20*mib), event(grow, 100, 1<<62), event(grow, 200, 0), event(maps, 300, -1), event(grow, 0, 20*mib), event(alloc, 0, -5), event(alloc, 0, 1<<60), event(unmap, 0, -1<<63)},
			Odd{BadSize: 7},
			Totals{Reserved: 20 * mib},
			1,
		},
		{
			"a free of another size",
			[]snapshot.Event{event(grow, 0, 20*mib), event(alloc, 0, 8*mib), event(free, 0, 5*mib)},
			Odd{BadSize: 1},
			Totals{Reserved: 20 * mib},
			1,
		},
		{
			"the same segment twice",
			[]snapshot.Event{event(grow, 0, 20*mib), event(alloc, 0, 8*mib), event(grow, 0, 20*mib)},
			Odd{Overlap: 1},
			Totals{Reserved: 20 * mib},
			1,
		},
		{
			"a segment over the end of another",
			[]snapshot.Event{event(grow, 0, 20*mib), event(grow, 10, 20*mib)},
			Odd{Overlap: 1},
			Totals{Reserved: 20 * mib},
			1,
		},
		{
			"pages over pages",
			[]snapshot.Event{event(maps, 0, 20*mib), event(maps, 10, 20*mib)},
			Odd{Overlap: 1},
			Totals{Reserved: 30 * mib},
			1,
		},
		{
			"unknown pages unmapped",
			[]snapshot.Event{event(unmap, 0, 20*mib), event(maps, 0, 20*mib), event(unmap, 10, 30*mib)},
			Odd{},
			Totals{Reserved: 10 * mib},
			1,
		}, // they were there before the first event
		{
			"freed by another size",
			[]snapshot.Event{event(grow, 0, 40*mib), event(release, 0, 20*mib)},
			Odd{},
			Totals{},
			0,
		},
		{
			"freed from its middle",
			[]snapshot.Event{event(grow, 0, 40*mib), event(release, 10, 20*mib)},
			Odd{OutsideSegment: 1},
			Totals{Reserved: 40 * mib},
			1,
		},
		{"nothing", nil, Odd{}, Totals{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := Build(trace(snapshot.GPU, c.events))
			if tl.Replay.Odd != c.odd {
				t.Errorf("counted %+v, want %+v", tl.Replay.Odd, c.odd)
			}
			if tl.End != c.end {
				t.Errorf("at the end %+v, want %+v", tl.End, c.end)
			}
			last := len(c.events) - 1
			if s := tl.StateAt(last); len(s.Segments) != c.segments {
				t.Errorf("segments at the end: %+v", s.Segments)
			}
			for i := -1; i <= last; i++ {
				checkState(t, tl, i)
			}
		})
	}
}

// TestAnyRecording replays events and dumps of any content: whatever is made of them,
// states tile, and add up to the counters.
func TestAnyRecording(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec, dev := drawAny(t)
		tl := Build(rec, dev)
		for i := -1; i < dev.Events.Len(); i++ {
			checkState(t, tl, i)
		}
		checkPeaks(t, tl)
		if now := tl.TotalsAt(dev.Events.Len() - 1); now != tl.End {
			t.Fatalf("the end %+v, a walk finds %+v", tl.End, now)
		}
	})
}

// drawAny makes a recording of events and of a dump that need not fit together.
func drawAny(t *rapid.T) (*snapshot.Recording, *snapshot.Device) {
	var events []snapshot.Event
	for range rapid.IntRange(0, 60).Draw(t, "events") {
		events = append(events, snapshot.Event{
			Action: snapshot.Action(rapid.IntRange(0, 11).Draw(t, "action")), Addr: drawAddr(t), SizeBytes: drawSize(t),
			Stream: snapshot.StreamID(rapid.IntRange(0, 1).Draw(t, "stream")), Pool: uint32(rapid.IntRange(0, 1).Draw(t, "pool")),
		})
	}
	rec, dev := trace(snapshot.Kind(rapid.IntRange(0, 1).Draw(t, "kind")), events)
	dev.Events.HasPools = rapid.Bool().Draw(t, "pools")
	drawDump(t, dev)
	return rec, dev
}

func drawAddr(t *rapid.T) uint64 {
	if rapid.IntRange(0, 30).Draw(t, "absurd address") == 0 {
		return rapid.Uint64().Draw(t, "address")
	}
	return base + uint64(rapid.IntRange(0, 30).Draw(t, "address MiB"))*mib
}

func drawSize(t *rapid.T) int64 {
	if rapid.IntRange(0, 30).Draw(t, "absurd size") == 0 {
		return rapid.Int64().Draw(t, "size")
	}
	return rapid.SampledFrom([]int64{0, 1, 512, mib, 2 * mib, 4 * mib, 5*mib + 7, 20 * mib}).Draw(t, "size")
}

func drawDump(t *rapid.T, dev *snapshot.Device) {
	for range rapid.IntRange(0, 4).Draw(t, "segments") {
		g := snapshot.Segment{
			Addr: drawAddr(t), SizeBytes: drawSize(t), Kind: snapshot.SegmentKind(rapid.IntRange(0, 2).Draw(t, "kind")),
			Expandable: rapid.Bool().Draw(t, "expandable"), FirstBlock: len(dev.Blocks), NumBlocks: rapid.IntRange(0, 4).Draw(t, "blocks"),
		}
		for range g.NumBlocks {
			dev.Blocks = append(dev.Blocks, snapshot.Block{
				Addr: drawAddr(t), SizeBytes: drawSize(t), RequestedBytes: drawSize(t), State: snapshot.BlockState(rapid.IntRange(0, 2).Draw(t, "state")),
			})
		}
		dev.Segments = append(dev.Segments, g)
	}
}
