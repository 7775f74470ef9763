package node

import (
	"syscall"
	"testing"

	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/settings"
)

// TestDeathsThatMatter: the end of a process on a device, or of the last of a lease, is
// followed by a reading; that of one of a job's many children is not.
func TestDeathsThatMatter(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	r.held(me, gpuA, gib)
	child, works := r.Begin(me, 1001, holder.Mark{}), r.Begin(me, 1001, holder.Mark{})
	r.put(works, gpuA, gib)
	r.round()
	brief := r.user()
	r.held(brief, gpuA, gib) // and ends before the next look
	for _, tt := range []struct {
		dies holder.ID
		want bool
	}{{child, false}, {works, true}, {brief, true}, {me, true}} {
		r.Kill(tt.dies)
		if got := r.bury(t.Context()); got != tt.want {
			t.Errorf("the end of process %d matters: %v, want %v", tt.dies.PID, got, tt.want)
		}
	}
}

// TestExpiredIsStopped: after its end a lease's processes get SIGTERM, once, and after the
// grace SIGKILL, also by an agent that was started in between.
func TestExpiredIsStopped(t *testing.T) {
	for name, restart := range map[string]bool{"by one agent": false, "by two": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			me := r.user()
			child := r.Begin(me, 1001, holder.Mark{})
			r.Deafen(me)
			r.Deafen(child)
			bystander := r.user()
			r.round()
			id := r.ask(lease.Request{MemoryBytes: gib, TTLMS: 10_000, HolderPID: me.PID, HolderStart: me.Start})
			r.put(child, gpuA, gib)
			r.rounds(11)
			r.wantState(id, lease.Draining, lease.Expired)
			if got := r.Sent(child); len(got) != 1 || got[0] != syscall.SIGTERM {
				t.Fatalf("the child was sent %v", got)
			}
			if restart {
				r.restart(nil)
			}
			r.rounds(28)
			if !r.Lives(me) || !r.Lives(child) {
				t.Fatal("killed before the grace was over")
			}
			r.rounds(3)
			if r.Lives(me) || r.Lives(child) || !r.Lives(bystander) {
				t.Errorf("holder lives: %v, child: %v, bystander: %v", r.Lives(me), r.Lives(child), r.Lives(bystander))
			}
			r.off(child)
			r.rounds(2)
			r.wantState(id, lease.Ended, lease.Expired)
		})
	}
}

// TestExpiredIsWarned: by that policy processes go on, and so does the lease's hold.
func TestExpiredIsWarned(t *testing.T) {
	r := newRig(t, func(s *settings.Settings) { s.Watch.Expired = settings.Warn })
	me := r.user()
	r.round()
	id := r.ask(lease.Request{MemoryBytes: gib, TTLMS: 10_000, HolderPID: me.PID, HolderStart: me.Start})
	r.rounds(100)
	r.wantState(id, lease.Draining, lease.Expired)
	if !r.Lives(me) || len(r.Sent(me)) > 0 {
		t.Errorf("sent %v", r.Sent(me))
	}
}

// TestDrainedDevice: a device that is drained has its leases ended when their grace is over,
// and takes nothing new.
func TestDrainedDevice(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	id := r.held(me, gpuA, 20*gib)
	r.put(me, gpuA, gib)
	r.round()
	if _, err := r.decide(t.Context(), func(b *lease.Book, atMS int64) ([]lease.Event, error) {
		return b.Drain(atMS, "root", gpuA, atMS+10_000)
	}); err != nil {
		t.Fatal(err)
	}
	r.rounds(9)
	r.wantState(id, lease.Granted, "")
	r.rounds(2)
	if r.Lives(me) {
		t.Error("its process lives")
	}
	r.off(me)
	r.rounds(2)
	r.wantState(id, lease.Ended, lease.Drained)
	r.wantState(r.held(r.user(), gpuA, gib), lease.Queued, "")
}

// TestOver: use above a lease is told in the next round, once, and answered by policy.
func TestOver(t *testing.T) {
	const told = "a lease uses more than its share"
	for _, tt := range []struct {
		over        settings.Action
		used, other int64 // other: of a lease of 40 GiB beside it, all of which it may use
		stopped     bool
		times       int
	}{
		{settings.Warn, 20 * gib, 0, false, 0},
		{settings.Warn, 20*gib + 4*mib, 0, false, 1},
		{settings.Stop, 20 * gib, 0, false, 0},
		{settings.Stop, 20*gib + 4*mib, 0, true, 1},
		{settings.Tolerate, 39 * gib, 0, false, 1},
		{settings.Tolerate, 41 * gib, 0, true, 1},
		{settings.Tolerate, 39 * gib, 40 * gib, false, 1},
	} {
		t.Run(string(tt.over), func(t *testing.T) {
			r := newRig(t, func(s *settings.Settings) { s.Watch.Over = tt.over })
			greedy, other := r.user(), r.user()
			r.round()
			id := r.held(greedy, gpuA, 20*gib)
			r.held(other, gpuA, 40*gib)
			r.put(greedy, gpuA, tt.used)
			r.put(other, gpuA, tt.other)
			r.round()
			if n := r.logs.count(told); n != tt.times {
				t.Errorf("told %d times, want %d", n, tt.times)
			}
			r.rounds(3)
			if n := r.logs.count(told); n != tt.times {
				t.Errorf("told %d times in the end, want %d", n, tt.times)
			}
			if r.Lives(greedy) == tt.stopped || !r.Lives(other) {
				t.Errorf("the greedy one lives: %v, the other: %v", r.Lives(greedy), r.Lives(other))
			}
			if l := r.lease(id); tt.stopped && (l.Cause != lease.Stopped || l.EndedBy != lease.Agent || *l.Over != lease.Over{Device: gpuA, UsedBytes: tt.used}) {
				t.Errorf("the lease ends by %q of %q, for %+v", l.Cause, l.EndedBy, l.Over)
			}
		})
	}
}

// TestTolerateTheQueue: use above a lease is tolerated while nobody waits who could start without
// it, and no longer.
func TestTolerateTheQueue(t *testing.T) {
	for name, tt := range map[string]struct {
		waits   lease.Request
		stopped bool
	}{
		"it would fit":                    {lease.Request{MemoryBytes: 10 * gib, Device: gpuA}, true},
		"it fits elsewhere":               {lease.Request{MemoryBytes: 10 * gib}, false},
		"it would not fit without it":     {lease.Request{MemoryBytes: 30 * gib, Device: gpuA}, false},
		"its quota holds it back":         {lease.Request{MemoryBytes: 10 * gib, Device: gpuA, Project: "full"}, false},
		"it would fit, with another GPU":  {lease.Request{MemoryBytes: 10 * gib, Devices: 2}, true},
		"it waits for the whole of a GPU": {lease.Request{Exclusive: true, Device: gpuA}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(s *settings.Settings) {
				s.Watch.Over = settings.Tolerate
				s.Policy.Quotas = []lease.Quota{{Scope: lease.Project, Name: "full", PeakBytes: 12 * gib}}
			})
			greedy, other, waits, full := r.user(), r.user(), r.user(), r.user()
			r.round()
			id := r.held(greedy, gpuA, 20*gib)
			r.held(other, gpuA, 40*gib)
			r.ask(lease.Request{MemoryBytes: 4 * gib, Device: gpuB, Project: "full", HolderPID: full.PID, HolderStart: full.Start})
			r.put(greedy, gpuA, 39*gib)
			r.rounds(3)
			r.wantState(id, lease.Granted, "")
			tt.waits.HolderPID, tt.waits.HolderStart = waits.PID, waits.Start
			late := r.ask(tt.waits)
			r.rounds(3)
			if r.Lives(greedy) == tt.stopped {
				t.Fatalf("the greedy one lives: %v", r.Lives(greedy))
			}
			if !tt.stopped {
				return
			}
			r.off(greedy)
			r.rounds(40) // for as long as peaks count
			r.wantState(late, lease.Granted, "")
		})
	}
}

func (r *rig) release(id lease.ID, actor string, cause lease.Cause) {
	r.t.Helper()
	if _, err := r.decide(r.t.Context(), func(b *lease.Book, atMS int64) ([]lease.Event, error) {
		return b.Release(atMS, id, actor, cause)
	}); err != nil {
		r.t.Fatal(err)
	}
}
