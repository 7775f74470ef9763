package lease

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Book is the state: the fold of its events, and counts of refusals that are no events yet, on which
// nothing depends. It is not safe for use by several goroutines.
type Book struct {
	seq      int64
	nowMS    int64
	epoch    int64
	nextID   ID
	boot     string
	policy   Policy
	devices  []*device
	links    map[[2]string]int
	live     map[ID]*Lease  // queued, granted, draining
	past     []*Lease       // ended, in the order of their ends, for Policy.KeepMS
	pastOf   map[string]int // how many of them each user has
	queue    []*Lease       // in the order of rank
	keys     map[[2]string]ID
	load     map[party]load
	spent    map[party]spent
	refusals map[string]*refusals // by user: no part of the fold
	noRoom   Reason               // of codeNoRoom, which most of a long queue get, so that it is made once
}

// New returns the book before the first event.
func New() *Book {
	policy, _ := Policy{}.normal() // the zero policy is one that can be
	return &Book{
		nextID: 1, policy: policy, links: map[[2]string]int{}, live: map[ID]*Lease{},
		keys: map[[2]string]ID{}, load: map[party]load{}, spent: map[party]spent{}, refusals: map[string]*refusals{}, pastOf: map[string]int{},
	}
}

// Seq is the number of the last event, NowMS its time, Boot the boot that it was in.
func (b *Book) Seq() int64   { return b.seq }
func (b *Book) NowMS() int64 { return b.nowMS }
func (b *Book) Boot() string { return b.boot }

// Policy returns the policy, which is not to be changed.
func (b *Book) Policy() Policy { return b.policy }

// Leases returns those that live, by id.
func (b *Book) Leases() []Lease {
	all := make([]Lease, 0, len(b.live))
	for _, id := range slices.Sorted(maps.Keys(b.live)) {
		all = append(all, *b.live[id])
	}
	return all
}

// Waiting returns the ids of the queue, first in rank first.
func (b *Book) Waiting() []ID {
	ids := make([]ID, len(b.queue))
	for i, l := range b.queue {
		ids[i] = l.ID
	}
	return ids
}

// Apply takes the book one event further. An event that cannot follow leaves it as it was.
func (b *Book) Apply(e Event) error {
	if e.Seq != b.seq+1 {
		return b.impossible(&e, "the event before has number %d", b.seq)
	}
	if e.AtMS > maxTimeMS {
		return b.impossible(&e, "its time %d is after the year 9999", e.AtMS)
	}
	if e.AtMS < b.nowMS {
		return b.impossible(&e, "its time %d is before that of the event before, %d", e.AtMS, b.nowMS)
	}
	if err := b.step(&e); err != nil {
		return err
	}
	if was := b.periodStart(b.nowMS); was != b.periodStart(e.AtMS) {
		b.newPeriod()
	}
	b.seq, b.nowMS = e.Seq, e.AtMS
	b.forget()
	return nil
}

func (b *Book) step(e *Event) error {
	switch body := e.Body.(type) {
	case *DevicesSet:
		return b.setDevices(e, body)
	case *PolicySet:
		return b.setPolicy(e, body)
	case *Cordoned:
		return b.withDevice(e, body.Device, func(d *device) { d.cordoned = body.On })
	case *ForeignSeen:
		if body.Bytes < 0 || body.Bytes > maxBytes {
			return b.impossible(e, "%d bytes of foreign use", body.Bytes)
		}
		return b.withDevice(e, body.Device, func(d *device) { d.foreign, d.unseen = body.Bytes, false })
	case *SightLost:
		return b.withDevice(e, body.Device, func(d *device) { d.unseen = true })
	case *Started:
		b.boot = body.Boot
		for _, d := range b.devices {
			d.unseen = true
		}
		return nil
	case *Refused, *RefusedMore:
		return nil
	case *Submitted:
		return b.submitted(e, body)
	case *Placed:
		return b.placed(e, body)
	case *DeadlineSet:
		return b.deadlineSet(e, body)
	case *DrainBegun:
		return b.drainBegun(e, body)
	case *Closed:
		return b.closed(e, body)
	}
	return b.impossible(e, "an unknown body")
}

func (b *Book) impossible(e *Event, format string, args ...any) error {
	return &ImpossibleError{e.Seq, e.Kind(), fmt.Sprintf(format, args...)}
}

// newPeriod drops what those have used who hold nothing: projects come and go, and clients name them.
func (b *Book) newPeriod() {
	maps.DeleteFunc(b.spent, func(who party, _ spent) bool { return b.load[who].held == 0 })
}

func (r *Request) key() [2]string { return [2]string{r.User, r.Key} }

func (b *Book) device(uuid string) *device {
	i := slices.IndexFunc(b.devices, func(d *device) bool { return d.UUID == uuid })
	if i < 0 {
		return nil
	}
	return b.devices[i]
}

func (b *Book) withDevice(e *Event, uuid string, change func(*device)) error {
	d := b.device(uuid)
	if d == nil {
		return b.impossible(e, "there is no device %s", uuid)
	}
	change(d)
	return nil
}

// setDevices keeps what is known of devices that stay, and devices that are gone for as long as
// leases are on them.
func (b *Book) setDevices(e *Event, body *DevicesSet) error {
	if err := validDevices(body.Devices, body.Links); err != nil {
		return b.impossible(e, "%v", err)
	}
	old := b.devices
	var all []*device
	for _, d := range body.Devices {
		now := &device{unseen: true}
		if was := b.device(d.UUID); was != nil {
			*now = *was
			now.unseen = was.unseen || was.absent
		}
		now.Device, now.absent = d, false
		now.split = slices.ContainsFunc(body.Devices, func(o Device) bool { return o.Parent == d.UUID })
		now.settle()
		all = append(all, now)
	}
	for _, d := range old {
		gone := !slices.ContainsFunc(all, func(n *device) bool { return n.UUID == d.UUID })
		if gone && len(d.holdings) > 0 {
			kept := *d
			kept.absent = true
			all = append(all, &kept)
		}
	}
	b.devices = all
	b.links = map[[2]string]int{}
	for i, row := range body.Links {
		for j, n := range row {
			b.links[[2]string{body.Devices[i].UUID, body.Devices[j].UUID}] = n
		}
	}
	return nil
}

func (b *Book) setPolicy(e *Event, body *PolicySet) error {
	p, err := body.Policy.normal()
	if err != nil {
		return b.impossible(e, "%v", err)
	}
	if p.PeriodMS != b.policy.PeriodMS {
		b.spent = map[party]spent{} // other periods: what was used is counted from now
		for who := range b.load {
			b.spent[who] = spent{AtMS: e.AtMS}
		}
	}
	b.policy = p
	slices.SortFunc(b.queue, b.byRank)
	for _, user := range slices.Sorted(maps.Keys(b.pastOf)) {
		b.forgetBeyond(user)
	}
	return nil
}

// rank orders the queue; the lower the sooner.
func (b *Book) rank(l *Lease) int64 {
	q, _ := b.policy.queue(l.Queue) // a queue that is gone gives nothing
	return l.QueuedMS - int64(l.Priority+q.Priority)*b.policy.AgeMS
}

func (b *Book) byRank(a, c *Lease) int {
	return cmp.Or(cmp.Compare(b.rank(a), b.rank(c)), cmp.Compare(a.ID, c.ID))
}

func (b *Book) submitted(e *Event, body *Submitted) error {
	if body.ID != b.nextID {
		return b.impossible(e, "the next id is %d, not %d", b.nextID, body.ID)
	}
	if r, err := body.Request.normal(); err != nil || r != body.Request {
		return b.impossible(e, "the request is not one that could be submitted")
	}
	l := &Lease{ID: body.ID, Request: body.Request, State: Queued, QueuedMS: e.AtMS}
	b.nextID++
	b.live[l.ID] = l
	if l.Key != "" {
		b.keys[l.key()] = l.ID
	}
	b.count(&l.Request, load{waiting: 1})
	i, _ := slices.BinarySearchFunc(b.queue, l, b.byRank)
	b.queue = slices.Insert(b.queue, i, l)
	return nil
}

// count adds to what the parties of a request have.
func (b *Book) count(r *Request, change load) {
	for _, who := range r.parties() {
		n := b.load[who]
		n.waiting += change.waiting
		n.held += change.held
		n.bytes += change.bytes
		if n == (load{}) {
			delete(b.load, who)
		} else {
			b.load[who] = n
		}
	}
}

func (b *Book) dequeue(l *Lease) {
	b.queue = slices.DeleteFunc(b.queue, func(o *Lease) bool { return o == l })
	b.count(&l.Request, load{waiting: -1})
}

func (b *Book) placed(e *Event, body *Placed) error {
	l, err := b.in(e, body.ID, Queued)
	if err != nil {
		return err
	}
	if body.Epoch <= b.epoch {
		return b.impossible(e, "epoch %d is not above the last, %d", body.Epoch, b.epoch)
	}
	if len(body.Shares) != l.Devices {
		return b.impossible(e, "lease %d asked for %d devices and got %d", l.ID, l.Devices, len(body.Shares))
	}
	for i, s := range body.Shares {
		d := b.device(s.Device)
		twice := slices.ContainsFunc(body.Shares[:i], func(o Share) bool { return o.Device == s.Device })
		if d == nil || twice || !d.suits(&l.Request) || !d.fits(&l.Request) || s.Bytes != d.share(&l.Request) {
			return b.impossible(e, "lease %d does not fit on %s", l.ID, s.Device)
		}
	}
	b.dequeue(l)
	b.charge(&l.Request, e.AtMS)
	l.State, l.Shares, l.Epoch = Granted, body.Shares, body.Epoch
	l.GrantedMS, l.ExpiresMS = e.AtMS, body.ExpiresMS
	b.epoch = body.Epoch
	b.occupy(l)
	return nil
}

// occupy puts the shares of a lease on their devices.
func (b *Book) occupy(l *Lease) {
	for _, s := range l.Shares {
		b.device(s.Device).add(Holding{l.ID, l.Queue, l.Exclusive, s.Bytes})
	}
	b.count(&l.Request, load{held: 1, bytes: l.Bytes()})
}

// in returns a lease that has to be in one of these states.
func (b *Book) in(e *Event, id ID, states ...State) (*Lease, error) {
	l, ok := b.live[id]
	switch {
	case !ok && id > 0 && id < b.nextID:
		return nil, b.impossible(e, "lease %d has ended", id)
	case !ok:
		return nil, b.impossible(e, "there never was a lease %d", id)
	case !slices.Contains(states, l.State):
		return nil, b.impossible(e, "lease %d is %s", id, l.State)
	}
	return l, nil
}

func (b *Book) deadlineSet(e *Event, body *DeadlineSet) error {
	l, err := b.in(e, body.ID, Granted)
	if err == nil && (body.ExpiresMS <= 0 || body.GraceMS < 0) {
		err = b.impossible(e, "an end at %d, with %d ms of grace", body.ExpiresMS, body.GraceMS)
	}
	if err == nil {
		l.ExpiresMS, l.GraceMS = body.ExpiresMS, body.GraceMS
		if body.Cause != Grace {
			l.EndsFor = body.Cause
		}
	}
	return err
}

func (b *Book) drainBegun(e *Event, body *DrainBegun) error {
	l, err := b.in(e, body.ID, Granted)
	if err == nil {
		l.State, l.Cause, l.EndedBy, l.Over, l.DrainingMS = Draining, body.Cause, e.Actor, body.Over, e.AtMS
		l.ExpiresMS = min(l.ExpiresMS, e.AtMS) // it pledges nothing any more
	}
	return err
}

// closed ends a lease that waits or drains. From granted only a reboot leads here: then the
// memory is gone with the processes.
func (b *Book) closed(e *Event, body *Closed) error {
	states := []State{Queued, Draining}
	if body.Cause == Rebooted {
		states = append(states, Granted)
	}
	l, err := b.in(e, body.ID, states...)
	if err != nil {
		return err
	}
	if l.Holds() {
		b.vacate(l, e.AtMS)
	} else {
		b.dequeue(l)
	}
	if l.Cause == "" {
		l.Cause, l.EndedBy = body.Cause, e.Actor
	}
	l.State, l.EndedMS = Ended, e.AtMS
	delete(b.live, l.ID)
	b.past = append(b.past, l)
	b.pastOf[l.User]++
	b.forgetBeyond(l.User)
	return nil
}

func (b *Book) vacate(l *Lease, atMS int64) {
	b.charge(&l.Request, atMS)
	for _, s := range l.Shares {
		b.device(s.Device).remove(l.ID)
	}
	b.devices = slices.DeleteFunc(b.devices, func(d *device) bool { return d.absent && len(d.holdings) == 0 })
	b.count(&l.Request, load{held: -1, bytes: -l.Bytes()})
}
