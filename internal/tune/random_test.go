package tune

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// recorder is a device that writes what PyTorch would record of it.
type recorder struct {
	*allocator.SimDevice
	t *trace
}

func (d *recorder) Malloc(size int64) (uint64, bool) {
	addr, ok := d.SimDevice.Malloc(size)
	if ok {
		d.t.add(snapshot.SegmentAlloc, addr, size, "malloc")
	}
	return addr, ok
}

func (d *recorder) Release(addr uint64, size int64) {
	d.SimDevice.Release(addr, size)
	d.t.add(snapshot.SegmentFree, addr, size, "malloc")
}

func (d *recorder) Map(addr uint64, size int64) bool {
	ok := d.SimDevice.Map(addr, size)
	if ok {
		d.t.add(snapshot.SegmentMap, addr, size, "malloc")
	}
	return ok
}

func (d *recorder) Unmap(addr uint64, size int64) {
	d.SimDevice.Unmap(addr, size)
	d.t.add(snapshot.SegmentUnmap, addr, size, "malloc")
}

// randomRun makes a random program run under a random setting, and records it.
func randomRun(t *rapid.T) (tl *timeline.Timeline, conf string, stats allocator.Stats) {
	conf = rapid.SampledFrom([]string{"", "expandable_segments:True", "max_split_size_mb:24", "roundup_power2_divisions:4"}).Draw(t, "conf")
	s, err := ParseSetting(allocator.Newest, conf)
	if err != nil {
		t.Fatal(err)
	}
	r := newTrace()
	d := &recorder{Room{}.device(allocator.LikeDriver, 0), r}
	sim := allocator.NewSimulator(Room{}.config(&s), d)
	size := rapid.OneOf(rapid.Int64Range(1, 4096), rapid.Int64Range(1, 4*mib), rapid.Int64Range(mib, 80*mib))
	type block struct {
		id    allocator.BlockID
		addr  uint64
		bytes int64
	}
	var live []block
	for range rapid.IntRange(1, 120).Draw(t, "calls") {
		if len(live) == 0 || rapid.Bool().Draw(t, "request") {
			n := size.Draw(t, "bytes")
			id, err := sim.Malloc(n, 0, allocator.PoolID{})
			if err != nil {
				t.Fatal(err)
			}
			live = append(live, block{id, sim.Addr(id), n})
			r.add(snapshot.Alloc, sim.Addr(id), n, "malloc")
			continue
		}
		k := rapid.IntRange(0, len(live)-1).Draw(t, "block")
		b := live[k]
		live = append(live[:k], live[k+1:]...)
		r.add(snapshot.FreeRequested, b.addr, b.bytes, "free").add(snapshot.FreeCompleted, b.addr, b.bytes, "free")
		if err := sim.Free(b.id); err != nil {
			t.Fatal(err)
		}
	}
	r.rec.Settings.Conf, r.rec.Settings.ExpandableSegments, r.rec.Settings.RoundupDivisions = conf, s.Config.Expandable, s.Config.RoundupDivisions
	if s.Config.MaxSplitBytes > 0 {
		r.rec.Settings.MaxSplitBytes = s.Config.MaxSplitBytes
	}
	r.dump(sim.Segments())
	return r.timeline(), conf, sim.Stats()
}

// dump adds the state at the end.
func (t *trace) dump(segments []allocator.SegmentInfo) {
	for _, g := range segments {
		kind := snapshot.LargeSegment
		if g.Small {
			kind = snapshot.SmallSegment
		}
		t.dev.Segments = append(t.dev.Segments, snapshot.Segment{
			Addr: g.Addr, SizeBytes: g.SizeBytes, Kind: kind, Expandable: g.Expandable, FirstBlock: len(t.dev.Blocks), NumBlocks: len(g.Blocks),
		})
		for _, b := range g.Blocks {
			t.dev.Blocks = append(t.dev.Blocks, snapshot.Block{
				Addr: b.Addr, SizeBytes: b.SizeBytes, RequestedBytes: b.RequestedBytes,
				State: map[allocator.BlockState]snapshot.BlockState{allocator.Free: snapshot.Inactive, allocator.Allocated: snapshot.Allocated}[b.State],
			})
		}
	}
}

// TestReplayOfRandomRuns: whatever a program does, replaying its recording under its
// own settings comes to what the run itself counted, and under others it asks for the
// same, leaves the same behind, and never holds more than it reserved.
func TestReplayOfRandomRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tl, conf, want := randomRun(t)
		p, err := Compile(tl, -1)
		if err != nil {
			t.Skip(err)
		}
		tuner := New(allocator.Newest, []*Program{p}, Room{}, Options{Workers: 1})
		s, _ := ParseSetting(allocator.Newest, conf)
		if got := tuner.try(p, &s); got.Stats != want {
			t.Fatalf("%q: replay counts %+v, the run counted %+v", conf, got.Stats, want)
		}
		for _, other := range []string{"", "expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:8"} {
			s, err := ParseSetting(allocator.Newest, other)
			if err != nil {
				t.Fatal(err)
			}
			got := tuner.try(p, &s)
			if got.PeakRequested != want.PeakRequested || got.Requested != want.Requested {
				t.Fatalf("%q: requested %d, at the peak %d; the program's own are %d and %d", other, got.Requested, got.PeakRequested, want.Requested, want.PeakRequested)
			}
			if got.Active > got.Reserved || got.PeakActive > got.PeakReserved || !got.Lives() {
				t.Fatalf("%q: %+v", other, got.Outcome)
			}
		}
	})
}

// TestSmallestLimitOfRandomRuns: the run lives under the limit that is found, and dies
// under the next one below.
func TestSmallestLimitOfRandomRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tl, conf, _ := randomRun(t)
		p, err := Compile(tl, -1)
		if err != nil {
			t.Skip(err)
		}
		room := Room{}
		if rapid.Bool().Draw(t, "fraction") {
			room.LimitBytes = boundless / 2
		}
		tuner := New(allocator.Newest, []*Program{p}, room, Options{Workers: 1})
		s, _ := ParseSetting(allocator.Newest, conf)
		r := tuner.try(p, &s)
		tuner.smallest(&r, &s, exactly)
		limit := r.SmallestLimitBytes
		if limit <= 0 || limit%limitStep != 0 {
			t.Fatalf("the limit is %d", limit)
		}
		if !tuner.livesIn(&r, &s, limit) || limit > limitStep && tuner.livesIn(&r, &s, limit-limitStep) {
			t.Fatalf("lives under %d: %v, under %d: %v", limit, tuner.livesIn(&r, &s, limit), limit-limitStep, tuner.livesIn(&r, &s, limit-limitStep))
		}
	})
}
