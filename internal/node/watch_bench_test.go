package node

import (
	"fmt"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
)

// BenchmarkLook is one round of the loop on a busy machine: 8 GPUs with 200 processes, 100
// leases that have a process each, and 1,000 requests that wait. Reading the driver and
// looking at all processes come on top. Budget, of a core in which a round of a second may
// take 10 ms:
//
//	5 ms
func BenchmarkLook(b *testing.B) {
	r := newRig(b, nil)
	r.bench.cards = nil
	for i := range 8 {
		r.bench.cards = append(r.bench.cards, newCard(fmt.Sprint("GPU-", i), 80*gib))
	}
	r.round()
	for i := range 200 {
		p := r.user()
		r.put(p, fmt.Sprint("GPU-", i%8), gib)
		if i < 100 {
			r.held(p, fmt.Sprint("GPU-", i%8), 4*gib)
		}
	}
	r.rounds(2)
	var queue []holder.ID
	for range 1000 {
		p := r.user()
		queue = append(queue, p)
		r.ask(lease.Request{MemoryBytes: 70 * gib, HolderPID: p.PID, HolderStart: p.Start})
	}
	r.rounds(40) // until peaks of the window are what they are
	b.ReportAllocs()
	for b.Loop() {
		r.clock.Advance(time.Second)
		r.look(b.Context())
	}
	b.ReportMetric(float64(len(queue)), "waiting")
}
