package lease

import (
	"fmt"
	"slices"
)

// turn is one decision: the events that it has led to so far.
type turn struct {
	book   *Book
	atMS   int64
	actor  string
	events []Event
	err    error // an event that the book refused, which is a fault of this package
}

func (b *Book) turn(atMS int64, actor string) *turn {
	return &turn{book: b, atMS: max(atMS, b.nowMS), actor: actor}
}

func (t *turn) emit(body Body) {
	if t.err != nil {
		return
	}
	e := Event{Seq: t.book.seq + 1, AtMS: t.atMS, Actor: t.actor, Body: body}
	if t.err = t.book.Apply(e); t.err == nil {
		t.events = append(t.events, e)
	}
}

// done grants what can be granted now, and hands back all events.
func (t *turn) done() ([]Event, error) {
	t.actor = Agent
	t.schedule()
	return t.events, t.err
}

// Agent is the actor of what nobody asked for.
const Agent = "agent"

// Submit queues a request and starts it where it can be. It returns the lease that came of an
// earlier request of the same user with the same key, if that is still remembered. A request that
// is refused is a RefusedError, and an event all the same, as long as the user has not too many.
//
// A request that does not want to wait and cannot start has ended when Submit returns.
func (b *Book) Submit(atMS int64, r Request) (ID, []Event, error) {
	if id, ok := b.keys[r.key()]; ok && r.Key != "" {
		return id, nil, nil
	}
	t := b.turn(atMS, r.User)
	r, err := b.admit(r)
	if err != nil {
		return t.refuse(0, r, err)
	}
	id := b.nextID
	t.emit(&Submitted{id, r})
	events, err := t.done()
	if l := b.live[id]; err == nil && r.NoWait && l.State == Queued {
		t.actor = r.User
		t.emit(&Closed{id, NotNow})
		events, err = t.done() // for those whom it stood before
	}
	return id, events, err
}

// Release ends a lease that waits, and lets one that holds memory drain.
func (b *Book) Release(atMS int64, id ID, actor string, cause Cause) ([]Event, error) {
	l, err := b.find(id)
	if err != nil {
		return nil, err
	}
	t := b.turn(atMS, actor)
	switch l.State {
	case Queued:
		t.emit(&Closed{id, cause})
	case Granted:
		t.emit(&DrainBegun{ID: id, Cause: cause})
	}
	return t.done()
}

// Stop lets a lease drain that uses more of a device than it has. One that is not granted stays as
// it is.
func (b *Book) Stop(atMS int64, id ID, over Over) ([]Event, error) {
	l, err := b.find(id)
	if err != nil {
		return nil, err
	}
	t := b.turn(atMS, Agent)
	if l.State == Granted {
		t.emit(&DrainBegun{id, Stopped, &over})
	}
	return t.done()
}

// Freed ends a lease that drains: its holder is gone, and the driver shows its memory free.
func (b *Book) Freed(atMS int64, id ID) ([]Event, error) {
	l, err := b.find(id)
	if err != nil {
		return nil, err
	}
	if l.State != Draining {
		return nil, refusal(CodeState, fmt.Sprintf("lease %d is %s: only one that drains can be freed", id, l.State))
	}
	t := b.turn(atMS, Agent)
	t.emit(&Closed{id, l.Cause})
	return t.done()
}

// Extend moves the end of a lease to ttlMS from now. It refuses more than the lease's parties may
// ask for, and moves no end to before what it is. A refusal is an event as Submit's is.
func (b *Book) Extend(atMS int64, id ID, ttlMS int64, actor string) ([]Event, error) {
	l, err := b.find(id)
	if err != nil {
		return nil, err
	}
	t := b.turn(atMS, actor)
	if err := b.admitExtension(&l, t.atMS, ttlMS); err != nil {
		_, events, err := t.refuse(id, l.Request, err)
		return events, err
	}
	if l.ExpiresMS > 0 && t.atMS+ttlMS > l.ExpiresMS {
		t.emit(&DeadlineSet{id, t.atMS + ttlMS, l.GraceMS, Extension})
	}
	return t.done()
}

func (b *Book) admitExtension(l *Lease, atMS, ttlMS int64) error {
	switch {
	case l.State != Granted:
		return refusal(CodeState, fmt.Sprintf("lease %d is %s: only one that is granted can be extended", l.ID, l.State))
	case ttlMS <= 0:
		return refusal(CodeInvalid, "the time to live is not above zero")
	case ttlMS > maxTTLMS:
		return refusal(CodeInvalid, longerThanAny)
	}
	for _, who := range l.parties() {
		if lim, ok := b.policy.limit(who); ok && lim.TTLMS > 0 && ttlMS > lim.TTLMS {
			return refusal(CodeLimit, tooLong(ttlMS, lim.TTLMS)+" of "+who.String())
		}
	}
	for _, s := range l.Shares {
		if d := b.device(s.Device); d.cordoned && l.ExpiresMS > 0 {
			return refusal(CodeCordon, fmt.Sprintf("device %s takes nothing new", d.UUID))
		}
	}
	if why := b.overHours(&l.Request, l.Bytes(), max(l.ExpiresMS, atMS), atMS+ttlMS, atMS); why != nil && l.ExpiresMS > 0 {
		return refusal(why.Code, why.Text)
	}
	return nil
}

// Tick ends what has run out of time, and tells the counts of refusals whose minute is over.
func (b *Book) Tick(atMS int64) ([]Event, error) {
	t := b.turn(atMS, Agent)
	t.tellRefusals(false)
	for _, id := range b.Expired(t.atMS) {
		cause := Expired
		if b.live[id].EndsFor == Drained {
			cause = Drained
		}
		t.emit(&DrainBegun{ID: id, Cause: cause})
	}
	return t.done()
}

// Expired returns the granted leases whose end has come, by id.
func (b *Book) Expired(atMS int64) []ID {
	var ids []ID
	for id, l := range b.live {
		if l.State == Granted && l.ExpiresMS > 0 && l.ExpiresMS <= atMS {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// SetPolicy replaces the policy. What was granted or queued under the old one stays.
func (b *Book) SetPolicy(atMS int64, actor string, p Policy) ([]Event, error) {
	p, err := p.normal()
	if err != nil {
		return nil, err
	}
	t := b.turn(atMS, actor)
	t.emit(&PolicySet{p})
	return t.done()
}

// SetDevices replaces the list of devices. Nothing is granted on one that is new before SetForeign
// tells what is there. A device that is missing from it takes nothing new and
// is kept while leases are on it.
func (b *Book) SetDevices(atMS int64, actor string, devices []Device, links [][]int) ([]Event, error) {
	all := slices.Clone(devices)
	for i := range all {
		d := &all[i]
		d.CapacityBytes = roundDown(d.CapacityBytes)
		d.Reserves = slices.Clone(d.Reserves)
		for j := range d.Reserves {
			d.Reserves[j].Bytes = roundUp(min(d.Reserves[j].Bytes, maxBytes+1))
		}
	}
	if err := validDevices(all, links); err != nil {
		return nil, err
	}
	t := b.turn(atMS, actor)
	t.emit(&DevicesSet{all, links})
	return t.done()
}

// parts returns a device, and the MIG instances that are leased in its stead.
func (b *Book) parts(d *device) []*device {
	all := []*device{d}
	for _, part := range b.devices {
		if part.Parent == d.UUID {
			all = append(all, part)
		}
	}
	return all
}

// Cordon keeps new leases off a device and its MIG instances, or lets them on it again.
func (b *Book) Cordon(atMS int64, actor, uuid string, on bool) ([]Event, error) {
	d := b.device(uuid)
	if d == nil {
		return nil, refusal(CodeUnknown, fmt.Sprintf("there is no device %s", uuid))
	}
	t := b.turn(atMS, actor)
	for _, part := range b.parts(d) {
		t.emit(&Cordoned{part.UUID, on})
	}
	return t.done()
}

// Drain cordons a device and its MIG instances, and gives the leases on them until endMS at most.
func (b *Book) Drain(atMS int64, actor, uuid string, endMS int64) ([]Event, error) {
	d := b.device(uuid)
	if d == nil {
		return nil, refusal(CodeUnknown, fmt.Sprintf("there is no device %s", uuid))
	}
	t := b.turn(atMS, actor)
	endMS = max(endMS, t.atMS, 1)
	for _, part := range b.parts(d) {
		t.emit(&Cordoned{part.UUID, true})
		for _, h := range part.holdings {
			l := b.live[h.Lease]
			if l.State == Granted && (l.ExpiresMS == 0 || l.ExpiresMS > endMS) {
				t.emit(&DeadlineSet{l.ID, endMS, l.GraceMS, Drained})
			}
		}
	}
	return t.done()
}

// SetForeign tells that somebody has looked at a device, and what processes without a lease hold on a device.
func (b *Book) SetForeign(atMS int64, uuid string, bytes int64) ([]Event, error) {
	d := b.device(uuid)
	bytes = roundUp(min(max(bytes, 0), maxBytes))
	switch {
	case d == nil:
		return nil, refusal(CodeUnknown, fmt.Sprintf("there is no device %s", uuid))
	case d.foreign == bytes && !d.unseen:
		return nil, nil
	}
	t := b.turn(atMS, Agent)
	t.emit(&ForeignSeen{uuid, bytes})
	return t.done()
}

// LoseSight tells that nobody can look at a device now: what is on it is not known, so nothing is
// granted there until SetForeign.
func (b *Book) LoseSight(atMS int64, uuid string) ([]Event, error) {
	d := b.device(uuid)
	switch {
	case d == nil:
		return nil, refusal(CodeUnknown, fmt.Sprintf("there is no device %s", uuid))
	case d.unseen:
		return nil, nil
	}
	t := b.turn(atMS, Agent)
	t.emit(&SightLost{uuid})
	return t.done()
}

// Start tells that the agent begins to work. Nothing is granted on a device before SetForeign tells
// what is there. In another boot of the machine, leases that are bound to processes are void. In the same one, nobody could ask for more
// time while the agent was away, so each lease has at least graceMS left; in all at most as much
// as its time to live, or graceMS, is added, so that an agent that restarts again and again
// keeps no lease alive for ever.
func (b *Book) Start(atMS int64, boot string, graceMS int64) ([]Event, error) {
	t := b.turn(atMS, Agent)
	again := boot != b.boot
	t.emit(&Started{boot})
	for _, l := range b.Leases() {
		switch {
		case again && !l.Detached:
			t.emit(&Closed{l.ID, Rebooted})
		case l.State == Granted && l.ExpiresMS > 0 && l.ExpiresMS < t.atMS+graceMS:
			more := min(t.atMS+graceMS-l.ExpiresMS, max(l.TTLMS, graceMS)-l.GraceMS)
			if more > 0 {
				t.emit(&DeadlineSet{l.ID, l.ExpiresMS + more, l.GraceMS + more, Grace})
			}
		}
	}
	return t.done()
}

func (b *Book) find(id ID) (Lease, error) {
	l, ok := b.Lease(id)
	if !ok {
		return l, refusal(CodeUnknown, fmt.Sprintf("there is no lease %d", id))
	}
	return l, nil
}
