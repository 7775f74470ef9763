package lease

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const gib = 1 << 30

// dice are where a random world takes its choices from: a seed, or rapid, which can shrink them.
type dice interface{ intn(n int) int }

type seeded struct{ *rand.Rand }

func (s seeded) intn(n int) int { return s.IntN(n) }

func newSeeded(seed uint64) seeded { return seeded{rand.New(rand.NewPCG(seed, 0))} }

type drawn struct{ t *rapid.T }

func (d drawn) intn(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "n") }

func pick[T any](d dice, from ...T) T { return from[d.intn(len(from))] }

// tester is what testing.T and rapid.T have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// world is a book under random operations, with a model beside it.
type world struct {
	dice
	book  *Book
	model *model
	atMS  int64
	log   []Event // all events
}

var testDevices = []Device{
	{UUID: "A", Model: "H200", CapacityBytes: 140 * gib},
	{UUID: "B", Model: "H200", CapacityBytes: 140 * gib, Reserves: []Reserve{{"inference", 40 * gib}}},
	{UUID: "C", Model: "A100", CapacityBytes: 80 * gib},
	{UUID: "D", Model: "A100", CapacityBytes: 80 * gib},
	{UUID: "C/0", Model: "A100 MIG 3g.40gb", Parent: "C", CapacityBytes: 40 * gib},
	{UUID: "C/1", Model: "A100 MIG 1g.10gb", Parent: "C", CapacityBytes: 10 * gib},
}

var testPolicy = Policy{
	AgeMS: 60_000, KeepMS: 600_000, PeriodMS: 3_600_000,
	Queues: []Queue{{"inference", 5}, {"batch", -5}},
	Quotas: []Quota{{Scope: User, Name: Each, PeakBytes: 250 * gib}, {Scope: User, Name: "eve", PeakBytes: 60 * gib, GiBHours: 30}, {Scope: Project, Name: "p", GiBHours: 60}},
	Limits: []Limit{{Scope: User, Name: "eve", MemoryBytes: 50 * gib, Devices: 1, TTLMS: 1_800_000, Waiting: 4, Leases: 8}, {Scope: Group, Name: "g", Priority: 10, Waiting: 30}},
}

func newWorld(t tester, d dice, devices []Device, p Policy) *world {
	w := &world{dice: d, book: New(), model: newModel()}
	w.see(t, must(w.book.Start(0, "boot-0", 0)))
	w.see(t, must(w.book.SetPolicy(0, "root", p)))
	w.see(t, must(w.book.SetDevices(0, "root", devices, nil)))
	for _, d := range devices {
		w.see(t, must(w.book.SetForeign(0, d.UUID, 0)))
	}
	return w
}

func must(events []Event, err error) []Event {
	if err != nil {
		panic(err)
	}
	return events
}

func (w *world) request() Request {
	r := Request{
		User: pick(w, "ann", "bob", "eve"), Group: pick(w, "", "g"), Project: pick(w, "", "p"), Key: pick(w, "", "", "k1", "k2"),
		MemoryBytes: int64(w.intn(90)) * gib * 2 / 3, Devices: pick(w, 0, 1, 1, 1, 2, 3), Device: pick(w, "", "", "", "A", "C", "C/1"),
		Model: pick(w, "", "", "h200"), Exclusive: w.intn(8) == 0, Priority: w.intn(21) - 10, Queue: pick(w, "", "inference", "batch"),
		TTLMS: pick[int64](w, 0, 0, 60_000, 600_000), Detached: w.intn(4) == 0, NoWait: w.intn(8) == 0,
	}
	if r.Detached && r.TTLMS == 0 && w.intn(8) != 0 { // most are not refused for it
		r.TTLMS = 600_000
	}
	return r
}

// lease picks an id: mostly of a lease that lives.
func (w *world) lease() ID {
	live := w.book.Leases()
	if len(live) == 0 || w.intn(20) == 0 {
		return ID(w.intn(int(w.book.nextID) + 1))
	}
	return live[w.intn(len(live))].ID
}

// step does one random thing. An error is fine if it is a refusal.
func (w *world) step(t tester) {
	b := w.book
	w.atMS += int64(w.intn(20_000)) - 500 // and sometimes the clock runs back
	uuid := pick(w, "A", "B", "C/0", "D", "gone")
	var events []Event
	var err error
	switch n := w.intn(100); {
	case n < 40:
		_, events, err = b.Submit(w.atMS, w.request())
	case n < 55:
		id := w.lease()
		if cause := pick(w, Released, Exited, Stopped); cause == Stopped {
			events, err = b.Stop(w.atMS, id, Over{"A", gib})
		} else {
			events, err = b.Release(w.atMS, id, "ann", cause)
		}
	case n < 75:
		events, err = b.Freed(w.atMS, w.lease())
	case n < 83:
		events, err = b.Tick(w.atMS)
	case n < 88:
		events, err = b.Extend(w.atMS, w.lease(), int64(w.intn(3_000_000)), "ann")
	case n < 93:
		events, err = b.SetForeign(w.atMS, uuid, pick[int64](w, 0, 0, 3*gib+1, 30*gib))
	case n < 94:
		events, err = b.LoseSight(w.atMS, uuid)
	case n < 96:
		events, err = b.Cordon(w.atMS, "root", uuid, w.intn(3) == 0)
	case n < 97:
		events, err = b.Drain(w.atMS, "root", uuid, w.atMS+60_000)
	case n < 98:
		events, err = b.Start(w.atMS, pick(w, b.Boot(), b.Boot(), b.Boot(), fmt.Sprint("boot-", w.atMS)), 30_000)
	case n < 99:
		events, err = b.SetDevices(w.atMS, "root", w.someDevices(), nil)
	default:
		p := testPolicy
		p.AgeMS = pick[int64](w, 0, 60_000, 600_000)
		p.KeepEach = pick(w, 0, 5, 50)
		events, err = b.SetPolicy(w.atMS, "root", p)
	}
	if refused := (*RefusedError)(nil); err != nil && !errors.As(err, &refused) {
		t.Fatalf("step failed: %v", err)
	}
	w.see(t, events)
}

// someDevices is the list with one missing, smaller or with more in reserve, or whole.
func (w *world) someDevices() []Device {
	all := slices.Clone(testDevices)
	switch i := w.intn(len(all)); w.intn(4) {
	case 0:
		return slices.Delete(all, i, i+1)
	case 1:
		all[i].CapacityBytes = all[i].CapacityBytes * 3 / 4
	case 2:
		all[i].Reserves = []Reserve{{"batch", 10 * gib}}
	}
	return all
}

// see hands events to the model.
func (w *world) see(t tester, events []Event) {
	for i := range events {
		if err := w.model.apply(&events[i]); err != nil {
			t.Fatalf("event %d (%s): %v", events[i].Seq, events[i].Kind(), err)
		}
	}
	w.log = append(w.log, events...)
}

// model knows the rules in their simplest form: what is on a device is summed up from the leases,
// and a lease goes only where the states allow.
type model struct {
	devices map[string]Device
	foreign map[string]int64
	unseen  map[string]bool
	state   map[ID]State
	request map[ID]Request
	shares  map[ID][]Share
	maxID   ID
	maxSeq  int64
}

func newModel() *model {
	return &model{foreign: map[string]int64{}, unseen: map[string]bool{}, state: map[ID]State{}, request: map[ID]Request{}, shares: map[ID][]Share{}}
}

func (m *model) apply(e *Event) error {
	if m.maxSeq++; e.Seq != m.maxSeq {
		return fmt.Errorf("expected number %d", m.maxSeq)
	}
	switch body := e.Body.(type) {
	case *DevicesSet:
		before := m.devices
		m.devices = map[string]Device{}
		for _, d := range body.Devices {
			m.devices[d.UUID] = d
			if _, ok := before[d.UUID]; !ok {
				m.unseen[d.UUID] = true
			}
		}
	case *Started:
		for uuid := range m.devices {
			m.unseen[uuid] = true
		}
	case *SightLost:
		m.unseen[body.Device] = true
	case *ForeignSeen:
		m.foreign[body.Device], m.unseen[body.Device] = body.Bytes, false
	case *Submitted:
		if m.maxID++; body.ID != m.maxID {
			return fmt.Errorf("id %d is not the next", body.ID)
		}
		m.state[body.ID], m.request[body.ID] = Queued, body.Request
	case *Placed:
		return m.place(body)
	case *DrainBegun:
		return m.move(body.ID, Draining, Granted)
	case *Closed:
		from := []State{Queued, Draining}
		if body.Cause == Rebooted {
			from = append(from, Granted)
		}
		delete(m.shares, body.ID)
		return m.move(body.ID, Ended, from...)
	}
	return nil
}

func (m *model) move(id ID, to State, from ...State) error {
	if !slices.Contains(from, m.state[id]) {
		return fmt.Errorf("lease %d goes from %q to %s", id, m.state[id], to)
	}
	if m.state[id] = to; to == Ended {
		delete(m.request, id)
	}
	return nil
}

// place checks a grant: nothing over capacity, with foreign use and reserves. Only where foreign
// processes have taken of a reserve may it be over, by as much as before: what is left of a
// reserve is still its queue's.
func (m *model) place(p *Placed) error {
	r := m.request[p.ID]
	before := map[string]int64{}
	for _, s := range p.Shares {
		before[s.Device] = m.spoken(m.devices[s.Device])
	}
	m.shares[p.ID] = p.Shares
	if len(p.Shares) != r.Devices {
		return fmt.Errorf("%d shares of %d", len(p.Shares), r.Devices)
	}
	for _, s := range p.Shares {
		d, ok := m.devices[s.Device]
		foreign, spoken := m.foreign[s.Device], m.spoken(d)
		over := foreign+spoken > d.CapacityBytes && spoken > before[s.Device]
		d.Reserves = nil
		if !ok || m.unseen[s.Device] || over || foreign+m.spoken(d) > d.CapacityBytes || s.Bytes < r.MemoryBytes {
			return fmt.Errorf("device %s: %d and %d foreign of %d", s.Device, spoken, foreign, d.CapacityBytes)
		}
	}
	return m.move(p.ID, Granted, Queued)
}

func (m *model) spoken(d Device) (sum int64) {
	byQueue := map[string]int64{}
	for id, shares := range m.shares {
		for _, s := range shares {
			if s.Device == d.UUID {
				byQueue[m.request[id].Queue] += s.Bytes
			}
		}
	}
	for _, r := range d.Reserves {
		byQueue[r.Queue] = max(byQueue[r.Queue], r.Bytes)
	}
	for _, n := range byQueue {
		sum += n
	}
	return sum
}

// agrees compares what the book says with the model.
func (m *model) agrees(b *Book) error {
	got := map[ID]State{}
	for _, l := range b.Leases() {
		got[l.ID] = l.State
	}
	want := maps.Clone(m.state)
	maps.DeleteFunc(want, func(_ ID, s State) bool { return s == Ended })
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("states (-model +book):\n%s", diff)
	}
	return nil
}

// idle: nothing that could start waits, beside those that could delay the head.
func (w *world) idle(t tester) {
	for i, l := range w.book.queue {
		why := w.book.Explain(w.book.nowMS, l.ID)
		if len(why) == 0 {
			t.Fatalf("lease %d waits at place %d without a reason", l.ID, i)
		}
	}
}

func same(t tester, what string, want, got Snapshot) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}
