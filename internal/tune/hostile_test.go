package tune

import (
	"testing"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// FuzzTry replays traces that no allocator made: frees of what is not there, segments in
// each other, sizes and addresses of any magnitude. Nothing may panic, and no run may hold
// more than it reserved.
func FuzzTry(f *testing.F) {
	f.Add([]byte{byte(snapshot.SegmentAlloc), 1, 40, byte(snapshot.Alloc), 1, 22, byte(snapshot.FreeRequested), 1, 22, byte(snapshot.FreeCompleted), 1, 22, byte(snapshot.SegmentFree), 1, 40}, uint8(0))
	f.Add([]byte{byte(snapshot.Alloc), 1, 22, byte(snapshot.OOM), 9, 30, byte(snapshot.FreeCompleted), 2, 22}, uint8(1))
	f.Add([]byte{byte(snapshot.SegmentMap), 3, 40, byte(snapshot.Alloc), 3, 50, byte(snapshot.Alloc), 3, 51, byte(snapshot.SegmentUnmap), 3, 30, byte(snapshot.Alloc), 200, 250}, uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, mode uint8) {
		r := hostileTrace(data, mode)
		tl := timeline.Build(r.rec, r.dev)
		died := -1
		if mode&8 != 0 {
			died = diedAt(tl, true)
		}
		p, err := Compile(tl, died)
		if err != nil {
			return
		}
		tuner := New(allocator.Newest, []*Program{p}, RecordedRoom([]*Program{p}), Options{Workers: 1})
		for _, conf := range []string{"", "expandable_segments:True", "max_split_size_mb:20,garbage_collection_threshold:0.5"} {
			s, err := ParseSetting(allocator.Newest, conf)
			if err != nil {
				t.Fatal(err)
			}
			for _, run := range tuner.Try([]Setting{s})[0].Runs {
				if run.Active > run.Reserved || run.Requested > run.Active || run.Requested < 0 {
					t.Fatalf("%q: %+v", conf, run.Stats)
				}
			}
		}
		if _, err := WouldFit(tl, died, "expandable_segments:True"); err != nil {
			t.Fatal(err)
		}
	})
}

// hostileTrace makes events of three bytes each: action, address, size. Sizes are powers
// of two and their neighbours, up to more than any device has.
func hostileTrace(data []byte, mode uint8) *trace {
	r := newTrace()
	r.rec.Settings.ExpandableSegments = mode&1 != 0
	r.dev.Events.HasPools = mode&2 != 0
	r.dev.Events.Pools = []snapshot.PoolID{{}, {0, 3}}
	for ; len(data) >= 3; data = data[3:] {
		size := int64(1)<<(data[2]/5%56) + int64(data[2]%5) - 2
		r.dev.Events.Append(snapshot.Event{
			Action: snapshot.Action(data[0] % 12), Addr: uint64(data[1]) << (mode % 60), SizeBytes: size,
			Stream: snapshot.StreamID(data[1] & 1), Pool: uint32(data[0] >> 7),
		})
	}
	if mode&4 != 0 {
		r.dev.Segments = []snapshot.Segment{{Addr: 5 << (mode % 60), SizeBytes: 20 * mib, NumBlocks: 1, Pool: snapshot.PoolID{1, 0}}}
		r.dev.Blocks = []snapshot.Block{{Addr: 5 << (mode % 60), SizeBytes: 2 * mib, RequestedBytes: mib, State: snapshot.Allocated}}
	}
	return r
}
