package node

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/settings"
)

// crowdedWorld is a machine on which anything happens.
type crowdedWorld struct {
	*rig
	random *rand.Rand
	jobs   []worldJob
}

// worldJob is a process that holds a lease, and one that works under it.
type worldJob struct {
	id           lease.ID
	holds, works holder.ID
	dying        int // rounds until the driver has taken its memory back
}

// TestS1World: whatever processes, clients, the driver and agents do, what is granted and
// what strangers use never exceed a device at the moment of a grant, and no process uses
// memory of a lease that is over.
func TestS1World(t *testing.T) {
	for seed := range uint64(4) {
		w := &crowdedWorld{rig: newRig(t, nil), random: rand.New(rand.NewPCG(seed, 7))}
		w.round()
		for range 250 {
			w.step()
			w.clock.Advance(time.Duration(100+w.random.IntN(2000)) * time.Millisecond)
			w.look(t.Context())
			w.check()
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func (w *crowdedWorld) step() {
	switch n := w.random.IntN(20); {
	case n < 8:
		w.begin()
	case n < 14:
		w.end()
	case n < 15:
		w.bench.err = errors.New("no answer")
	case n < 17:
		w.bench.err = nil
	case n < 18:
		c := w.bench.cards[w.random.IntN(2)]
		c.problem = map[string]string{"": "it hangs"}[c.problem]
	case n < 19:
		w.restart(func(s *settings.Settings) { s.Watch.Expired = settings.Stop })
	}
	w.jobs = slices.DeleteFunc(w.jobs, func(j worldJob) bool { return j.dying == 1 && w.gone(j) })
	for i := range w.jobs {
		w.work(&w.jobs[i])
	}
}

func (w *crowdedWorld) gone(j worldJob) bool {
	w.off(j.works)
	return true
}

// begin is a new process that asks for a lease.
func (w *crowdedWorld) begin() {
	j := worldJob{holds: w.user()}
	q := lease.Request{MemoryBytes: (1 + w.random.Int64N(50)) * gib, HolderPID: j.holds.PID, HolderStart: j.holds.Start}
	if w.random.IntN(4) == 0 {
		q.TTLMS = 20_000
	}
	j.id = w.ask(q)
	w.jobs = append(w.jobs, j)
}

// end is the end of a process: of a holder, of the one that works, or of both.
func (w *crowdedWorld) end() {
	if len(w.jobs) == 0 {
		return
	}
	j := &w.jobs[w.random.IntN(len(w.jobs))]
	switch w.random.IntN(3) {
	case 0:
		w.Kill(j.holds)
	case 1:
		w.release(j.id, "u1001", lease.Released)
		fallthrough
	default:
		w.Kill(j.holds, j.works)
	}
}

// work has a job use its lease when it is granted, and its memory go some time after it.
func (w *crowdedWorld) work(j *worldJob) {
	l := w.lease(j.id)
	switch {
	case j.dying > 1:
		j.dying--
	case j.works == (holder.ID{}) && l.State == lease.Granted && w.Lives(j.holds):
		j.works = w.Begin(j.holds, 1001, holder.Mark{Lease: int64(j.id), Epoch: l.Epoch})
		w.put(j.works, l.Shares[0].Device, l.Shares[0].Bytes)
	case j.dying == 0 && !w.Lives(j.works) && !w.Lives(j.holds):
		j.dying = 1 + w.random.IntN(4)
		for _, c := range w.bench.cards {
			c.vanish[j.works] = true
		}
	}
}

func (w *crowdedWorld) check() {
	w.Ledger.View(func(b *lease.Book) {
		for _, wrong := range b.Check() {
			w.t.Error(wrong)
		}
	})
	for _, c := range w.bench.cards {
		var used int64
		for _, bytes := range c.use {
			used += bytes
		}
		if used > 80*gib {
			w.t.Errorf("%s: %d MiB of %d are used under leases", c.device.UUID, used/mib, 80*1024)
		}
	}
	for _, j := range w.jobs {
		if l := w.lease(j.id); w.Lives(j.works) && !l.Holds() {
			w.t.Errorf("lease %d is %s by %s, and process %d works under it", l.ID, l.State, l.Cause, j.works.PID)
		}
	}
}
