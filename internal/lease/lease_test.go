package lease

import (
	"encoding/json"
	"flag"
	"testing"

	"pgregory.net/rapid"
)

var operations = flag.Int("operations", 30_000, "random operations of TestOperations")

// TestOperations: under random operations the book agrees with the model, passes its own checks,
// and is the fold of its events. With -operations 1000000 it takes minutes.
func TestOperations(t *testing.T) {
	const perWorld = 1000
	for seed := range uint64(max(1, *operations/perWorld)) {
		w := newWorld(t, newSeeded(seed), testDevices, testPolicy)
		run(t, w, perWorld)
	}
}

// TestRapidOperations lets rapid choose, which finds the shortest way to a fault.
func TestRapidOperations(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, drawn{rt}, testDevices, testPolicy)
		run(rt, w, rapid.IntRange(1, 60).Draw(rt, "steps"))
	})
}

func run(t tester, w *world, steps int) {
	fold := New()
	seen := 0
	for range steps {
		w.step(t)
		for ; seen < len(w.log); seen++ {
			if err := fold.Apply(stored(t, w.log[seen])); err != nil {
				t.Fatal(err)
			}
		}
		if wrong := w.book.Check(); len(wrong) > 0 {
			t.Fatalf("after event %d: %q", w.book.Seq(), wrong)
		}
		if err := w.model.agrees(w.book); err != nil {
			t.Fatal(err)
		}
	}
	w.idle(t)
	same(t, "fold of the events", w.book.Snapshot(), fold.Snapshot())
	back, err := Restore(w.book.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "restored", w.book.Snapshot(), back.Snapshot())
}

// stored is an event as it comes back from a ledger.
func stored(t tester, e Event) Event {
	t.Helper()
	data, err := json.Marshal(e.Body)
	if err != nil {
		t.Fatal(err)
	}
	e.Body, err = DecodeBody(e.Kind(), data)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
