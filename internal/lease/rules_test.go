package lease

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// small is a book with one GPU of 80 GiB and one of 40 GiB, which nobody uses.
func small(t *testing.T, p Policy) *Book {
	t.Helper()
	b := New()
	must(b.Start(0, "boot", 0))
	must(b.SetPolicy(0, "root", p))
	must(b.SetDevices(0, "root", []Device{{UUID: "A", Model: "A100", CapacityBytes: 80 * gib}, {UUID: "B", Model: "A40", CapacityBytes: 40 * gib}}, nil))
	must(b.SetForeign(0, "A", 0))
	must(b.SetForeign(0, "B", 0))
	return b
}

func ask(t *testing.T, b *Book, atMS int64, r Request) Lease {
	t.Helper()
	if r.User == "" {
		r.User = "ann"
	}
	id, _, err := b.Submit(atMS, r)
	if err != nil {
		t.Fatal(err)
	}
	l, _ := b.Lease(id)
	return l
}

func state(b *Book, id ID) State {
	l, _ := b.Lease(id)
	return l.State
}

func codeOf(err error) Code {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

func TestRefuses(t *testing.T) {
	policy := Policy{
		Quotas: []Quota{{Scope: Project, Name: "p", PeakBytes: 10 * gib}},
		Limits: []Limit{{Scope: User, Name: "eve", MemoryBytes: 8 * gib, Devices: 1, TTLMS: 5000, Priority: 2, Waiting: 1, Leases: 3}},
	}
	tests := []struct {
		name string
		r    Request
		want Code
	}{
		{"nobody", Request{User: "-", MemoryBytes: gib}, CodeInvalid},
		{"no memory", Request{}, CodeInvalid},
		{"negative memory", Request{MemoryBytes: -1, Exclusive: true}, CodeInvalid},
		{"memory that overflows", Request{MemoryBytes: 1<<63 - 1}, CodeInvalid},
		{"devices below none", Request{MemoryBytes: gib, Devices: -1}, CodeInvalid},
		{"a named device, twice", Request{MemoryBytes: gib, Devices: 2, Device: "A"}, CodeInvalid},
		{"priority out of this world", Request{MemoryBytes: gib, Priority: 1 << 40}, CodeInvalid},
		{"an end before the beginning", Request{MemoryBytes: gib, TTLMS: -1}, CodeInvalid},
		{"an end beyond time", Request{MemoryBytes: gib, TTLMS: 1<<63 - 1}, CodeInvalid},
		{"a holder that began at no time", Request{MemoryBytes: gib, HolderPID: 7}, CodeInvalid},
		{"a holder without a process", Request{MemoryBytes: gib, HolderStart: 7}, CodeInvalid},
		{"a holder below none", Request{MemoryBytes: gib, HolderPID: -7, HolderStart: 7}, CodeInvalid},
		{"a holder of a detached lease", Request{MemoryBytes: gib, HolderPID: 7, HolderStart: 7, Detached: true}, CodeInvalid},
		{"a long name", Request{MemoryBytes: gib, Name: string(make([]byte, 2000))}, CodeInvalid},
		{"less than any program takes", Request{MemoryBytes: 64*mib - 1}, CodeInvalid},
		{"bytes, where GiB were meant", Request{MemoryBytes: 8, Exclusive: true}, CodeInvalid},
		{"no process and no end", Request{MemoryBytes: gib, Detached: true}, CodeInvalid},
		{"no such queue", Request{MemoryBytes: gib, Queue: "q"}, CodeUnknown},
		{"no such device", Request{MemoryBytes: gib, Device: "Z"}, CodeNever},
		{"no such model", Request{MemoryBytes: gib, Model: "H100"}, CodeNever},
		{"too large", Request{MemoryBytes: 81 * gib}, CodeNever},
		{"too large, exclusive", Request{MemoryBytes: 81 * gib, Exclusive: true}, CodeNever},
		{"too many", Request{MemoryBytes: 41 * gib, Devices: 2}, CodeNever},
		{"above the quota", Request{MemoryBytes: 6 * gib, Devices: 2, Project: "p"}, CodeQuotaPeak},
		{"all of a device, above the quota", Request{Exclusive: true, Project: "p"}, CodeQuotaPeak},
		{"above the limit of memory", Request{User: "eve", MemoryBytes: 9 * gib}, CodeLimit},
		{"above the limit of devices", Request{User: "eve", MemoryBytes: gib, Devices: 2}, CodeLimit},
		{"above the limit of time", Request{User: "eve", MemoryBytes: gib, TTLMS: 6000}, CodeLimit},
		{"above the limit of priority", Request{User: "eve", MemoryBytes: gib, Priority: 3}, CodeLimit},
		{"the least", Request{MemoryBytes: 64 * mib}, ""},
		{"no process, and an end", Request{MemoryBytes: gib, Detached: true, TTLMS: 1}, ""},
		{"no process, and the end that a limit gives", Request{User: "eve", MemoryBytes: gib, Detached: true}, ""},
		{"fine", Request{User: "eve", MemoryBytes: gib, Priority: 2}, ""},
		{"a model in part", Request{MemoryBytes: gib, Model: "a10"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := small(t, policy)
			switch tt.r.User {
			case "":
				tt.r.User = "ann"
			case "-":
				tt.r.User = ""
			}
			_, events, err := b.Submit(1, tt.r)
			if got := codeOf(err); got != tt.want {
				t.Fatalf("%v, want code %q", err, tt.want)
			}
			if tt.want != "" && (len(events) != 1 || events[0].Kind() != "refuse") {
				t.Errorf("a refusal is %d events", len(events))
			}
		})
	}
}

func TestLimitOfNumbers(t *testing.T) {
	b := small(t, Policy{Limits: []Limit{{Scope: User, Name: Each, Waiting: 2, Leases: 4}}})
	for range 4 {
		ask(t, b, 1, Request{MemoryBytes: 39 * gib})
	}
	if _, _, err := b.Submit(1, Request{User: "ann", MemoryBytes: gib}); codeOf(err) != CodeLimit {
		t.Errorf("a fifth lease: %v", err)
	}
	if _, _, err := b.Submit(1, Request{User: "bob", MemoryBytes: gib}); err != nil {
		t.Errorf("another user: %v", err)
	}
}

// TestExplain: the binding reason comes first.
func TestExplain(t *testing.T) {
	big := Request{MemoryBytes: 60 * gib}
	hold := func(t *testing.T, b *Book, r Request) { ask(t, b, 1, r) }
	tests := []struct {
		name   string
		policy Policy
		before func(*testing.T, *Book)
		r      Request
		want   Code
		bytes  int64
	}{
		{"memory", Policy{}, func(t *testing.T, b *Book) { hold(t, b, Request{MemoryBytes: 50 * gib}) }, big, CodeMemory, 30 * gib},
		{"exclusive", Policy{}, func(t *testing.T, b *Book) { hold(t, b, Request{Exclusive: true, Device: "A"}) }, big, CodeExclusive, 0},
		{"foreign", Policy{}, func(_ *testing.T, b *Book) { must(b.SetForeign(1, "A", 30*gib)) }, big, CodeForeign, 0},
		{"cordon", Policy{}, func(_ *testing.T, b *Book) { must(b.Cordon(1, "root", "A", true)) }, big, CodeCordon, 0},
		{"unseen", Policy{}, func(_ *testing.T, b *Book) { must(b.Start(1, "boot", 0)) }, big, CodeUnseen, 0},
		{"out of sight", Policy{}, func(_ *testing.T, b *Book) { must(b.LoseSight(1, "A")) }, big, CodeUnseen, 0},
		{"peak", Policy{Quotas: []Quota{{Scope: User, Name: "ann", PeakBytes: 70 * gib}}}, func(t *testing.T, b *Book) { hold(t, b, Request{MemoryBytes: 20 * gib, Device: "B"}) }, big, CodeQuotaPeak, 10 * gib},
		{"hours", Policy{Quotas: []Quota{{Scope: User, Name: Each, GiBHours: 59}}}, func(*testing.T, *Book) {}, Request{MemoryBytes: 60 * gib, TTLMS: hourMS}, CodeQuotaHours, 0},
		{"order", Policy{}, func(t *testing.T, b *Book) {
			hold(t, b, Request{MemoryBytes: 50 * gib})
			hold(t, b, big)
		}, Request{MemoryBytes: 25 * gib, Device: "A"}, CodeOrder, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := small(t, tt.policy)
			tt.before(t, b)
			l := ask(t, b, 2, tt.r)
			why := b.Explain(2, l.ID)
			if len(why) == 0 || why[0].Code != tt.want || why[0].Bytes != tt.bytes {
				t.Errorf("%s: %+v, want %s %d first", l.State, why, tt.want, tt.bytes)
			}
			// The same request, had it not wanted to wait, is told the same.
			b = small(t, tt.policy)
			tt.before(t, b)
			tt.r.NoWait = true
			l = ask(t, b, 2, tt.r)
			if whyNot := b.WhyNot(2, l); l.Cause != NotNow || !cmp.Equal(whyNot, why) {
				t.Errorf("without waiting it is %s by %q: %+v, want %+v", l.State, l.Cause, whyNot, why)
			}
		})
	}
	b := small(t, Policy{})
	if why := b.Explain(1, ask(t, b, 1, big).ID); why != nil {
		t.Errorf("a granted lease waits: %+v", why)
	}
}

// TestReserve: what is kept for a queue is its own, and what it has beyond that counts as any.
func TestReserve(t *testing.T) {
	b := New()
	must(b.SetPolicy(0, "root", Policy{Queues: []Queue{{Name: "inference"}}}))
	must(b.SetDevices(0, "root", []Device{{UUID: "A", CapacityBytes: 80 * gib, Reserves: []Reserve{{"inference", 30 * gib}}}}, nil))
	must(b.SetForeign(0, "A", 0))
	if got := ask(t, b, 1, Request{MemoryBytes: 50 * gib}); got.State != Granted {
		t.Errorf("all beside the reserve: %s", got.State)
	}
	waits := ask(t, b, 2, Request{MemoryBytes: gib})
	if why := b.Explain(2, waits.ID); waits.State != Queued || why[0].Code != CodeReserve {
		t.Errorf("of the reserve: %s %+v", waits.State, why)
	}
	if got := ask(t, b, 3, Request{MemoryBytes: 30 * gib, Queue: "inference"}); got.State != Granted {
		t.Errorf("the reserve, for its queue, past one that waits: %s", got.State)
	}
	if _, _, err := b.Submit(4, Request{User: "ann", MemoryBytes: 51 * gib}); codeOf(err) != CodeNever {
		t.Errorf("more than is beside the reserve: %v", err)
	}
}

// TestGiBHours compares what is used with a sum over every millisecond, over the ends of periods.
func TestGiBHours(t *testing.T) {
	b := small(t, Policy{PeriodMS: 1000, Quotas: []Quota{{Scope: User, Name: Each, GiBHours: 1 << 30}}})
	d := newSeeded(7)
	var sum int64
	var ids []ID
	for now := int64(1); now < 5000; now++ {
		if sum += b.load[party{User, "ann"}].bytes / mib; now%1000 == 0 {
			sum = 0
		}
		if got := b.used(party{User, "ann"}, now); got != sum {
			t.Fatalf("at %d ms: used %d MiB·ms, want %d", now, got, sum)
		}
		switch d.intn(40) {
		case 0:
			ids = append(ids, ask(t, b, now, Request{MemoryBytes: int64(1+d.intn(20)) * gib}).ID)
		case 1:
			if len(ids) > 0 {
				must(b.Release(now, ids[0], "ann", Released))
				if state(b, ids[0]) == Draining {
					must(b.Freed(now, ids[0]))
				}
				ids = ids[1:]
			}
		}
	}
}

// TestPledge: leases with an end are charged with it ahead, so that two cannot spend the same hours;
// what they give back early is free again, and a new period begins at nothing.
func TestPledge(t *testing.T) {
	b := small(t, Policy{PeriodMS: dayMS, Quotas: []Quota{{Scope: Project, Name: "p", GiBHours: 15}}})
	r := Request{MemoryBytes: 10 * gib, Project: "p", TTLMS: hourMS}
	one := ask(t, b, 1, r)
	two := ask(t, b, 2, r)
	if one.State != Granted || two.State != Queued {
		t.Fatalf("%s and %s", one.State, two.State)
	}
	if _, err := b.Extend(3, one.ID, 2*hourMS, "ann"); codeOf(err) != CodeQuotaHours {
		t.Errorf("an extension beyond the quota: %v", err)
	}
	must(b.Release(hourMS/4, one.ID, "ann", Released))
	if must(b.Freed(hourMS/4, one.ID)); state(b, two.ID) != Granted {
		t.Errorf("after 2.5 GiB-hours of 15 a request for 10 is %s", state(b, two.ID))
	}
	three := ask(t, b, hourMS/4, r)
	if must(b.Tick(dayMS - 1)); state(b, three.ID) != Queued {
		t.Errorf("within the period it is %s", state(b, three.ID))
	}
	if must(b.Tick(dayMS)); state(b, three.ID) != Granted {
		t.Errorf("in the next period it is %s", state(b, three.ID))
	}
}

// TestAgeing: however many requests of a higher priority keep coming, one that waits is overtaken for
// as long as its priority is worth, and no longer.
func TestAgeing(t *testing.T) {
	b := small(t, Policy{AgeMS: 1000})
	now := int64(0)
	last := ask(t, b, now, Request{MemoryBytes: 70 * gib}).ID
	low := ask(t, b, now, Request{User: "low", MemoryBytes: 70 * gib, Priority: -2}).ID
	for state(b, low) == Queued {
		if now += 100; now > 20_000 {
			t.Fatal("it starves")
		}
		ask(t, b, now, Request{User: "high", MemoryBytes: 70 * gib, Priority: 3})
		if l, _ := b.Lease(last); l.State == Granted && now-l.GrantedMS >= 300 {
			must(b.Release(now, last, "x", Exited))
			must(b.Freed(now, last))
		}
		for _, l := range b.Leases() {
			if l.Holds() {
				last = l.ID
			}
		}
	}
	// 5 points are worth 5 s: those who came until then go first, one every 400 ms at the least.
	if now < 5000 {
		t.Errorf("it started after %d ms, before those with a higher priority", now)
	}
}

// TestBoots: in the same boot leases live on, with time to be extended; in another those of processes
// end, and those of no process live on.
func TestBoots(t *testing.T) {
	b := small(t, Policy{})
	bound := ask(t, b, 1, Request{MemoryBytes: gib, TTLMS: 1000}).ID
	free := ask(t, b, 1, Request{MemoryBytes: gib, Detached: true, TTLMS: 100_000}).ID
	waits := ask(t, b, 1, Request{MemoryBytes: 80 * gib}).ID
	for i, want := range []int64{1500, 2000, 2001, 2001} { // restarts every 500 ms add 1000 ms, its whole life, at most
		must(b.Start(int64(i+1)*500, "boot", 1000))
		if l, _ := b.Lease(bound); l.ExpiresMS != want {
			t.Errorf("after restart %d it ends at %d, want %d", i+1, l.ExpiresMS, want)
		}
	}
	must(b.Start(3000, "boot 2", 1000))
	for id, want := range map[ID]State{bound: Ended, free: Granted, waits: Ended} {
		if got := state(b, id); got != want {
			t.Errorf("lease %d is %s, want %s", id, got, want)
		}
	}
	if l := ask(t, b, 3001, Request{MemoryBytes: gib}); l.State != Queued {
		t.Errorf("before anybody has looked at the devices a lease is %s", l.State)
	}
}

// TestDrainDevice: leases get an end, which cannot be moved, and nothing new comes.
func TestDrainDevice(t *testing.T) {
	b := small(t, Policy{})
	id := ask(t, b, 1, Request{MemoryBytes: 60 * gib}).ID
	must(b.Drain(10, "root", "A", 500))
	if _, err := b.Extend(20, id, 10_000, "ann"); codeOf(err) != CodeCordon {
		t.Errorf("extended: %v", err)
	}
	must(b.Tick(500))
	if got := state(b, id); got != Draining {
		t.Fatalf("at its end it is %s", got)
	}
	if l := ask(t, b, 501, Request{MemoryBytes: 60 * gib}); l.State != Queued {
		t.Errorf("a new lease is %s", l.State)
	}
	must(b.Freed(600, id))
	if events := must(b.Cordon(700, "root", "A", false)); len(events) != 2 || events[1].Kind() != "grant" {
		t.Errorf("uncordoned: %d events", len(events))
	}
}

// TestKeys: the same request sent again is the same lease, for as long as it is remembered.
func TestKeys(t *testing.T) {
	b := small(t, Policy{KeepMS: 1000})
	r := Request{MemoryBytes: gib, Key: "k"}
	id := ask(t, b, 1, r).ID
	if again := ask(t, b, 2, r); again.ID != id {
		t.Errorf("sent again it is lease %d, not %d", again.ID, id)
	}
	if other := ask(t, b, 2, Request{User: "bob", MemoryBytes: gib, Key: "k"}); other.ID == id {
		t.Error("another user gets the same lease")
	}
	must(b.Release(3, id, "ann", Released))
	must(b.Freed(4, id))
	if again := ask(t, b, 1004, r); again.ID != id || again.State != Ended {
		t.Errorf("within a second of its end it is lease %d, %s", again.ID, again.State)
	}
	must(b.SetForeign(1005, "A", gib))
	if again := ask(t, b, 1006, r); again.ID == id {
		t.Error("it is remembered for ever")
	}
}

// TestImpossible: no event is applied that cannot be.
func TestImpossible(t *testing.T) {
	b := small(t, Policy{})
	granted := ask(t, b, 1, Request{MemoryBytes: 50 * gib}).ID
	waits := ask(t, b, 1, Request{MemoryBytes: 50 * gib}).ID
	share := []Share{{"A", 50 * gib}}
	before := b.Snapshot()
	for name, e := range map[string]Event{
		"a gap":               {Seq: b.seq + 2, AtMS: 1, Body: &Closed{waits, Released}},
		"back in time":        {Seq: b.seq + 1, AtMS: 0, Body: &Closed{waits, Released}},
		"over capacity":       {Seq: b.seq + 1, AtMS: 1, Body: &Placed{waits, 2, share, 0}},
		"granted twice":       {Seq: b.seq + 1, AtMS: 1, Body: &Placed{granted, 2, share, 0}},
		"an old epoch":        {Seq: b.seq + 1, AtMS: 1, Body: &Placed{waits, 1, share, 0}},
		"no share":            {Seq: b.seq + 1, AtMS: 1, Body: &Placed{waits, 2, nil, 0}},
		"ended while granted": {Seq: b.seq + 1, AtMS: 1, Body: &Closed{granted, Released}},
		"drained in a queue":  {Seq: b.seq + 1, AtMS: 1, Body: &DrainBegun{ID: waits, Cause: Released}},
		"never was":           {Seq: b.seq + 1, AtMS: 1, Body: &Closed{99, Released}},
		"an id left out":      {Seq: b.seq + 1, AtMS: 1, Body: &Submitted{99, Request{User: "x", MemoryBytes: gib, Devices: 1}}},
		"not a request":       {Seq: b.seq + 1, AtMS: 1, Body: &Submitted{3, Request{User: "x"}}},
		"no such device":      {Seq: b.seq + 1, AtMS: 1, Body: &ForeignSeen{"Z", 1}},
		"links of nothing":    {Seq: b.seq + 1, AtMS: 1, Body: &DevicesSet{nil, [][]int{{1}}}},
	} {
		var impossible *ImpossibleError
		if err := b.Apply(e); !errors.As(err, &impossible) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, b.Snapshot()); diff != "" {
		t.Errorf("they left a trace (-before +after):\n%s", diff)
	}
}

// BenchmarkWaiting is a release with all that follows from it, 1,000 requests waiting on eight GPUs, by
// users with quotas, the checks of a transaction, and new requests for those that started: some five
// passes over the queue. Budget: 10 ms.
func BenchmarkWaiting(b *testing.B) {
	book := New()
	var devices []Device
	for i := range 8 {
		devices = append(devices, Device{UUID: fmt.Sprint("G", i), CapacityBytes: 140 * gib})
	}
	must(book.SetPolicy(0, "root", Policy{KeepMS: 1, Quotas: []Quota{{Scope: User, Name: Each, PeakBytes: 400 * gib, GiBHours: 1 << 30}}}))
	must(book.SetDevices(0, "root", devices, nil))
	for _, d := range devices {
		must(book.SetForeign(0, d.UUID, 0))
	}
	d := newSeeded(1)
	fill := func(now int64) {
		for len(book.queue) < 1000 {
			if _, _, err := book.Submit(now, Request{User: fmt.Sprint("u", d.intn(50)), MemoryBytes: int64(5+d.intn(130)) * gib, Devices: pick(d, 1, 1, 2)}); err != nil {
				b.Fatal(err)
			}
		}
	}
	fill(1)
	now := int64(2)
	for b.Loop() {
		held := ID(0)
		for id, l := range book.live {
			if l.Holds() && (held == 0 || id < held) {
				held = id
			}
		}
		now += 2
		must(book.Release(now, held, "u", Released))
		must(book.Freed(now, held))
		if wrong := book.Check(); len(wrong) > 0 {
			b.Fatal(wrong)
		}
		if len(book.queue) < 1000 {
			fill(now)
		}
	}
}

// TestEpochs: epochs grow, and those of a book that was begun anew are above those of the one
// before, however many grants that had in a millisecond.
func TestEpochs(t *testing.T) {
	var last int64
	for life := range int64(2) {
		b := small(t, Policy{})
		for range 5 {
			l := ask(t, b, 1000+10*life, Request{MemoryBytes: gib})
			if l.Epoch <= last {
				t.Errorf("life %d: epoch %d after %d", life, l.Epoch, last)
			}
			last = l.Epoch
		}
	}
}

// TestTexts: what people read when they are refused, or wait.
func TestTexts(t *testing.T) {
	policy := Policy{
		Queues: []Queue{{Name: "q"}},
		Quotas: []Quota{{Scope: Project, Name: "p", PeakBytes: 10 * gib}},
		Limits: []Limit{{Scope: User, Name: "eve", MemoryBytes: 8 * gib}},
	}
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{Request{MemoryBytes: 90 * gib}, "no device here could hold it: the most that it could have of one is 80.00 GiB"},
		{Request{MemoryBytes: 80*gib + 1}, "no device here could hold it: the most that it could have of one is 81920 MiB"},
		{Request{MemoryBytes: 50 * gib, Model: "A40"}, "no device here could hold it: the most that it could have of one is 40.00 GiB"},
		{Request{MemoryBytes: gib, Model: "H100"}, `no device here has "H100" in its model's name: there are A100, A40`},
		{Request{MemoryBytes: gib, Device: "Z"}, "there is no device Z here"},
		{Request{MemoryBytes: 70 * gib, Devices: 2}, "1 of the devices here could hold it, and it needs 2"},
		{Request{MemoryBytes: 6 * gib, Devices: 2, Project: "p"}, "12.00 GiB is more than the quota of project p, 10.00 GiB"},
		{Request{User: "eve", MemoryBytes: 9 * gib}, "9.00 GiB is above the limit of 8.00 GiB a device of user eve"},
		{Request{User: "eve", MemoryBytes: 8*gib + 1}, "8193 MiB is above the limit of 8192 MiB a device of user eve"},
	} {
		if tt.r.User == "" {
			tt.r.User = "ann"
		}
		if _, _, err := small(t, policy).Submit(1, tt.r); err == nil || err.Error() != tt.want {
			t.Errorf("%+v: %v, want %s", tt.r, err, tt.want)
		}
	}
	if _, _, err := New().Submit(1, Request{User: "ann", MemoryBytes: gib}); err == nil || err.Error() != "there is no device here" {
		t.Errorf("without devices: %v", err)
	}
	b := small(t, policy)
	ask(t, b, 1, Request{MemoryBytes: 70 * gib})
	var texts []string
	for range 3 {
		texts = nil
		for _, r := range b.Explain(2, ask(t, b, 2, Request{MemoryBytes: 50 * gib}).ID) {
			texts = append(texts, r.Text)
		}
	}
	want := []string{"other leases hold what it needs: 40.00 GiB more have to be free on a device", "2 requests are before it in the queue, lease 2 first"}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if why := b.Explain(2, 3); why[1].Text != "lease 2 is before it in the queue" || why[1].Lease != 2 {
		t.Errorf("%+v", why)
	}
}

// TestTextsOfKind: a device that has the memory may be refused for what it is, and then that is
// what people read.
func TestTextsOfKind(t *testing.T) {
	instances := []Device{
		{UUID: "M1", Model: "H100 MIG 3g.40gb", Parent: "G", CapacityBytes: 40 * gib},
		{UUID: "M2", Model: "H100 MIG 2g.20gb", Parent: "G", CapacityBytes: 20 * gib},
	}
	kept := []Device{{UUID: "A", Model: "H200", CapacityBytes: 80 * gib, Reserves: []Reserve{{Queue: "q", Bytes: 20 * gib}}}}
	whole := Device{UUID: "W", Model: "A40", CapacityBytes: 10 * gib}
	for _, tt := range []struct {
		devices []Device
		r       Request
		want    string
	}{
		{instances, Request{MemoryBytes: 5 * gib, Devices: 2}, "a lease on several devices takes whole GPUs only, and there are MIG instances alone"},
		{instances, Request{MemoryBytes: 5 * gib, Devices: 2, Model: "h100"}, "a lease on several devices takes whole GPUs only, and there are MIG instances alone"},
		{instances, Request{MemoryBytes: 5 * gib, Devices: 2, Model: "A40"}, `no device here has "A40" in its model's name: there are H100 MIG 3g.40gb, H100 MIG 2g.20gb`},
		{instances, Request{MemoryBytes: 50 * gib}, "no device here could hold it: the most that it could have of one is 40.00 GiB"},
		{append([]Device{whole}, instances...), Request{MemoryBytes: 30 * gib, Devices: 2}, "no device here could hold it: the most that it could have of one is 10.00 GiB"},
		{kept, Request{Exclusive: true}, "no device here can be had exclusively: a part of each is kept for another queue"},
		{kept, Request{Exclusive: true, MemoryBytes: gib, Model: "h200"}, "no device here can be had exclusively: a part of each is kept for another queue"},
		{kept, Request{Exclusive: true, MemoryBytes: 70 * gib}, "no device here could hold it: the most that it could have of one is 60.00 GiB"},
	} {
		tt.r.User = "ann"
		b := New()
		must(b.Start(0, "boot", 0))
		must(b.SetPolicy(0, "root", Policy{Queues: []Queue{{Name: "q"}}}))
		must(b.SetDevices(0, "root", tt.devices, nil))
		if _, _, err := b.Submit(1, tt.r); err == nil || err.Error() != tt.want {
			t.Errorf("%+v: %v, want %s", tt.r, err, tt.want)
		}
	}
}
