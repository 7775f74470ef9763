package ledger

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/lease"
)

// BenchmarkGrant is a grant and its end on disk: two transactions that are waited for, submit with
// grant, and release with free. What it costs is the disk's fsync; clients that come together share
// one. Budget: with 100 clients at least 5 times the rate of one, and p99 of a client's wait below
// 100 ms on a disk whose fsync takes 1 ms.
func BenchmarkGrant(b *testing.B) {
	for _, clients := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) { benchmarkGrant(b, clients) })
	}
}

func benchmarkGrant(b *testing.B, clients int) {
	l, err := Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	devices := []lease.Device{{UUID: "A", CapacityBytes: 140 * gib}}
	for _, decide := range []Decide{
		func(book *lease.Book) ([]lease.Event, error) { return book.SetDevices(1, "root", devices, nil) },
		func(book *lease.Book) ([]lease.Event, error) { return book.SetForeign(1, "A", 0) },
		func(book *lease.Book) ([]lease.Event, error) {
			return book.SetPolicy(1, "root", lease.Policy{KeepMS: 1})
		},
	} {
		if _, err := l.Do(b.Context(), decide); err != nil {
			b.Fatal(err)
		}
	}
	waits := make([][]time.Duration, clients)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := c; i < b.N; i += clients {
				begin := time.Now()
				grantOnce(b, l)
				waits[c] = append(waits[c], time.Since(begin))
			}
		})
	}
	all.Wait()
	every := slices.Concat(waits...)
	slices.Sort(every)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "grants/s")
	b.ReportMetric(float64(every[len(every)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(every[len(every)*99/100].Microseconds())/1000, "p99-ms")
}

// grantOnce takes 1 GiB, waits until that is on disk, and gives it back.
func grantOnce(b *testing.B, l *Ledger) {
	var id lease.ID
	if _, err := l.Do(b.Context(), func(book *lease.Book) (events []lease.Event, err error) {
		id, events, err = book.Submit(book.NowMS()+1, lease.Request{User: "ann", MemoryBytes: gib})
		return events, err
	}); err != nil {
		b.Error(err)
		return
	}
	if _, err := l.Do(b.Context(), func(book *lease.Book) ([]lease.Event, error) {
		events, err := book.Release(book.NowMS()+1, id, "ann", lease.Released)
		if err != nil {
			return events, err
		}
		freed, err := book.Freed(book.NowMS()+1, id)
		return append(events, freed...), err
	}); err != nil {
		b.Error(err)
	}
}
