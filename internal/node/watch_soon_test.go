package node

import (
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
)

// TestLooksSoonWhereMemoryIsWaitedFor: a job that began and died between two looks was never
// seen to belong to its lease. What the driver still shows of it is nobody's then, and a
// request that waits for it need not wait for a whole interval.
func TestLooksSoonWhereMemoryIsWaitedFor(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	first := r.held(me, gpuA, 60*gib)
	job := r.Begin(me, 1001, holder.Mark{})
	r.put(job, gpuA, 50*gib)
	r.Kill(job, me)
	r.card(gpuA).vanish[job] = true
	look := func(soon bool) {
		t.Helper()
		r.clock.Advance(100 * time.Millisecond)
		if got := r.look(t.Context()); got != soon {
			t.Errorf("the next look comes soon: %t, want %t", got, soon)
		}
	}
	next := r.held(r.user(), gpuA, 60*gib)
	look(true)
	r.wantState(first, lease.Ended, lease.Exited)
	r.wantState(next, lease.Queued, "")
	r.off(job)
	look(false)
	r.wantState(next, lease.Granted, "")
}

// TestMemoryOnItsWayBackIsNoPeak: for a moment after a process has left, the driver names
// nobody for its memory. That counts while it is there and not as the peak of somebody who
// may take it again, however many looks fall into that moment.
func TestMemoryOnItsWayBackIsNoPeak(t *testing.T) {
	r := newRig(t, nil)
	stranger := r.user()
	r.put(stranger, gpuA, 50*gib)
	r.round()
	r.Kill(stranger)
	r.off(stranger)
	r.card(gpuA).hidden = 50 * gib
	next := r.held(r.user(), gpuA, 60*gib)
	for range 3 {
		r.clock.Advance(100 * time.Millisecond)
		r.look(t.Context())
		r.wantForeign(gpuA, 50*gib)
	}
	r.card(gpuA).hidden = 0
	r.round()
	r.wantState(next, lease.Granted, "")
}
