package analyze

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

const testMiB = 1 << 20

// tracedSettings is a recording from the first allocation on, made of its events; what
// is alive at its end is worked out from them.
func tracedSettings(s *snapshot.Settings, events ...snapshot.Event) *timeline.Timeline {
	dev := &snapshot.Device{Events: &snapshot.Events{Pools: []snapshot.PoolID{{}}}}
	for _, e := range events {
		dev.Events.Append(e)
	}
	live := map[uint64]int64{}
	for _, e := range events {
		switch e.Action {
		case snapshot.Alloc:
			live[e.Addr] = e.SizeBytes
		case snapshot.FreeCompleted:
			delete(live, e.Addr)
		}
	}
	for i, e := range events {
		if e.Action == snapshot.SegmentAlloc && !freedLater(events[i:], e.Addr) {
			addSegment(dev, e, live)
		}
	}
	rec := &snapshot.Recording{Devices: []*snapshot.Device{dev}, Streams: []uint64{0}, Settings: s}
	rec.Stacks.Add(nil)
	return timeline.Build(rec, dev)
}

func freedLater(events []snapshot.Event, addr uint64) bool {
	for _, e := range events {
		if e.Action == snapshot.SegmentFree && e.Addr == addr {
			return true
		}
	}
	return false
}

// addSegment adds a segment that lives at the end, with at most one block, at its start.
func addSegment(dev *snapshot.Device, e snapshot.Event, live map[uint64]int64) {
	kind := snapshot.LargeSegment
	if e.SizeBytes <= 2*testMiB {
		kind = snapshot.SmallSegment
	}
	g := snapshot.Segment{Addr: e.Addr, SizeBytes: e.SizeBytes, Kind: kind, FirstBlock: len(dev.Blocks)}
	rest := snapshot.Block{Addr: e.Addr, SizeBytes: e.SizeBytes}
	if size := live[e.Addr]; size > 0 {
		dev.Blocks = append(dev.Blocks, snapshot.Block{Addr: e.Addr, SizeBytes: size, RequestedBytes: size, State: snapshot.Allocated})
		g.AllocatedBytes, g.ActiveBytes, g.RequestedBytes = size, size, size
		rest.Addr += uint64(size)
		rest.SizeBytes -= size
	}
	if rest.SizeBytes > 0 {
		dev.Blocks = append(dev.Blocks, rest)
	}
	g.NumBlocks = len(dev.Blocks) - g.FirstBlock
	dev.Segments = append(dev.Segments, g)
}

// Addresses of the segments in the made traces, apart from each other.
const (
	segA = uint64(1) << 40 << iota
	segB
	segC
	segD
)

func filledSegment(addr uint64, mib int64) []snapshot.Event {
	return []snapshot.Event{
		{Action: snapshot.SegmentAlloc, Addr: addr, SizeBytes: mib * testMiB},
		{Action: snapshot.Alloc, Addr: addr, SizeBytes: mib * testMiB},
	}
}

func freedBlock(addr uint64, mib int64) []snapshot.Event {
	return []snapshot.Event{
		{Action: snapshot.FreeRequested, Addr: addr, SizeBytes: mib * testMiB},
		{Action: snapshot.FreeCompleted, Addr: addr, SizeBytes: mib * testMiB},
	}
}

func givenBack(addr uint64, mib int64) []snapshot.Event {
	return []snapshot.Event{{Action: snapshot.SegmentFree, Addr: addr, SizeBytes: mib * testMiB}}
}

func eventsOf(parts ...[]snapshot.Event) []snapshot.Event {
	var all []snapshot.Event
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestCollections(t *testing.T) {
	const none = 1 << 62
	for _, c := range []struct {
		name     string
		maxSplit int64
		events   []snapshot.Event
		want     int
	}{
		{"an old segment goes, a young unused one stays", -1, eventsOf(
			filledSegment(segA, 40), filledSegment(segB, 30), freedBlock(segA, 40), freedBlock(segB, 30), givenBack(segA, 40), filledSegment(segC, 60)), 1},
		{"all that is unused goes: an answer to a failed request", -1, eventsOf(
			filledSegment(segA, 40), filledSegment(segB, 30), freedBlock(segA, 40), freedBlock(segB, 30), givenBack(segA, 40), givenBack(segB, 30), filledSegment(segC, 60)), 0},
		{"one goes, the other is in use", -1, eventsOf(
			filledSegment(segA, 40), filledSegment(segB, 30), freedBlock(segA, 40), givenBack(segA, 40), filledSegment(segC, 60)), 0},
		{"nothing grows afterwards", -1, eventsOf(
			filledSegment(segA, 40), filledSegment(segB, 30), freedBlock(segA, 40), freedBlock(segB, 30), givenBack(segA, 40)), 0},
		{"a small segment goes too", -1, eventsOf(
			filledSegment(segA, 40), filledSegment(segB, 30), filledSegment(segD, 1), freedBlock(segA, 40), freedBlock(segB, 30), freedBlock(segD, 1), givenBack(segA, 40), givenBack(segD, 2), filledSegment(segC, 60)), 0},
		{"a block above the split limit goes", 32 * testMiB, eventsOf(
			filledSegment(segA, 40), filledSegment(segB, 30), freedBlock(segA, 40), freedBlock(segB, 30), givenBack(segA, 40), filledSegment(segC, 60)), 0},
		{"one below the split limit goes", 64 * testMiB, eventsOf(
			filledSegment(segA, 40), filledSegment(segB, 30), freedBlock(segA, 40), freedBlock(segB, 30), givenBack(segA, 40), filledSegment(segC, 60)), 1},
		{"twice", none, eventsOf(
			filledSegment(segA, 40), filledSegment(segB, 30), freedBlock(segA, 40), freedBlock(segB, 30), givenBack(segA, 40), filledSegment(segC, 60),
			freedBlock(segC, 60), givenBack(segB, 30), filledSegment(segA, 70)), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.events { // small segments are 2 MiB
				if e := &c.events[i]; e.Action == snapshot.SegmentAlloc && e.SizeBytes == testMiB {
					e.SizeBytes = 2 * testMiB
				}
			}
			s := settings("", func(s *snapshot.Settings) { s.GCThreshold = 0.5; s.MaxSplitBytes = c.maxSplit })
			if ev := SettingsEvidenceOf(tracedSettings(s, c.events...)); ev.Collections != c.want {
				t.Errorf("%d collections, want %d", ev.Collections, c.want)
			}
		})
	}
}

func TestOversizeUnused(t *testing.T) {
	grown := eventsOf(filledSegment(segA, 200), freedBlock(segA, 200), filledSegment(segB, 40), filledSegment(segC, 300))
	for _, c := range []struct {
		name     string
		maxSplit int64
		want     int64
	}{
		{"a free block above the limit did not serve a request below it", 128 * testMiB, 200 * testMiB},
		{"no request was below the limit", 32 * testMiB, 0},
		{"no free block was above it", 512 * testMiB, 0},
		{"no limit", -1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settings("", func(s *snapshot.Settings) { s.MaxSplitBytes = c.maxSplit })
			ev := SettingsEvidenceOf(tracedSettings(s, grown...))
			want := SettingsEvidence{Native: true, PeakReservedBytes: 540 * testMiB, OversizeUnusedBytes: c.want}
			if diff := cmp.Diff(want, ev); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
