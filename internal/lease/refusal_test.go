package lease

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRefusalsAreCounted: of a user 30 refusals a minute are events, the others are one event when
// the minute is over, by code; other users have their own, and all are told in the end.
func TestRefusalsAreCounted(t *testing.T) {
	b := small(t, Policy{})
	var log []Event
	ask := func(atMS int64, user string, r Request) {
		r.User = user
		_, events, err := b.Submit(atMS, r)
		if err == nil {
			t.Fatal("it was not refused")
		}
		log = append(log, events...)
	}
	large, none := Request{MemoryBytes: 500 * gib}, Request{}
	for i := range int64(100) {
		ask(1000+i, "eve", large)
	}
	ask(2000, "eve", none)
	ask(2001, "ann", large)
	if n := len(log); n != refusalsWritten+1 || log[n-1].Actor != "ann" {
		t.Fatalf("%d events, the last of %s", n, log[n-1].Actor)
	}
	if events := must(b.Tick(1000 + refusalsWindowMS - 1)); len(events) != 0 {
		t.Fatalf("within the minute: %+v", events)
	}
	events := must(b.Tick(1000 + refusalsWindowMS))
	want := &RefusedMore{SinceMS: 1000, Counts: map[Code]int64{CodeNever: 70, CodeInvalid: 1}}
	if len(events) != 1 || events[0].Actor != "eve" {
		t.Fatalf("after the minute: %+v", events)
	}
	if diff := cmp.Diff(Body(want), events[0].Body); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	log = nil
	for i := range int64(refusalsWritten + 1) {
		ask(100_000+i, "eve", large)
	}
	ask(100_000+refusalsWindowMS, "eve", large) // begins a minute, and tells of the one before
	if n := len(log); n != refusalsWritten+2 || log[n-2].Kind() != "refusals" || log[n-1].Kind() != "refuse" {
		t.Errorf("%d events, the last but one %s, the last %s", n, log[n-2].Kind(), log[n-1].Kind())
	}
	for i := range int64(refusalsWritten) {
		ask(200_000+i, "bob", large)
	}
	ask(200_100, "bob", large)
	if events := must(b.TellRefusals(200_101)); len(events) != 1 || events[0].Actor != "bob" {
		t.Errorf("in the end: %+v", events)
	}
	if len(b.refusals) != 0 {
		t.Errorf("%d users are remembered", len(b.refusals))
	}
}

// TestKeepEach: of each user no more leases that have ended are remembered than the policy says, and
// others' are, and a policy with fewer holds at once. What is forgotten can be asked for again with
// its key.
func TestKeepEach(t *testing.T) {
	b := small(t, Policy{KeepEach: 3})
	past := func() (of map[string]int) {
		of = map[string]int{}
		for _, l := range b.Past() {
			of[l.User]++
		}
		return of
	}
	finish := func(user, key string) (id ID) {
		id, _, err := b.Submit(b.NowMS()+1, Request{User: user, Key: key, MemoryBytes: gib})
		if err != nil {
			t.Fatal(err)
		}
		end(b, b.NowMS()+1, id)
		return id
	}
	first := finish("eve", "k")
	finish("ann", "k")
	finish("eve", "")
	if again := finish("eve", "k"); again != first {
		t.Errorf("the same key is lease %d and %d", first, again)
	}
	for range 5 {
		finish("eve", "")
	}
	if diff := cmp.Diff(map[string]int{"eve": 3, "ann": 1}, past()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if again := finish("eve", "k"); again == first {
		t.Error("a lease that was forgotten is found by its key")
	}
	restored, err := Restore(b.Snapshot())
	if err != nil || !cmp.Equal(restored.pastOf, b.pastOf) {
		t.Errorf("restored: %v, %v, want %v", restored.pastOf, err, b.pastOf)
	}
	must(b.SetPolicy(b.NowMS(), "root", Policy{KeepEach: 1}))
	if diff := cmp.Diff(map[string]int{"eve": 1, "ann": 1}, past()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	ask(t, b, b.NowMS()+2*dayMS, Request{MemoryBytes: gib}) // time passes with an event
	if len(b.Past()) != 0 || len(b.pastOf) != 0 {
		t.Errorf("after two days: %v", b.pastOf)
	}
}
