package tune

import (
	"errors"
	"testing"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/snapshot"
)

// kinds returns the kinds of a program's ops.
func kinds(p *Program) (list []uint32) {
	for _, o := range p.ops {
		list = append(list, o.what&^slotMask)
	}
	return list
}

func equal[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestCompile(t *testing.T) {
	const seg, x, y = 1 << 40, 1 << 40, 1<<40 + 2*mib
	tests := []struct {
		name  string
		trace func(*trace)
		want  []uint32
		slots int
	}{
		{"a free that completes at once is one step, and its slot is used again", func(r *trace) {
			for range 2 {
				r.add(snapshot.Alloc, x, 2*mib, "a").add(snapshot.FreeRequested, x, 2*mib, "").add(snapshot.FreeCompleted, x, 2*mib, "")
			}
		}, []uint32{opMalloc, opFree, opMalloc, opFree}, 1},
		{"a free that waits for a stream is two", func(r *trace) {
			r.add(snapshot.Alloc, x, 2*mib, "a").add(snapshot.FreeRequested, x, 2*mib, "").
				add(snapshot.Alloc, y, 2*mib, "a").add(snapshot.FreeCompleted, x, 2*mib, "")
		}, []uint32{opMalloc, opRequested, opMalloc, opCompleted}, 2},
		{"a free whose request was not recorded", func(r *trace) {
			r.add(snapshot.Alloc, x, 2*mib, "a").add(snapshot.FreeCompleted, x, 2*mib, "")
		}, []uint32{opMalloc, opFree}, 1},
		{"a request that failed", func(r *trace) {
			r.add(snapshot.Alloc, x, 2*mib, "a").add(snapshot.OOM, 0, 8*mib, "a")
		}, []uint32{opMalloc, opFail}, 1},
		{"a convolution's workspace, in the backward pass without a stack", func(r *trace) {
			r.add(snapshot.Alloc, x, 2*mib, "_conv_forward").add(snapshot.FreeRequested, x, 2*mib, "").add(snapshot.FreeCompleted, x, 2*mib, "").
				add(snapshot.Alloc, y, 2*mib, "").add(snapshot.FreeRequested, y, 2*mib, "").add(snapshot.FreeCompleted, y, 2*mib, "")
		}, []uint32{opWorkspace, opFree, opWorkspace, opFree}, 1},
		{"a convolution's output is none", func(r *trace) {
			r.add(snapshot.Alloc, x, 2*mib, "_conv_forward").add(snapshot.Alloc, y, 2*mib, "_conv_forward").
				add(snapshot.FreeRequested, y, 2*mib, "").add(snapshot.FreeCompleted, y, 2*mib, "")
		}, []uint32{opMalloc, opWorkspace, opFree}, 2},
		{"a short life elsewhere is none", func(r *trace) {
			r.add(snapshot.Alloc, x, 2*mib, "matmul").add(snapshot.FreeRequested, x, 2*mib, "").add(snapshot.FreeCompleted, x, 2*mib, "")
		}, []uint32{opMalloc, opFree}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTrace()
			r.add(snapshot.SegmentAlloc, seg, 20*mib, "")
			tt.trace(r)
			p := compiled(t, r.timeline(), -1)
			if got := kinds(p); !equal(got, tt.want) {
				t.Errorf("kinds %#x, want %#x", got, tt.want)
			}
			if p.slots != tt.slots {
				t.Errorf("%d slots, want %d", p.slots, tt.slots)
			}
		})
	}
}

// TestCompileTakesPoolsFromSegments: traces before torch 2.12 do not name the pool of a
// request; the segment it lies in does, also where another pool's was there before.
func TestCompileTakesPoolsFromSegments(t *testing.T) {
	const addr = 1 << 40
	r := newTrace()
	r.freeSegment(addr, 20*mib, "a").add(snapshot.SegmentFree, addr, 20*mib, "empty_cache").
		add(snapshot.SegmentAlloc, addr, 20*mib, "b").add(snapshot.Alloc, addr, 2*mib, "b").
		add(snapshot.SegmentAlloc, 2*addr, 20*mib, "c").add(snapshot.Alloc, 2*addr, 2*mib, "c")
	pool := snapshot.PoolID{0, 7}
	r.dev.Segments = []snapshot.Segment{
		{Addr: addr, SizeBytes: 20 * mib, Pool: pool, Kind: snapshot.LargeSegment, FirstBlock: 0, NumBlocks: 1},
		{Addr: 2 * addr, SizeBytes: 20 * mib, Kind: snapshot.LargeSegment, FirstBlock: 1, NumBlocks: 1},
	}
	r.dev.Blocks = []snapshot.Block{
		{Addr: addr, SizeBytes: 2 * mib, RequestedBytes: 2 * mib, State: snapshot.Allocated},
		{Addr: 2 * addr, SizeBytes: 2 * mib, RequestedBytes: 2 * mib, State: snapshot.Allocated},
	}
	p := compiled(t, r.timeline(), -1)
	want := []uint32{opMalloc, opFree, opEmptyCache, opRetain, opMalloc, opMalloc}
	if got := kinds(p); !equal(got, want) {
		t.Fatalf("kinds %#x, want %#x", got, want)
	}
	for i, want := range map[int]snapshot.PoolID{0: {}, 4: pool, 5: {}} {
		if got := p.requests[p.ops[i].request].pool; got != allocator.PoolID(want) {
			t.Errorf("op %d is of pool %v, want %v", i, got, want)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	tests := []struct {
		name  string
		trace func(*trace)
		want  error
	}{
		{"no events", func(*trace) {}, ErrNoEvents},
		{"a snapshot alone", func(r *trace) { r.add(snapshot.Snapshot, 0, 5*mib, "") }, ErrNoEvents},
		{"no allocs", func(r *trace) {
			r.add(snapshot.FreeRequested, 1<<40, 512, "").add(snapshot.FreeCompleted, 1<<40, 512, "")
		}, ErrNoAllocs},
		{"no completed frees", func(r *trace) {
			r.add(snapshot.SegmentAlloc, 1<<40, 2*mib, "").add(snapshot.Alloc, 1<<40, 512, "").add(snapshot.FreeRequested, 1<<40, 512, "")
		}, ErrNoFrees},
		{"pinned host memory", func(r *trace) { r.dev.Kind = snapshot.Host; r.add(snapshot.Alloc, 1<<40, 512, "") }, ErrHost},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTrace()
			tt.trace(r)
			if _, err := Compile(r.timeline(), -1); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}
