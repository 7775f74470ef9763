package node

import (
	"errors"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/holder/holdertest"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/settings"
)

// The tests of this file are those of docs/guarantees.md that need no real process: S1 to S8
// by their names.

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

// TestS5Fencing: each grant has a higher epoch than all before. Only a process that was started
// under a lease's own epoch is of that lease and told a limit; one of an older grant is an
// orphan, and what it uses counts against the others.
func TestS5Fencing(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	old := r.held(me, gpuA, 20*gib)
	first := r.lease(old).Epoch
	r.release(old, "u1001", lease.Released)
	id := r.held(me, gpuA, 20*gib)
	epoch := r.lease(id).Epoch
	if first == 0 || epoch <= first {
		t.Fatalf("epoch %d after %d", epoch, first)
	}
	fresh := r.Begin(holder.ID{}, 1001, holder.Mark{Lease: int64(id), Epoch: epoch})
	stale := r.Begin(holder.ID{}, 1001, holder.Mark{Lease: int64(id), Epoch: first})
	strange := r.Begin(holder.ID{}, 1002, holder.Mark{Lease: int64(id), Epoch: epoch}) // another user's
	for _, p := range []holder.ID{fresh, stale, strange} {
		r.put(p, gpuA, gib)
	}
	r.rounds(2)
	for _, tt := range []struct {
		by     holder.ID
		uid    int
		limits int
	}{{strange, 1002, 0}, {stale, 1001, 0}, {fresh, 1001, 1}} {
		who := &caller{uid: tt.uid, user: "u" + strconv.Itoa(tt.uid), id: tt.by}
		a, err := r.report(t.Context(), who, client.Report{Devices: []client.ReportDevice{on(gpuA, gib/2, 0)}})
		if err != nil || len(a.Limits) != tt.limits || tt.limits == 1 && a.Limits[0].Epoch != epoch {
			t.Errorf("process %d is told %+v, %v, want %d limits of epoch %d", tt.by.PID, a.Limits, err, tt.limits, epoch)
		}
	}
	if !r.job(stale).Orphan || r.job(fresh).Orphan {
		t.Errorf("orphans: stale %v, fresh %v", r.job(stale).Orphan, r.job(fresh).Orphan)
	}
	r.wantForeign(gpuA, 2*gib)
}

// TestS6Restart: an agent that was killed takes up what is there: jobs go on under their
// leases, marked processes are found without their parents, holders that died while nobody
// looked are drained, and what has no lease counts.
func TestS6Restart(t *testing.T) {
	r := newRig(t, nil)
	stays, dies, orphaned := r.user(), r.user(), r.user()
	r.round()
	staying := r.held(stays, gpuA, 20*gib)
	dying := r.held(dies, gpuA, 20*gib)
	left := r.held(orphaned, gpuA, 20*gib)
	waiting := r.held(r.user(), gpuA, 40*gib)
	child := r.Begin(stays, 1001, holder.Mark{})
	marked := r.Begin(orphaned, 1001, holder.Mark{Lease: int64(left), Epoch: r.lease(left).Epoch})
	r.put(child, gpuA, 10*gib)
	r.put(marked, gpuA, 10*gib)
	r.put(dies, gpuA, 10*gib)
	r.round()
	r.wantForeign(gpuA, 0)
	r.Kill(dies, orphaned)
	r.off(dies)
	stranger := r.user()
	r.put(stranger, gpuA, 3*gib)
	r.restart(nil)
	r.wantState(waiting, lease.Queued, "")
	r.rounds(2)
	r.wantState(staying, lease.Granted, "")
	r.wantState(left, lease.Granted, "") // a process of it lives
	r.wantState(dying, lease.Ended, lease.Exited)
	r.wantForeign(gpuA, 3*gib)
	r.wantState(waiting, lease.Queued, "")
	if used := r.now().watched[staying].used[gpuA]; used != 10*gib {
		t.Errorf("the child of a holder uses %d MiB of its lease, want 10240", used/mib)
	}
	r.Kill(marked)
	r.off(marked)
	r.round()
	r.wantState(left, lease.Ended, lease.Exited)
	r.wantState(waiting, lease.Granted, "") // 20 and 3 of 80 are taken
}

// birth is a machine on which something happens while somebody looks at all processes:
// before what is looked at first, and after.
type birth struct {
	*holdertest.Machine
	before, after func()
}

func (b *birth) Scan() (holder.Changes, error) {
	b.before()
	ch, err := b.Machine.Scan()
	b.after()
	b.before, b.after = func() {}, func() {}
	return ch, err
}

// TestS6BornDuringALook: a lease whose last process had a child and ended within one look at
// the machine's processes is the child's, also when that is an agent's first look.
func TestS6BornDuringALook(t *testing.T) {
	for name, first := range map[string]bool{"first": true, "later": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			me := r.user()
			r.round()
			id := r.held(me, gpuA, gib)
			mark := holder.Mark{Lease: int64(id), Epoch: r.lease(id).Epoch}
			last := r.Begin(me, 1001, mark)
			r.round()
			r.Kill(me)
			r.round()
			if first {
				r.restart(nil)
			}
			var child holder.ID
			r.Agent.Processes = &birth{r.Machine, func() { r.Kill(last) }, func() { child = r.Begin(last, 1001, mark) }}
			r.rounds(5)
			r.wantState(id, lease.Granted, "")
			r.Kill(child)
			r.round()
			r.wantState(id, lease.Ended, lease.Exited)
		})
	}
}

// TestS7Boot: in another boot no process of before lives, so leases that were bound to one
// are void; those that were not stay.
func TestS7Boot(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	bound := r.held(me, gpuA, 20*gib)
	waits := r.held(me, gpuA, 79*gib)
	detached := r.ask(lease.Request{MemoryBytes: 10 * gib, Device: gpuA, Detached: true})
	r.wantState(detached, lease.Queued, "") // behind waits
	r.release(waits, "u1001", lease.Released)
	r.wantState(detached, lease.Granted, "")
	r.Kill(me)
	other := r.user() // has the PID and the start of another machine's life, and may have me's
	r.boot = "boot-2"
	r.restart(nil)
	r.wantState(bound, lease.Ended, lease.Rebooted)
	r.rounds(2)
	r.wantState(detached, lease.Granted, "")
	fresh := r.held(other, gpuA, 60*gib)
	r.wantState(fresh, lease.Granted, "")
}

// TestS8Blind: while the driver does not answer, nothing is freed, soon nothing is granted,
// and the agent says so; jobs and their leases stay as they are.
func TestS8Blind(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	held := r.held(me, gpuA, 20*gib)
	r.put(me, gpuA, 10*gib)
	r.round()
	if err := r.Ready(); err != nil {
		t.Fatal(err)
	}
	r.bench.err = &gpu.StuckError{What: "NVML", For: time.Minute}
	r.rounds(1)
	if r.Ready() == nil {
		t.Error("ready with a driver that does not answer")
	}
	r.rounds(4)
	asked := r.held(r.user(), gpuA, gib)
	r.wantState(asked, lease.Queued, "")
	var why []lease.Reason
	r.Ledger.View(func(b *lease.Book) { why = b.Explain(r.clock.NowMS(), asked) })
	if len(why) == 0 || why[0].Code != lease.CodeUnseen {
		t.Errorf("it waits because of %+v, want %s", why, lease.CodeUnseen)
	}
	r.rounds(100)
	r.wantState(held, lease.Granted, "")
	if n := r.logs.count("the machine cannot be watched: nothing is freed, and soon nothing is granted"); n != 1 {
		t.Errorf("said %d times, want once", n)
	}
	r.bench.err = nil
	r.round()
	r.wantState(asked, lease.Granted, "")
	if err := r.Ready(); err != nil {
		t.Error(err)
	}
}

// TestS8OneDevice: a device that cannot be looked at takes nothing new; the others do.
func TestS8OneDevice(t *testing.T) {
	r := newRig(t, nil)
	r.round()
	r.card(gpuA).problem, r.card(gpuA).device.Memory = "NVML (GPU 0) has not answered for 1m", nil
	r.rounds(5)
	on := r.ask(lease.Request{MemoryBytes: gib, Device: gpuA, Detached: true})
	beside := r.ask(lease.Request{MemoryBytes: gib, Device: gpuB, Detached: true})
	r.wantState(on, lease.Queued, "")
	r.wantState(beside, lease.Granted, "")
}

// TestS8Processes: while the machine's processes cannot be read, nobody's end is believed.
func TestS8Processes(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	id := r.held(me, gpuA, gib)
	r.round()
	r.FailScan(errors.New("too many open files"))
	r.rounds(3)
	r.wantState(id, lease.Granted, "")
	r.Kill(me)
	r.rounds(3)
	r.wantState(id, lease.Granted, "")
	if r.Ready() == nil {
		t.Error("ready without a look at the processes")
	}
	r.FailScan(nil)
	r.round()
	r.wantState(id, lease.Ended, lease.Exited)
}

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
	for _, tt := range []struct {
		dies holder.ID
		want bool
	}{{child, false}, {works, true}, {me, true}} {
		r.Kill(tt.dies)
		if got := r.bury(t.Context()); got != tt.want {
			t.Errorf("the end of process %d matters: %v, want %v", tt.dies.PID, got, tt.want)
		}
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
			if tt.stopped && r.lease(id).Cause != lease.Stopped {
				t.Errorf("the lease ends by %q", r.lease(id).Cause)
			}
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
