package node

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/units"
)

// BenchmarkGrant asks for a lease and gives it back, through the socket, on disk: each client
// is a connection of its own and asks again as soon as it has its answer. The times are of the
// grant. Budget on two cores with a disk whose fsync takes 0.5 ms: 1 client half within 2 ms, 100
// clients more than 500 rounds a second.
func BenchmarkGrant(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("clients=%d", n), func(b *testing.B) {
			w := newWorld(b, func(o *Options) { o.Settings.Policy.Limits = nil })
			w.looked(benchGPUs()...)
			grants(b, w, n)
		})
	}
}

// BenchmarkGrantWhileWaiting is the same with a thousand clients that wait for an answer, each
// with a request in the queue that has no room. Budget: half within 10 ms.
func BenchmarkGrantWhileWaiting(b *testing.B) {
	w := newWorld(b, func(o *Options) { o.Settings.Policy.Limits = nil })
	w.looked(benchGPUs()...)
	w.as(0).lease(client.Request{Exclusive: true, Device: gpuName(7)})
	var done sync.WaitGroup
	for range 1000 {
		who := w.as(0)
		l := who.lease(client.Request{MemoryBytes: units.GiB, Device: gpuName(7)})
		done.Go(func() {
			r, _ := http.NewRequest("GET", fmt.Sprintf("http://agent/v1/leases/%d?wait=60000&from=queued", l.ID), nil)
			if answer, err := who.http.Do(r); err == nil {
				answer.Body.Close()
			}
		})
	}
	until(b, "a thousand that wait", func() bool { return w.waiting() == 1000 })
	grants(b, w, 10)
	b.StopTimer()
	w.stop()
	done.Wait()
}

// benchGPUs are eight of 80 GiB.
func benchGPUs() []int64 { return slices.Repeat([]int64{80 * units.GiB}, 8) }

// grants has clients ask and release until the benchmark is over, with processes that end
// before they could be asked again left out.
func grants(b *testing.B, w *world, clients int) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	took := make([][]time.Duration, clients)
	var all sync.WaitGroup
	b.ResetTimer()
	began := time.Now()
	for i := range clients {
		who := w.as(0)
		all.Go(func() {
			for left.Add(-1) >= 0 {
				at := time.Now()
				l := who.lease(client.Request{MemoryBytes: 64 * units.MiB, Model: "H100"})
				took[i] = append(took[i], time.Since(at))
				if l.State != "granted" {
					b.Errorf("lease %d is %s", l.ID, l.State)
					return
				}
				who.ask("DELETE", fmt.Sprintf("/v1/leases/%d", l.ID), nil, 200, nil)
				w.free(l.ID)
			}
		})
	}
	all.Wait()
	span := time.Since(began)
	times := slices.Concat(took...)
	slices.Sort(times)
	b.ReportMetric(float64(len(times))/span.Seconds(), "grants/s")
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
}
