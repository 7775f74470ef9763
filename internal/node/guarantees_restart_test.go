package node

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/holder/holdertest"
	"github.com/ullage-dev/ullage/internal/lease"
)

// The tests of docs/guarantees.md that need no real process, S5 to S8 by their names.

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
	for i := range 100 { // as a call that hangs says, longer each time
		r.bench.err = &gpu.StuckError{What: "NVML", For: time.Minute + time.Duration(i)*time.Second}
		r.round()
	}
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
	if err := r.Ready(); err != nil {
		t.Errorf("not ready for the other device: %v", err)
	}
	if n := r.logs.count("a device cannot be watched: nothing on it is freed, and soon nothing granted there"); n != 1 {
		t.Errorf("said %d times, want once", n)
	}
	r.card(gpuA).problem, r.card(gpuA).device.Memory = "", &gpu.Memory{TotalBytes: 80 * gib}
	r.round()
	r.wantState(on, lease.Granted, "")
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
