package tune

import (
	"testing"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/snapshot"
)

const mib = 1 << 20

// freeSegment appends what a request and its free in a segment of their own leave.
func (t *trace) freeSegment(addr uint64, sizeBytes int64, function string) *trace {
	return t.add(snapshot.SegmentAlloc, addr, sizeBytes, function).
		add(snapshot.Alloc, addr, sizeBytes, function).
		add(snapshot.FreeRequested, addr, sizeBytes, function).
		add(snapshot.FreeCompleted, addr, sizeBytes, function)
}

// TestFindsCallsOfEmptyCache: what releases of segments are taken for. In each case a
// segment of 64 MiB was used and is free when it is given back.
func TestFindsCallsOfEmptyCache(t *testing.T) {
	const a, b = 1 << 40, 1<<40 + 1<<30
	tests := []struct {
		name    string
		after   func(*trace) // how the segment at a is released, and what follows
		calls   int
		named   int
		retries int
	}{
		{"the stack names it", func(r *trace) {
			r.add(snapshot.SegmentFree, a, 64*mib, "empty_cache").freeSegment(b, 32*mib, "step")
		}, 1, 1, 0},
		{"nothing follows", func(r *trace) {
			r.add(snapshot.SegmentFree, a, 64*mib, "")
		}, 1, 0, 0},
		{"another request's free follows", func(r *trace) {
			r.add(snapshot.SegmentFree, a, 64*mib, "step").add(snapshot.FreeRequested, 1<<39, 512, "").add(snapshot.FreeCompleted, 1<<39, 512, "")
		}, 1, 0, 0},
		{"the growth it was for follows, from the same stack", func(r *trace) {
			r.add(snapshot.SegmentFree, a, 64*mib, "step").freeSegment(b, 96*mib, "step")
		}, 0, 0, 1},
		{"a growth from another stack follows", func(r *trace) {
			r.add(snapshot.SegmentFree, a, 64*mib, "clean").freeSegment(b, 96*mib, "step")
		}, 1, 0, 0},
		{"no stacks, and the growth would have fitted under what was reserved later", func(r *trace) {
			r.add(snapshot.SegmentFree, a, 64*mib, "").freeSegment(b, 96*mib, "").freeSegment(b+1<<30, 200*mib, "")
		}, 1, 0, 0},
		{"no stacks, and it would not", func(r *trace) {
			r.add(snapshot.SegmentFree, a, 64*mib, "").freeSegment(b, 96*mib, "")
		}, 0, 0, 1},
		{"the stack of the segment's own allocation tells nothing", func(r *trace) {
			r.add(snapshot.SegmentFree, a, 64*mib, "first").freeSegment(b, 96*mib, "step")
		}, 0, 0, 1},
		{"a failure follows", func(r *trace) {
			r.add(snapshot.SegmentFree, a, 64*mib, "step").add(snapshot.OOM, 0, 96*mib, "step")
		}, 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTrace()
			r.add(snapshot.SegmentAlloc, 1<<39, 2*mib, "").add(snapshot.Alloc, 1<<39, 512, "")
			r.freeSegment(a, 64*mib, "first")
			tt.after(r)
			p := compiled(t, r.timeline(), -1)
			if p.Notes.EmptyCaches != tt.calls || p.Notes.NamedCaches != tt.named || len(p.retries) != tt.retries {
				t.Errorf("%d calls, %d by name, %d retries; want %d, %d, %d", p.Notes.EmptyCaches, p.Notes.NamedCaches, len(p.retries), tt.calls, tt.named, tt.retries)
			}
			if p.Notes.Odd > 0 {
				t.Errorf("%d events were left out", p.Notes.Odd)
			}
		})
	}
}

// TestGarbageCollectionIsNoCall: with a threshold in force, a release of whole large
// segments before a growth may be a collection, which other settings do without.
func TestGarbageCollectionIsNoCall(t *testing.T) {
	r := newTrace()
	r.rec.Settings.GCThreshold = 0.5
	r.freeSegment(1<<40, 64*mib, "").add(snapshot.SegmentFree, 1<<40, 64*mib, "").freeSegment(1<<41, 32*mib, "").freeSegment(1<<42, 200*mib, "")
	if p := compiled(t, r.timeline(), -1); p.Notes.EmptyCaches+len(p.retries) != 0 {
		t.Errorf("%+v, %d retries; want neither calls nor retries", p.Notes, len(p.retries))
	}
}

// TestReplaysEmptyCache: a recorded call is made under other settings too. Without it
// the second request would have found the first one's segment.
func TestReplaysEmptyCache(t *testing.T) {
	r := newTrace()
	r.freeSegment(1<<40, 64*mib, "step").add(snapshot.SegmentFree, 1<<40, 64*mib, "empty_cache").freeSegment(1<<41, 32*mib, "step")
	p := compiled(t, r.timeline(), -1)
	tuner := New(allocator.Newest, []*Program{p}, Room{}, Options{})
	s := parsed(t, "expandable_segments:True")
	got := tuner.try(p, &s)
	if got.Calls.Unmaps != 1 || got.Reserved != 40*mib || got.PeakReserved != 80*mib {
		t.Errorf("%d unmaps, %d reserved at the end, %d at the peak; want 1, 40 MiB, 80 MiB", got.Calls.Unmaps, got.Reserved, got.PeakReserved)
	}
}
