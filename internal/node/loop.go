package node

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
)

// loop is what the watching of the machine remembers from one reading to the next. One
// goroutine has it.
type loop struct {
	*Agent
	members   *holder.Members
	counted   bool                     // all processes were looked at once
	looked    time.Time                // when the last look ended
	nameless  bool                     // somebody's name could not be asked for: members may be missing
	former    map[holder.ID][]lease.ID // members that have ended, until a reading shows that they are off the devices
	told      []lease.Device           // that the book was told of
	toldLinks [][]int                  // and how close they are to each other
	goodMS    map[string]int64         // when each of them could last be looked at
	on        map[string][]holder.ID   // processes on each place at the last reading of it
	leftMS    map[string]int64         // when one last left it
	own       map[string]int64         // what the driver uses of each place for itself, in bytes
	peaks     *peaks
	over      map[overUse]bool
	sent      map[holder.ID]syscall.Signal
	overdue   map[lease.ID]bool
	ill       map[string]string // what is wrong with devices
	trouble   string            // that was last logged
	cut       []string
}

func newLoop(a *Agent) *loop {
	l := &loop{
		Agent: a, former: map[holder.ID][]lease.ID{}, goodMS: map[string]int64{}, on: map[string][]holder.ID{}, leftMS: map[string]int64{}, own: map[string]int64{}, peaks: newPeaks(),
		over: map[overUse]bool{}, sent: map[holder.ID]syscall.Signal{}, overdue: map[lease.ID]bool{},
	}
	l.members = holder.NewMembers(l.userName)
	return l
}

// userName is a user's name as leases have it; nobody's where it cannot be asked for.
func (l *loop) userName(uid int) string {
	name, err := l.Names.User(uid)
	if err != nil {
		l.nameless = true
		return ""
	}
	return name
}

// watch looks at the machine at every interval, and when a process that matters has ended,
// until ctx has ended.
func (a *Agent) watch(ctx context.Context) error {
	l := newLoop(a)
	for ctx.Err() == nil {
		soon := l.look(ctx)
		l.rest(ctx, soon)
	}
	return nil
}

// settlePause is how long the loop waits when it hears of a death. Processes of a job end
// together, and the driver takes a moment to give their memory back.
const settlePause = 50 * time.Millisecond

// looksMost is how many looks there are at most in an interval, whoever ends: a driver is not
// asked twenty times a second because programs on it are short.
const looksMost = 8

// rest waits for the next look: an interval, a quarter of one if the driver is about to show
// memory free, or until a process has ended that may have held some.
func (l *loop) rest(ctx context.Context, soon bool) {
	span := l.settings.Load().Interval
	if soon {
		span /= 4
	}
	over, stop := l.Clock.Timer(span)
	defer stop()
	for {
		select {
		case <-over:
			return
		case <-ctx.Done():
			return
		case <-l.Processes.Deaths():
			if l.bury(ctx) {
				l.pause(ctx, over)
				return
			}
		}
	}
}

func (l *loop) pause(ctx context.Context, over <-chan time.Time) {
	gap := l.settings.Load().Interval/looksMost - l.Clock.Now().Sub(l.looked)
	pause, stop := l.Clock.Timer(max(settlePause, gap))
	defer stop()
	select {
	case <-pause:
	case <-over:
	case <-ctx.Done():
	}
}

// round is one look at the machine: what was known before the reading, the reading, and what
// follows.
type round struct {
	atMS    int64
	leases  []lease.Lease // that hold memory
	waiting []holder.ID   // who hold those that wait
	state   map[lease.ID]lease.State
	shares  map[string]map[lease.ID]int64 // by place
	parents map[string]string             // the GPU of each MIG instance that the book knows
	empty   map[lease.ID]bool             // nobody lived who belongs to it, before the reading
	read    bool                          // the reading succeeded
	reading gpu.Reading
	places  []place
	use     map[string]use
	foreign map[string]int64
	passing bool       // memory of some place may be on its way back
	stop    []overUse  // what leases are ended for
	clear   []lease.ID // are empty, and off the devices by this reading
	problem string
	trouble string // what kind of problem it is, where its text changes by itself
}

// look is one round. It tells whether the next one should come soon.
func (l *loop) look(ctx context.Context) (soon bool) {
	defer func() { l.looked = l.Clock.Now() }()
	l.bury(ctx)
	r := l.begin()
	l.census(r)
	l.withdrawUnwatched(ctx, r)
	l.read(ctx, r)
	if ctx.Err() != nil {
		return false
	}
	if r.read {
		l.join(r)
		l.reports.see(r, l.leasesOf)
		r.stop = l.judge(r)
		l.findClear(r)
	}
	l.settle(ctx, r)
	drains := l.draining()
	l.enforceEnds(drains)
	l.tellOverdue(drains, r.atMS, l.settings.Load().DrainDeadline)
	l.tellTrouble(cmp.Or(r.trouble, r.problem), r.problem)
	l.show(r)
	return l.soon(r, drains)
}

// begin takes the leases that hold memory from the book.
func (l *loop) begin() *round {
	r := &round{
		atMS: l.Clock.NowMS(), state: map[lease.ID]lease.State{}, shares: map[string]map[lease.ID]int64{},
		parents: map[string]string{}, empty: map[lease.ID]bool{}, use: map[string]use{}, foreign: map[string]int64{},
	}
	l.Ledger.View(func(b *lease.Book) {
		for _, live := range b.Leases() {
			if live.Holds() {
				r.leases = append(r.leases, live)
			} else {
				r.waiting = append(r.waiting, holderOf(&live.Request))
			}
		}
		all := b.Devices()
		for _, d := range all {
			r.parents[d.UUID] = d.Parent
		}
		if l.told == nil {
			l.told = toldBefore(all)
			l.toldLinks = linksBefore(l.told, b.Links())
		}
	})
	claims := make([]holder.Claim, len(r.leases))
	for i := range r.leases {
		held := &r.leases[i]
		r.state[held.ID] = held.State
		claims[i] = holder.Claim{Lease: int64(held.ID), Epoch: held.Epoch, User: held.User, Holder: holderOf(&held.Request)}
		for _, s := range held.Shares {
			if r.shares[s.Device] == nil {
				r.shares[s.Device] = map[lease.ID]int64{}
			}
			r.shares[s.Device][held.ID] += s.Bytes
		}
	}
	l.members.SetClaims(claims)
	return r
}

// toldBefore are the devices that the agent before this one told the book of.
func toldBefore(all []lease.DeviceStatus) []lease.Device {
	told := []lease.Device{}
	for _, d := range all {
		if !d.Absent {
			told = append(told, d.Device)
		}
	}
	return told
}

// bury takes down the processes that have ended, and takes back what they waited for. It
// tells whether memory may come free for that: jobs have children that come and go by the
// hundred, and hold none.
func (l *loop) bury(ctx context.Context) (matters bool) {
	dead := l.Processes.Dead()
	if len(dead) == 0 {
		return false
	}
	var left []int64
	for _, id := range dead {
		left = append(left, l.members.Leases(id)...)
		for _, on := range l.on {
			matters = matters || slices.Contains(on, id)
		}
	}
	l.forget(dead)
	for _, of := range left {
		matters = matters || len(l.members.Of(of)) == 0
	}
	l.withdraw(ctx, dead)
	return matters || l.hold(dead)
}

// hold tells whether one of some processes holds a lease. It may have been granted since the
// last look.
func (l *loop) hold(these []holder.ID) (one bool) {
	l.Ledger.View(func(b *lease.Book) {
		one = slices.ContainsFunc(b.Leases(), func(held lease.Lease) bool {
			return held.Holds() && slices.Contains(these, holderOf(&held.Request))
		})
	})
	return one
}

// forget moves processes from the members to those that were.
func (l *loop) forget(dead []holder.ID) {
	for _, id := range dead {
		for _, of := range l.members.Leases(id) {
			l.former[id] = append(l.former[id], lease.ID(of))
		}
		delete(l.sent, id)
	}
	l.members.Apply(holder.Changes{Ended: dead})
	l.reports.forget(dead)
}

// census looks at all processes, and finds the leases that nobody alive belongs to. Where it
// fails, none is.
//
// A process that lives when the look begins may have a child that the look has passed
// already, and end before its turn comes. So it does not do that no member is found: there
// must have been none before either, and the holder must have been gone. Before its first
// look the loop knows nobody.
func (l *loop) census(r *round) {
	before := map[lease.ID]bool{}
	for i := range r.leases {
		held := &r.leases[i]
		before[held.ID] = l.counted && len(l.members.Of(int64(held.ID))) == 0 && l.gone(holderOf(&held.Request))
	}
	ch, err := l.Processes.Scan()
	if err != nil {
		r.problem = "the machine's processes cannot be read: " + err.Error()
		return
	}
	l.forget(ch.Ended)
	ch.Ended = nil
	l.members.Apply(ch)
	if l.nameless {
		l.nameless = false
		l.members.Refresh()
	}
	l.counted = true
	for id, none := range before {
		r.empty[id] = none && len(l.members.Of(int64(id))) == 0
		l.watchMembers(id)
	}
}

// withdrawUnwatched takes back the requests of processes that have ended and could not be
// watched, or not yet.
func (l *loop) withdrawUnwatched(ctx context.Context, r *round) {
	dead := slices.DeleteFunc(r.waiting, func(id holder.ID) bool { return id == holder.ID{} || !l.gone(id) })
	if len(dead) > 0 {
		l.withdraw(ctx, dead)
	}
}

// watchMembers has the loop hear of the end of a lease's members. One that has ended already
// and was not waited for is still listed by the system.
func (l *loop) watchMembers(of lease.ID) {
	for _, id := range l.members.Of(int64(of)) {
		if l.gone(id) {
			l.forget([]holder.ID{id})
		}
	}
}

// gone tells whether a process has ended. Only the kernel's word for it counts: a process
// that cannot be looked at lives.
func (l *loop) gone(id holder.ID) bool {
	return id == (holder.ID{}) || errors.Is(l.Processes.Watch(id), holder.ErrGone)
}

// read asks the probe, without a deadline of its own: the probe has one, and a reading that
// was asked for after the deaths above is one that began after them.
func (l *loop) read(ctx context.Context, r *round) {
	began := l.Clock.Now()
	reading, err := l.Probe.Read(ctx)
	if ctx.Err() != nil {
		return
	}
	l.Counters.Read(l.Clock.Now().Sub(began), err)
	if err != nil {
		r.problem = "the GPUs cannot be read: " + err.Error()
		if stuck := new(gpu.StuckError); errors.As(err, &stuck) {
			r.trouble = "stuck: " + stuck.What // for how long, every round says anew
		}
		return
	}
	r.read, r.reading = true, reading
}

// tellTrouble logs what is wrong when it changes, not with every round.
func (l *loop) tellTrouble(trouble, problem string) {
	switch {
	case trouble == l.trouble:
		return
	case problem != "":
		l.Log.Error("the machine cannot be watched: nothing is freed, and soon nothing is granted", "error", problem)
	default:
		l.Log.Info("the machine can be watched again")
	}
	l.trouble = trouble
}

// tellDevices does so for what is wrong with one device, while the others can be watched.
func (l *loop) tellDevices(r *round) {
	now := map[string]string{}
	for i := range r.reading.Devices {
		d := &r.reading.Devices[i]
		trouble := troubleOf(d)
		if trouble == "" {
			continue
		}
		now[d.UUID] = trouble
		if _, known := l.ill[d.UUID]; !known {
			l.Log.Error("a device cannot be watched: nothing on it is freed, and soon nothing granted there", "device", d.UUID, "error", trouble)
		}
	}
	for uuid := range l.ill {
		if _, still := now[uuid]; !still {
			l.Log.Info("a device can be watched again, or is gone", "device", uuid)
		}
	}
	l.ill = now
}

// soon tells whether the driver is about to give memory back that somebody waits for: a lease
// has just been left by all its processes, or one that was never seen alive has left a place.
func (l *loop) soon(r *round, drains []lease.Lease) bool {
	waited := false
	l.Ledger.View(func(b *lease.Book) { waited = len(b.Waiting()) > 0 })
	return r.passing && waited || slices.ContainsFunc(drains, func(d lease.Lease) bool { return r.empty[d.ID] && r.atMS-d.DrainingMS < leavingMS })
}
