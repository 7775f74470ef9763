package ledger

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/lease"
)

var update = flag.Bool("update", false, "write testdata/ledger anew")

// TestMadeLedgers holds the ledgers in testdata against what they were made by: a release has to read
// what an older one wrote, and to make the same of it. -update writes them anew, for a schema that is
// new.
func TestMadeLedgers(t *testing.T) {
	for name, make := range map[string]func(*testing.T, *Ledger){"morning.db": makeMorning, "faulty.db": makeFaulty} {
		kept := filepath.Join("..", "..", "testdata", "ledger", name)
		path := filepath.Join(t.TempDir(), name)
		l := openTest(t, path)
		make(t, l)
		want := snapshotOf(l)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if *update {
			_ = os.Remove(kept)
			if err := copyFile(path, kept); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Read(t.Context(), kept)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		book := lease.New()
		if err := fold(t.Context(), r.db, book, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, book.Snapshot()); diff != "" {
			t.Errorf("%s (-made now +kept):\n%s", name, diff)
		}
	}
}

// morningMS is 2026-11-30T08:00:00Z.
const morningMS = 1_796_025_600_000

// makeMorning: two trainings and an inference server share two GPUs; one request waits, one is refused.
func makeMorning(t *testing.T, l *Ledger) {
	devices := []lease.Device{
		{UUID: "GPU-5d1f", Model: "NVIDIA H200", CapacityBytes: 140 * gib, Reserves: []lease.Reserve{{Queue: "inference", Bytes: 30 * gib}}},
		{UUID: "GPU-a27c", Model: "NVIDIA H200", CapacityBytes: 140 * gib},
	}
	policy := lease.Policy{Queues: []lease.Queue{{Name: "inference", Priority: 10}}, Quotas: []lease.Quota{{Scope: lease.User, Name: lease.Each, PeakBytes: 200 * gib}}}
	minute := int64(0)
	do := func(decide func(*lease.Book, int64) ([]lease.Event, error)) {
		t.Helper()
		minute++
		_, err := l.Do(t.Context(), func(b *lease.Book) ([]lease.Event, error) { return decide(b, morningMS+minute*60_000) })
		if refused := (*lease.RefusedError)(nil); err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
	}
	submit := func(r lease.Request) {
		t.Helper()
		do(func(b *lease.Book, now int64) ([]lease.Event, error) {
			_, events, err := b.Submit(now, r)
			return events, err
		})
	}
	do(func(b *lease.Book, now int64) ([]lease.Event, error) { return b.Start(now, "b1f0", 60_000) })
	do(func(b *lease.Book, now int64) ([]lease.Event, error) { return b.SetPolicy(now, "root", policy) })
	do(func(b *lease.Book, now int64) ([]lease.Event, error) {
		return b.SetDevices(now, "root", devices, [][]int{{0, 18}, {18, 0}})
	})
	do(func(b *lease.Book, now int64) ([]lease.Event, error) { return b.SetForeign(now, "GPU-5d1f", 0) })
	do(func(b *lease.Book, now int64) ([]lease.Event, error) { return b.SetForeign(now, "GPU-a27c", 2*gib) })
	submit(lease.Request{User: "ann", Project: "bert", MemoryBytes: 90 * gib, Name: "python train.py"})
	submit(lease.Request{User: "svc", Project: "chat", MemoryBytes: 25 * gib, Queue: "inference", Name: "vllm serve"})
	submit(lease.Request{User: "bob", Project: "vit", MemoryBytes: 60 * gib, TTLMS: 3_600_000, Name: "python vit.py"})
	submit(lease.Request{User: "eve", MemoryBytes: 100 * gib, Name: "python big.py"})
	submit(lease.Request{User: "eve", MemoryBytes: 300 * gib, Name: "python bigger.py"})
	do(func(b *lease.Book, now int64) ([]lease.Event, error) { return b.Release(now, 1, "ann", lease.Exited) })
	do(func(b *lease.Book, now int64) ([]lease.Event, error) { return b.Freed(now, 1) })
}

// makeFaulty is the morning with a holding changed by hand.
func makeFaulty(t *testing.T, l *Ledger) {
	makeMorning(t, l)
	if _, err := l.db.Exec(`UPDATE holding SET bytes = bytes / 2 WHERE lease = 2; DELETE FROM snapshot`); err != nil {
		t.Fatal(err)
	}
}
