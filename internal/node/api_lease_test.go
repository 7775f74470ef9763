package node

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/units"
)

// TestLeaseLife: a lease from the request to its end, as a client sees it.
func TestLeaseLife(t *testing.T) {
	w := newWorld(t, nil)
	ann := w.as(annUID)
	got := ann.lease(client.Request{MemoryBytes: 70*units.GiB - 5, Name: "train.py", Project: "eyes", TTLMS: 60_000})
	at := w.clock.Now()
	end := at.Add(time.Minute)
	want := client.Lease{
		ID: 1, State: "granted", User: "ann", Group: "staff", Project: "eyes", Name: "train.py", MemoryBytes: 70 * units.GiB,
		DeviceCount: 1, HolderPID: ann.id.PID, Epoch: at.UnixMilli(), Grade: "watched", ContextBytes: 768 * units.MiB,
		Shares: []client.Share{{Device: "GPU-0", Bytes: 70 * units.GiB}}, Queued: at, Granted: &at, Expires: &end,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("granted (-want +got):\n%s", diff)
	}
	if l, _ := w.book(1); l.HolderStart != ann.id.Start {
		t.Errorf("the holder began at %d, want %d", l.HolderStart, ann.id.Start)
	}

	second := ann.lease(client.Request{MemoryBytes: 60 * units.GiB})
	waits := ann.lease(client.Request{MemoryBytes: 60 * units.GiB, Queue: "batch"})
	if second.Shares[0].Device != "GPU-1" || waits.State != "queued" || waits.Position != 1 || len(waits.Shares) != 0 {
		t.Errorf("the second %+v, the third %+v", second, waits)
	}
	var why client.Explanation
	ann.ask("GET", "/v1/leases/3/explain", nil, 200, &why)
	if len(why.Reasons) != 1 || why.Reasons[0].Code != "memory" || why.Reasons[0].Bytes != 40*units.GiB || why.Lease.ID != 3 {
		t.Errorf("it waits because of %+v", why)
	}

	w.clock.Advance(30 * time.Second)
	ann.ask("POST", "/v1/leases/1/extend", client.Extension{TTLMS: 90_000}, 200, &got)
	if want := w.clock.Now().Add(90 * time.Second); got.Expires == nil || !got.Expires.Equal(want) {
		t.Errorf("extended until %v, want %v", got.Expires, want)
	}
	var leases client.Leases
	ann.ask("GET", "/v1/leases", nil, 200, &leases)
	if ids := idsOf(leases); !cmp.Equal(ids, []int64{1, 2}) {
		t.Errorf("those that hold memory are %v", ids)
	}

	ann.ask("DELETE", "/v1/leases/2", nil, 200, &got)
	if got.State != "draining" || got.Cause != "released" || got.Draining == nil {
		t.Errorf("released: %+v", got)
	}
	ann.ask("DELETE", "/v1/leases/2", nil, 200, &got) // again changes nothing
	if got.State != "draining" {
		t.Errorf("released twice: %+v", got)
	}
	ann.refused("POST", "/v1/leases/2/extend", client.Extension{TTLMS: 1000}, 409, "state")
	w.free(2)
	if l := ann.see(3); l.State != "granted" || l.Position != 0 {
		t.Errorf("what waited is %+v", l)
	}
	if l := ann.see(2); l.State != "ended" || l.Ended == nil || len(l.Shares) != 1 {
		t.Errorf("what was freed is %+v", l)
	}
	ann.ask("GET", "/v1/leases?all=true", nil, 200, &leases)
	if ids := idsOf(leases); !cmp.Equal(ids, []int64{1, 2, 3}) {
		t.Errorf("all are %v", ids)
	}
}

func idsOf(l client.Leases) (ids []int64) {
	for _, one := range l.Leases {
		ids = append(ids, one.ID)
	}
	return ids
}

// book returns a lease as the book has it.
func (w *world) book(id int64) (l lease.Lease, ok bool) {
	w.Ledger.View(func(b *lease.Book) { l, ok = b.Lease(lease.ID(id)) })
	return l, ok
}

// free does what the loop does when the driver shows the memory of a lease free.
func (w *world) free(id int64) {
	w.t.Helper()
	if _, err := w.decide(context.Background(), func(b *lease.Book, atMS int64) ([]lease.Event, error) {
		return b.Freed(atMS, lease.ID(id))
	}); err != nil {
		w.t.Fatal(err)
	}
}

// TestRefusedRequests: each with its status and its code.
func TestRefusedRequests(t *testing.T) {
	w := newWorld(t, nil)
	ann, bob := w.as(annUID), w.as(bobUID)
	strange := w.machine.Begin(holder.ID{}, bobUID, holder.Mark{})
	gone := w.machine.Begin(holder.ID{}, annUID, holder.Mark{})
	w.machine.Kill(gone)
	for name, tt := range map[string]struct {
		who    *person
		r      client.Request
		status int
		code   string
	}{
		"no memory":                  {ann, client.Request{}, 400, "invalid"},
		"negative memory":            {ann, client.Request{MemoryBytes: -1}, 400, "invalid"},
		"negative devices":           {ann, client.Request{MemoryBytes: units.GiB, Devices: -1}, 400, "invalid"},
		"all memory there is":        {ann, client.Request{MemoryBytes: 1<<63 - 1}, 400, "invalid"},
		"a time without end":         {ann, client.Request{MemoryBytes: units.GiB, TTLMS: 1<<63 - 1}, 400, "invalid"},
		"a long name":                {ann, client.Request{MemoryBytes: units.GiB, Name: string(make([]byte, 0)) + long(2000)}, 400, "invalid"},
		"a name with an escape":      {ann, client.Request{MemoryBytes: units.GiB, Name: "\x1b[2J"}, 400, "invalid"},
		"no such queue":              {ann, client.Request{MemoryBytes: units.GiB, Queue: "vip"}, 404, "unknown"},
		"no such project":            {ann, client.Request{MemoryBytes: units.GiB, Project: "moon"}, 403, "forbidden"},
		"another's project":          {bob, client.Request{MemoryBytes: units.GiB, Project: "eyes"}, 403, "forbidden"},
		"more than any device":       {ann, client.Request{MemoryBytes: 81 * units.GiB}, 409, "never"},
		"no such device":             {ann, client.Request{MemoryBytes: units.GiB, Device: "GPU-7"}, 409, "never"},
		"more than one may":          {bob, client.Request{MemoryBytes: 41 * units.GiB}, 403, "limit"},
		"a priority above the limit": {bob, client.Request{MemoryBytes: units.GiB, Priority: 3}, 403, "limit"},
		"another's process":          {ann, client.Request{MemoryBytes: units.GiB, HolderPID: strange.PID}, 403, "forbidden"},
		"a process that has ended":   {ann, client.Request{MemoryBytes: units.GiB, HolderPID: gone.PID}, 400, "invalid"},
		"no process":                 {ann, client.Request{MemoryBytes: units.GiB, HolderPID: -1}, 400, "invalid"},
		"detached, and held":         {ann, client.Request{MemoryBytes: units.GiB, Detached: true, HolderPID: ann.id.PID}, 400, "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.who.refused("POST", "/v1/leases", tt.r, tt.status, tt.code)
		})
	}
	if _, ok := w.book(1); ok {
		t.Error("something was granted")
	}
}

func long(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'x'
	}
	return string(b)
}

// TestNoWait: who does not want to wait hears why not, and of the lease that is in the audit.
func TestNoWait(t *testing.T) {
	w := newWorld(t, nil)
	ann := w.as(annUID)
	for range 2 {
		ann.lease(client.Request{MemoryBytes: 60 * units.GiB})
	}
	e := ann.refused("POST", "/v1/leases", client.Request{MemoryBytes: 30 * units.GiB, NoWait: true}, 409, "memory")
	if e.Lease != 3 {
		t.Errorf("%+v, want lease 3", e)
	}
	if l := ann.see(3); l.State != "ended" || l.Cause != "not-now" {
		t.Errorf("it is %+v", l)
	}
}

// TestKey: the same request with the same key is one lease, also when the first answer was
// lost; another request with the key is a mistake, and another user's key another key.
func TestKey(t *testing.T) {
	w := newWorld(t, nil)
	ann, again, bob := w.as(annUID), w.as(annUID), w.as(bobUID)
	r := client.Request{MemoryBytes: units.GiB + 1, Key: "k"}
	first := ann.lease(r)
	if diff := cmp.Diff(first, again.lease(r)); diff != "" {
		t.Errorf("asked again (-first +second):\n%s", diff)
	}
	for name, change := range map[string]func(*client.Request){
		"memory":   func(o *client.Request) { o.MemoryBytes *= 2 },
		"ttl":      func(o *client.Request) { o.TTLMS = 5000 },
		"priority": func(o *client.Request) { o.Priority-- },
	} {
		other := r
		change(&other)
		if e := ann.refused("POST", "/v1/leases", other, 400, "invalid"); e.Lease != first.ID {
			t.Errorf("%s: %+v, want lease %d", name, e, first.ID)
		}
	}
	if l := bob.lease(r); l.ID == first.ID {
		t.Error("another user's key led to the same lease")
	}
}

// TestHolder: a lease can be bound to another process of the same user; an admin may bind one
// to anybody's; a client that cannot be seen gets a detached one only.
func TestHolder(t *testing.T) {
	w := newWorld(t, nil)
	ann, root := w.as(annUID), w.as(0)
	other := w.machine.Begin(holder.ID{}, annUID, holder.Mark{})
	for _, u := range []*person{ann, root} {
		l := u.lease(client.Request{MemoryBytes: units.GiB, HolderPID: other.PID})
		if have, _ := w.book(l.ID); holderOf(&have.Request) != other {
			t.Errorf("%d: the holder is %+v, want %+v", u.uid, holderOf(&have.Request), other)
		}
	}
	unseen := w.as(annUID)
	unseen.id = holder.ID{}
	unseen.refused("POST", "/v1/leases", client.Request{MemoryBytes: units.GiB}, 400, "invalid")
	l := unseen.lease(client.Request{MemoryBytes: units.GiB, Detached: true, TTLMS: 60_000})
	if l.HolderPID != 0 || !l.Detached {
		t.Errorf("%+v", l)
	}
}

// TestHolderHasEnded: a client that asks again because it heard no answer learns of its lease, also
// where the holder has ended since; without a lease of that key it is refused.
func TestHolderHasEnded(t *testing.T) {
	w := newWorld(t, nil)
	ann := w.as(annUID)
	other := w.machine.Begin(holder.ID{}, annUID, holder.Mark{})
	r := client.Request{MemoryBytes: units.GiB, HolderPID: other.PID, Key: "k"}
	first := ann.lease(r)
	w.machine.Kill(other)
	if again := ann.lease(r); again.ID != first.ID {
		t.Errorf("the same key is lease %d and %d", first.ID, again.ID)
	}
	for _, key := range []string{"", "another"} {
		r.Key = key
		ann.refused("POST", "/v1/leases", r, 400, "invalid")
	}
	r.Key = "k"
	w.as(bobUID).refused("POST", "/v1/leases", r, 400, "invalid")
}

// TestWithdraw: what a process waits for is taken back when it ends, and what others wait for
// is not; what it holds is not for this to end.
func TestWithdraw(t *testing.T) {
	w := newWorld(t, nil)
	ann, bob, eve := w.as(annUID), w.as(bobUID), w.as(annUID)
	held := ann.lease(client.Request{MemoryBytes: 80 * units.GiB})
	w.as(0).lease(client.Request{MemoryBytes: 80 * units.GiB})
	first := ann.lease(client.Request{MemoryBytes: 50 * units.GiB})
	second := ann.lease(client.Request{MemoryBytes: 50 * units.GiB})
	others := bob.lease(client.Request{MemoryBytes: 30 * units.GiB})
	w.machine.Kill(ann.id)
	w.withdraw(t.Context(), w.machine.Dead())
	for id, want := range map[int64]string{held.ID: "granted", first.ID: "ended", second.ID: "ended", others.ID: "queued"} {
		if l := w.as(annUID).seeAny(id); l.State != want {
			t.Errorf("lease %d is %s, want %s", id, l.State, want)
		}
	}
	// A holder that had ended before anybody looked is found at once.
	w.machine.Kill(eve.id)
	if l := eve.lease(client.Request{MemoryBytes: 50 * units.GiB}); w.as(0).see(l.ID).Cause != "exited" {
		t.Errorf("%+v", w.as(0).see(l.ID))
	}
}

// seeAny looks as root.
func (u *person) seeAny(id int64) client.Lease { return u.as(0).see(id) }

// TestAdopt: an agent that starts takes back what waits for processes that ended while it was
// away, and watches the others.
func TestAdopt(t *testing.T) {
	w := newWorld(t, nil)
	ann, bob := w.as(annUID), w.as(bobUID)
	for range 2 {
		w.as(0).lease(client.Request{MemoryBytes: 80 * units.GiB})
	}
	gone := ann.lease(client.Request{MemoryBytes: 10 * units.GiB})
	waits := bob.lease(client.Request{MemoryBytes: 10 * units.GiB})
	w.stop()
	w.machine.Kill(ann.id)
	w.machine.Forget()
	w.start()
	if l := w.as(0).see(gone.ID); l.Cause != "exited" {
		t.Errorf("whose holder ended: %+v", l)
	}
	w.machine.Kill(bob.id)
	w.withdraw(t.Context(), w.machine.Dead())
	if l := w.as(0).see(waits.ID); l.Cause != "exited" {
		t.Errorf("whose holder ended later: %+v", l)
	}
}

// TestUnready: nothing is granted by an agent that does not know its machine, and it says so.
func TestUnready(t *testing.T) {
	w := newWorld(t, nil)
	ann := w.as(annUID)
	for _, v := range []*view{{}, {readings: 3, problem: "NVML is stuck"}} {
		w.publish(v)
		answer, _ := ann.raw("POST", "/v1/leases", `{"memory_bytes": 1}`)
		if answer.StatusCode != 503 || answer.Header.Get("Retry-After") == "" {
			t.Errorf("%d %v", answer.StatusCode, answer.Header)
		}
		ann.refused("GET", "/readyz", nil, 503, "unready")
		ann.ask("GET", "/healthz", nil, 200, nil)
		var about client.About
		ann.ask("GET", "/v1/agent", nil, 200, &about)
		if about.Ready || about.Problem == "" {
			t.Errorf("%+v", about)
		}
	}
	w.publish(&view{readings: 1})
	ann.ask("GET", "/readyz", nil, 200, nil)
}

// TestUsageAndEvents: what was held, and every decision, refusals too.
func TestUsageAndEvents(t *testing.T) {
	w := newWorld(t, nil)
	ann, bob, root := w.as(annUID), w.as(bobUID), w.as(0)
	ann.lease(client.Request{MemoryBytes: 8 * units.GiB, Project: "eyes"})
	bob.lease(client.Request{MemoryBytes: 2 * units.GiB})
	bob.refused("POST", "/v1/leases", client.Request{MemoryBytes: 79 * units.GiB}, http.StatusForbidden, "limit")
	w.clock.Advance(time.Hour)
	ann.ask("DELETE", "/v1/leases/1", nil, 200, nil)
	w.free(1)
	for _, tt := range []struct {
		who  *person
		by   string
		want []client.UsageRow
	}{
		{root, "user", []client.UsageRow{{Name: "ann", Leases: 1, GiBHours: 8, GiBSeconds: 8 * 3600}, {Name: "bob", Leases: 1, GiBHours: 2, GiBSeconds: 2 * 3600}}},
		{ann, "user", []client.UsageRow{{Name: "ann", Leases: 1, GiBHours: 8, GiBSeconds: 8 * 3600}}},
		{ann, "project", []client.UsageRow{{Name: "eyes", Leases: 1, GiBHours: 8, GiBSeconds: 8 * 3600}}},
		{bob, "project", []client.UsageRow{}},
		{bob, "group", []client.UsageRow{{Name: "staff", Leases: 2, GiBHours: 10, GiBSeconds: 10 * 3600}}},
	} {
		var u client.Usage
		tt.who.ask("GET", "/v1/usage?by="+tt.by, nil, 200, &u)
		if diff := cmp.Diff(tt.want, u.Rows, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("user %d by %s (-want +got):\n%s", tt.who.uid, tt.by, diff)
		}
	}
	kinds := func(u *person, query string) (kinds []string) {
		for since, more := int64(0), true; more; {
			var page client.Events
			u.ask("GET", fmt.Sprintf("/v1/events?limit=2&since=%d%s", since, query), nil, 200, &page)
			for _, e := range page.Events {
				kinds = append(kinds, e.Kind+" "+e.Actor)
			}
			more, since = page.Next > since, page.Next
		}
		return kinds
	}
	if got, want := kinds(ann, ""), []string{"submit ann", "grant agent", "drain ann", "end agent"}; !cmp.Equal(got, want) {
		t.Errorf("ann sees %q, want %q", got, want)
	}
	if got, want := kinds(bob, ""), []string{"submit bob", "grant agent", "refuse bob"}; !cmp.Equal(got, want) {
		t.Errorf("bob sees %q, want %q", got, want)
	}
	if got, want := kinds(root, "&lease=2"), []string{"submit bob", "grant agent"}; !cmp.Equal(got, want) {
		t.Errorf("root sees of lease 2 %q, want %q", got, want)
	}
	if got := kinds(bob, "&lease=1"); len(got) != 0 {
		t.Errorf("bob sees of ann's lease %q", got)
	}
}
