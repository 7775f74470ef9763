package node

import (
	"errors"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
)

// The tests of docs/guarantees.md that need no real process, S1 to S4 by their names.

// TestS1ForeignCounts: what is on a device without a lease is never handed out, from the
// first reading on, and what a lease uses above its share is not either.
func TestS1ForeignCounts(t *testing.T) {
	r := newRig(t, nil)
	r.round()
	other, mine := r.user(), r.user()
	r.put(other, gpuA, 30*gib)
	r.restart(nil)
	early := r.held(mine, gpuA, 60*gib) // before anybody has looked
	r.wantState(early, lease.Queued, "")
	r.round()
	r.wantState(early, lease.Queued, "")
	r.wantForeign(gpuA, 30*gib)
	r.Kill(other)
	r.off(other)
	r.round()
	r.wantState(early, lease.Granted, "")
	r.put(mine, gpuA, 75*gib) // 15 more than it has
	r.round()
	r.wantForeign(gpuA, 15*gib)
	if d := r.device(gpuA); d.GrantedBytes+d.ForeignBytes > d.CapacityBytes {
		t.Errorf("%d MiB granted and %d foreign of %d", d.GrantedBytes/mib, d.ForeignBytes/mib, d.CapacityBytes/mib)
	}
}

// TestS1OneReading: what one reading shows of several devices counts at once. A lease of two
// that needs what one gave back does not start on what the other had before.
func TestS1OneReading(t *testing.T) {
	for _, full := range []string{gpuA, gpuB} {
		r := newRig(t, nil)
		one, two := r.user(), r.user()
		r.put(one, full, 30*gib)
		r.rounds(2)
		id := r.ask(lease.Request{MemoryBytes: 60 * gib, Devices: 2, Detached: true})
		other := map[string]string{gpuA: gpuB, gpuB: gpuA}[full]
		r.Kill(one)
		r.off(one)
		r.put(two, other, 30*gib)
		r.round()
		r.wantState(id, lease.Queued, "")
	}
}

// TestS3HolderLives: a lease without an end is its holder's for as long as it lives, however
// long and through restarts, and not longer.
func TestS3HolderLives(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	id := r.held(me, gpuA, gib)
	for range 5 {
		r.clock.Advance(30 * 24 * time.Hour)
		r.rounds(3)
		r.restart(nil)
		r.rounds(3)
		r.wantState(id, lease.Granted, "")
	}
	r.Kill(me)
	r.rounds(1)
	r.wantState(id, lease.Ended, lease.Exited)
}

// TestS3TimeToLive: a lease ends when its time is over, not before; an agent that restarts
// again and again adds one time to live and no more.
func TestS3TimeToLive(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	ask := func() lease.ID {
		return r.ask(lease.Request{MemoryBytes: gib, TTLMS: 60_000, HolderPID: me.PID, HolderStart: me.Start})
	}
	id := ask()
	r.rounds(59)
	r.wantState(id, lease.Granted, "")
	r.rounds(2)
	r.wantState(id, lease.Ended, lease.Expired)
	me = r.user()
	id = ask()
	begun := r.clock.NowMS()
	for r.lease(id).State == lease.Granted && r.clock.NowMS() < begun+3_600_000 {
		r.restart(nil)
		r.rounds(10)
	}
	if lived := r.clock.NowMS() - begun; lived < 60_000 || lived > 130_000 {
		t.Errorf("a lease of 60 s lived for %d s under an agent that restarts", lived/1000)
	}
}

// TestS4FreeOnlyWhatIsGone: memory goes to the next lease when the holder is dead, its
// children too, and a reading that began after that shows none of them.
func TestS4FreeOnlyWhatIsGone(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	child := r.Begin(me, 1001, holder.Mark{})
	r.round()
	first := r.held(me, gpuA, 60*gib)
	r.put(child, gpuA, 50*gib)
	r.round()
	next := r.held(r.user(), gpuA, 60*gib)
	r.Kill(me)
	r.rounds(3)
	r.wantState(first, lease.Granted, "") // its child lives
	r.Kill(child)
	r.card(gpuA).vanish[child] = true // the driver still has its memory, and nobody to name
	r.rounds(3)
	r.wantState(first, lease.Draining, lease.Exited)
	r.wantState(next, lease.Queued, "")
	r.bench.err = errors.New("the driver does not answer")
	r.off(child)
	r.round()
	r.wantState(first, lease.Draining, lease.Exited) // a reading that failed frees nothing
	r.bench.err = nil
	r.card(gpuA).problem = "list of processes: unknown error"
	r.round()
	r.wantState(first, lease.Draining, lease.Exited) // nor does one that may be short of processes
	r.card(gpuA).problem = ""
	r.round()
	r.wantState(first, lease.Ended, lease.Exited)
	r.wantState(next, lease.Granted, "")
}

// TestS4Leftover: memory that the driver keeps when it shows no process any more is not
// handed out, though the lease is over.
func TestS4Leftover(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	first := r.held(me, gpuA, 60*gib)
	r.put(me, gpuA, 60*gib)
	r.round()
	next := r.held(r.user(), gpuA, 60*gib)
	r.Kill(me)
	r.off(me)
	r.card(gpuA).hidden = 60 * gib
	r.round()
	r.wantState(first, lease.Ended, lease.Exited)
	r.wantState(next, lease.Queued, "")
	r.card(gpuA).hidden = 0
	r.round()
	r.wantState(next, lease.Granted, "") // and was not held for the window
}

// TestS4Drain: a lease that was given back while its process goes on holds its memory, and is
// reported, once, when it has drained for too long.
func TestS4Drain(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	id := r.held(me, gpuA, 60*gib)
	r.put(me, gpuA, 50*gib)
	r.round()
	r.release(id, "u1001", lease.Released)
	const late = "a lease drains for too long: the driver still shows its memory in use, or a process of it lives"
	r.rounds(59)
	if n := r.logs.count(late); n != 0 {
		t.Errorf("reported %d times before its deadline", n)
	}
	r.rounds(30)
	if n := r.logs.count(late); n != 1 {
		t.Errorf("reported %d times, want once", n)
	}
	r.wantState(id, lease.Draining, lease.Released)
	if !r.Lives(me) || len(r.Sent(me)) > 0 {
		t.Errorf("a process whose lease was given back was sent %v", r.Sent(me))
	}
}

// TestS3WaitingHolder: a request is taken back when who waits for it has ended, also if that
// could not be watched.
func TestS3WaitingHolder(t *testing.T) {
	for name, watched := range map[string]bool{"watched": true, "not watched": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			stays, ends := r.user(), r.user()
			r.round()
			r.held(stays, gpuA, 60*gib)
			id := r.held(ends, gpuA, 60*gib)
			if !watched {
				r.Unwatch(ends)
			}
			r.round()
			r.wantState(id, lease.Queued, "")
			if !watched {
				r.Unwatch(ends)
			}
			r.Kill(ends)
			r.round()
			r.wantState(id, lease.Ended, lease.Exited)
		})
	}
}
