package lease

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestHeadNeverDelayed plays the same future twice: in one the queue is as it is, in the other
// the head waits alone. Whatever leases end and foreign use falls, in whatever order, the head
// starts in the first no later than in the second.
func TestHeadNeverDelayed(t *testing.T) {
	passed := 0
	rapid.Check(t, func(rt *rapid.T) { passed += delayTrial(rt, drawn{rt}) })
	for seed := range uint64(3000) {
		passed += delayTrial(t, newSeeded(seed))
	}
	if passed < 800 {
		t.Errorf("in all trials %d requests went past the head: too few for a test", passed)
	}
}

// delayTrial returns how many requests went past the head.
func delayTrial(t tester, d dice) (passed int) {
	w := newWorld(t, d, testDevices, testPolicy)
	for range 20 + d.intn(60) {
		w.atMS += int64(d.intn(2000))
		w.see(t, ignore(w.book.submit(w.atMS, w.request())))
		if d.intn(8) == 0 {
			w.see(t, ignore(w.book.SetForeign(w.atMS, pick(w, "A", "B", "D"), pick[int64](w, 0, 0, 3*gib+1, 30*gib))))
		}
	}
	head := w.head()
	if head == nil {
		return 0
	}
	id := head.ID
	alone := w.alone(t, id)
	before := w.book.Leases()
	for range 40 {
		w.atMS += int64(d.intn(2000))
		passed += w.future(t, alone, before, id)
		here, there := w.book.live[id], alone.live[id]
		if there.State == Granted && here.State == Queued {
			t.Fatalf("lease %d would have started alone, and waits behind those let past it: %v", id, w.book.Explain(w.atMS, id))
		}
		if here.State == Granted || !w.isFirst(id) || overQuota(alone, there) {
			return passed
		}
	}
	return passed
}

func (b *Book) submit(atMS int64, r Request) ([]Event, error) {
	r.Priority, r.NoWait = 0, false
	_, events, err := b.Submit(atMS, r)
	return events, err
}

func ignore(events []Event, _ error) []Event { return events }

// head is the first of the queue, if the others must not delay it. (Those that wait for their own
// quota are before a head in rank, and go first when they may.)
func (w *world) head() *Lease {
	if len(w.book.queue) == 0 || !w.isFirst(w.book.queue[0].ID) {
		return nil
	}
	return w.book.queue[0]
}

// isFirst tells whether a lease is the first and waits for memory. Time passes, and what its
// parties use may bring it over a quota: from then on others may pass.
func (w *world) isFirst(id ID) bool {
	l := w.book.queue[0]
	_, why := w.book.startable(l, w.book.nowMS, nil)
	return l.ID == id && why != nil && w.book.isHead(l, why)
}

// overQuota tells whether a lease waits for its own side: the device that has become free for it is
// more than its quota allows, where another would not have been. Then others may have passed it.
func overQuota(b *Book, l *Lease) bool {
	_, why := b.startable(l, b.nowMS, nil)
	return l.State == Queued && why != nil && why.Code == CodeQuotaPeak
}

// alone is the book with nobody waiting but one.
func (w *world) alone(t tester, id ID) *Book {
	s := w.book.Snapshot()
	s.Live = slices.DeleteFunc(s.Live, func(l Lease) bool { return l.State == Queued && l.ID != id })
	b, err := Restore(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// future lets something of now end, in both books, and in the first others come and those that
// have gone past the head end, too. It returns how many went past.
func (w *world) future(t tester, alone *Book, before []Lease, head ID) (passed int) {
	switch w.intn(4) {
	case 0:
		r := w.request()
		r.Queue = "batch" // behind the head, whoever it is
		events, _ := w.book.submit(w.atMS, r)
		for i := range events {
			if events[i].Kind() == "grant" && events[i].Lease() != head {
				passed++
			}
		}
		return passed
	case 1:
		uuid := pick(w, "A", "B", "D")
		foreign := w.book.device(uuid).foreign / 2
		for _, b := range []*Book{w.book, alone} {
			_, _ = b.SetForeign(w.atMS, uuid, foreign)
		}
	case 2:
		for _, l := range w.book.Leases() {
			if l.Holds() && l.ID != head && !slices.ContainsFunc(before, func(o Lease) bool { return o.ID == l.ID && o.Holds() }) && w.intn(3) == 0 {
				end(w.book, w.atMS, l.ID)
			}
		}
	default:
		if l := before[w.intn(len(before))]; l.Holds() {
			end(w.book, w.atMS, l.ID)
			end(alone, w.atMS, l.ID)
		}
	}
	return 0
}

func end(b *Book, atMS int64, id ID) {
	_, _ = b.Release(atMS, id, "ann", Released)
	_, _ = b.Freed(atMS, id)
}
