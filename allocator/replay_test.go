package allocator

import (
	"slices"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReplayChoosesEveryRecordedAddress is the proof of the simulation: with the
// driver's addresses taken from the recording, every block is where the real
// allocator put it, the counters peak where torch's did, and the state at the end
// is that of the dump, block by block.
func TestReplayChoosesEveryRecordedAddress(t *testing.T) {
	for _, name := range traceNames(t) {
		t.Run(name, func(t *testing.T) {
			tr := readTrace(t, name)
			for _, d := range tr.devices {
				a := New(tr.cfg)
				var r replayed
				replay(a, d.events, &r)
				for _, err := range r.errs {
					t.Errorf("device %s: %v", d.device, err)
				}
				if r.chosen != r.allocs || r.allocs == 0 {
					t.Errorf("device %s: %d of %d allocs at the recorded address", d.device, r.chosen, r.allocs)
				}
				if a.indexed {
					t.Errorf("device %s: the replay built the index of blocks without need", d.device)
				}
				if diff := cmp.Diff(dumped(d.segments), a.Segments()); diff != "" {
					t.Errorf("device %s: state at the end (-dump +replay):\n%s", d.device, diff)
				}
				if tr.peaks != nil && !cmp.Equal(tr.peaks, r.peaks[:]) {
					t.Errorf("device %s: peaks %v, torch counted %v", d.device, r.peaks, tr.peaks)
				}
				check(t, a)
			}
		})
	}
}

// dumped returns the segments of a dump without the sizes of old requests that a
// dump keeps on free blocks.
func dumped(segments []SegmentInfo) []SegmentInfo {
	for _, s := range segments {
		for i := range s.Blocks {
			if s.Blocks[i].State == Free {
				s.Blocks[i].RequestedBytes = 0
			}
		}
	}
	return segments
}

// TestLoadGoesOnIdentically cuts every trace at several events: an Allocator that
// loads the state there chooses every later address too. The last segment got from
// the driver before the cut would be handed out without a search, so the cut is
// made after an alloc.
func TestLoadGoesOnIdentically(t *testing.T) {
	for _, name := range traceNames(t) {
		t.Run(name, func(t *testing.T) {
			tr := readTrace(t, name)
			for _, d := range tr.devices {
				for _, part := range []int{1, 3, 6} {
					cut := len(d.events) * part / 7
					for cut > 0 && d.events[cut-1].action != 'a' {
						cut--
					}
					a := New(tr.cfg)
					var before, after replayed
					replay(a, d.events[:cut], &before)
					b := New(tr.cfg)
					if err := b.Load(a.Segments()); err != nil {
						t.Fatal(err)
					}
					check(t, b)
					replay(b, d.events[cut:], &after)
					if after.chosen != after.allocs || len(after.errs) > 0 {
						t.Errorf("device %s from event %d: %d of %d allocs at the recorded address, %d errors", d.device, cut, after.chosen, after.allocs, len(after.errs))
					}
				}
			}
		})
	}
}

// TestReplayRecoversFromDifference replays a trace whose segments were moved, so
// that their order by address is the reverse: ties among free blocks fall out
// differently, and the simulation wants another block than the recording. It must
// follow the recording all the same, and lose or count twice nothing.
func TestReplayRecoversFromDifference(t *testing.T) {
	tr := readTrace(t, "resnet50")
	d := tr.devices[0]
	d.mirror()
	a := New(tr.cfg)
	var r replayed
	replay(a, d.events, &r)
	for _, err := range r.errs {
		t.Error(err)
	}
	if r.chosen == r.allocs || r.chosen == 0 {
		t.Errorf("%d of %d allocs at the recorded address; the move should make some differ, not all", r.chosen, r.allocs)
	}
	if diff := cmp.Diff(dumped(d.segments), a.Segments()); diff != "" {
		t.Errorf("state at the end (-dump +replay):\n%s", diff)
	}
	check(t, a)
}

// mirror moves the segments, which must have lived to the end, to the reverse order.
func (d *deviceTrace) mirror() {
	move := func(addr uint64) uint64 {
		k := sort.Search(len(d.segments), func(k int) bool { return d.segments[k].Addr > addr }) - 1
		s := &d.segments[k]
		return 1<<48 - s.Addr - uint64(s.SizeBytes) + (addr - s.Addr)
	}
	for i := range d.events {
		d.events[i].addr = move(d.events[i].addr)
	}
	moved := slices.Clone(d.segments)
	for i := range moved {
		for k := range moved[i].Blocks {
			moved[i].Blocks[k].Addr = move(moved[i].Blocks[k].Addr)
		}
		moved[i].Addr = move(moved[i].Addr)
	}
	slices.Reverse(moved)
	d.segments = moved
}
