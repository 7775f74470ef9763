package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/ullage-dev/ullage/internal/lease"
)

const gib = 1 << 30

var testDevices = []lease.Device{
	{UUID: "A", Model: "H200", CapacityBytes: 140 * gib, Reserves: []lease.Reserve{{Queue: "inference", Bytes: 20 * gib}}},
	{UUID: "B", Model: "H200", CapacityBytes: 140 * gib},
	{UUID: "C", Model: "A100", CapacityBytes: 80 * gib},
}

var testPolicy = lease.Policy{
	KeepMS: 1000, // in the clock of the workload, which is counted in decisions
	Queues: []lease.Queue{{Name: "inference", Priority: 5}},
	Quotas: []lease.Quota{{Scope: lease.User, Name: lease.Each, PeakBytes: 200 * gib}},
}

// workload makes decisions as clients would, from several goroutines, and tells of each event when
// it has been acknowledged.
type workload struct {
	ledger *Ledger
	seed   uint64
	keep   Retention // what is not kept is deleted now and then
	mu     sync.Mutex
	out    io.Writer
}

func (w *workload) begin(ctx context.Context) error {
	decide := func(f func(*lease.Book, int64) ([]lease.Event, error)) error {
		_, err := w.ledger.Do(ctx, func(b *lease.Book) ([]lease.Event, error) { return f(b, b.NowMS()+1) })
		return err
	}
	err := errors.Join(
		decide(func(b *lease.Book, now int64) ([]lease.Event, error) { return b.Start(now, "boot", 10) }),
		decide(func(b *lease.Book, now int64) ([]lease.Event, error) { return b.SetPolicy(now, "root", testPolicy) }),
		decide(func(b *lease.Book, now int64) ([]lease.Event, error) {
			return b.SetDevices(now, "root", testDevices, nil)
		}))
	for _, d := range testDevices {
		err = errors.Join(err, decide(func(b *lease.Book, now int64) ([]lease.Event, error) { return b.SetForeign(now, d.UUID, 0) }))
	}
	return err
}

// run lets clients make so many decisions each. It stops at the first error that is no refusal.
func (w *workload) run(ctx context.Context, clients, decisions int) error {
	var all sync.WaitGroup
	errs := make([]error, clients)
	for c := range clients {
		all.Go(func() {
			d := rand.New(rand.NewPCG(w.seed, uint64(c)))
			for n := 0; n < decisions && errs[c] == nil; n++ {
				if n%25 == 24 && w.keep != (Retention{}) {
					_, errs[c] = w.ledger.Prune(ctx, 0, w.keep)
				}
				errs[c] = errors.Join(errs[c], w.decide(ctx, d, fmt.Sprintf("%d.%d.%d", w.seed, c, n)))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (w *workload) decide(ctx context.Context, d *rand.Rand, key string) error {
	events, err := w.ledger.Do(ctx, func(b *lease.Book) ([]lease.Event, error) {
		now := b.NowMS() + 1
		live := b.Leases()
		if len(live) == 0 || len(live) < 60 && d.IntN(2) == 0 {
			_, events, err := b.Submit(now, randomRequest(d, key))
			return events, err
		}
		l := live[d.IntN(len(live))]
		switch n := d.IntN(10); {
		case l.State == lease.Draining:
			return b.Freed(now, l.ID)
		case n < 6:
			return b.Release(now, l.ID, l.User, lease.Released)
		case n < 8:
			return b.Extend(now, l.ID, 500, l.User)
		}
		return b.Tick(now)
	})
	if refused := (*lease.RefusedError)(nil); err != nil && !errors.As(err, &refused) {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range events {
		if _, err := fmt.Fprintf(w.out, "%d %s %d\n", events[i].Seq, events[i].Kind(), events[i].Lease()); err != nil {
			return err
		}
	}
	return nil
}

func randomRequest(d *rand.Rand, key string) lease.Request {
	r := lease.Request{
		User: []string{"ann", "bob", "eve"}[d.IntN(3)], Project: []string{"", "p"}[d.IntN(2)], Key: key,
		MemoryBytes: int64(1+d.IntN(60)) * gib, Devices: 1 + d.IntN(5)/4, Priority: d.IntN(5),
	}
	if d.IntN(3) == 0 {
		r.TTLMS = int64(100 + d.IntN(1000))
	}
	if d.IntN(4) == 0 {
		r.Queue = "inference"
	}
	return r
}

func openTest(t testing.TB, path string) *Ledger {
	t.Helper()
	l, err := open(context.Background(), path, tuning{snapshotEvery: 100, pruneStep: 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// worked opens a ledger and makes decisions in it.
func worked(t testing.TB, path string, clients, decisions int) *Ledger {
	t.Helper()
	l := openTest(t, path)
	w := &workload{ledger: l, seed: 1, out: io.Discard}
	if err := errors.Join(w.begin(t.Context()), w.run(t.Context(), clients, decisions)); err != nil {
		t.Fatal(err)
	}
	return l
}

func snapshotOf(l *Ledger) (s lease.Snapshot) {
	l.View(func(b *lease.Book) { s = b.Snapshot() })
	return s
}
