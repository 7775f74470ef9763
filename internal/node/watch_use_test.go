package node

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
)

// TestUse: what processes use is charged to leases with a share, the innermost first, and
// the rest is foreign.
func TestUse(t *testing.T) {
	type process struct {
		used   int64 // -1: not told
		leases []lease.ID
	}
	type want struct {
		leases      map[lease.ID]int64
		untold      map[lease.ID]bool
		foreign     int64
		unaccounted int64
	}
	for _, tt := range []struct {
		name   string
		used   int64
		shares map[lease.ID]int64
		procs  []process
		want   want
	}{
		{"nobody", 3, nil, nil, want{unaccounted: 3}},
		{"strangers", 10, map[lease.ID]int64{1: 5}, []process{{4, nil}, {5, []lease.ID{2}}}, want{leases: map[lease.ID]int64{1: 0}, foreign: 9, unaccounted: 1}},
		{"above its share", 9, map[lease.ID]int64{1: 5}, []process{{4, []lease.ID{1}}, {5, []lease.ID{1}}}, want{leases: map[lease.ID]int64{1: 9}}},
		{"two leases of one process", 12, map[lease.ID]int64{1: 8, 2: 8}, []process{{12, []lease.ID{2, 1}}}, want{leases: map[lease.ID]int64{2: 8, 1: 4}}},
		{"above both", 20, map[lease.ID]int64{1: 8, 2: 8}, []process{{20, []lease.ID{2, 1}}}, want{leases: map[lease.ID]int64{2: 12, 1: 8}}},
		{"the inner one first", 16, map[lease.ID]int64{1: 8, 2: 8}, []process{{8, []lease.ID{2, 1}}, {8, []lease.ID{2}}}, want{leases: map[lease.ID]int64{1: 8, 2: 8}}},
		{"told as more than the device", 5, map[lease.ID]int64{1: 8}, []process{{8, []lease.ID{1}}}, want{leases: map[lease.ID]int64{1: 8}}},
		{"not told", 7, map[lease.ID]int64{1: 5}, []process{{-1, []lease.ID{1}}}, want{leases: map[lease.ID]int64{1: 5}, untold: map[lease.ID]bool{1: true}, unaccounted: 2}},
		{"not told, and a stranger's neither", 7, map[lease.ID]int64{1: 5}, []process{{-1, []lease.ID{1}}, {-1, nil}}, want{leases: map[lease.ID]int64{1: 0}, untold: map[lease.ID]bool{1: true}, unaccounted: 7}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &place{used: tt.used}
			of := map[int][]lease.ID{}
			for i, q := range tt.procs {
				shown := gpu.Process{PID: i + 1, StartTicks: 1, UsedBytes: &q.used}
				if q.used < 0 {
					shown.UsedBytes = nil
				}
				p.procs = append(p.procs, shown)
				of[i+1] = q.leases
			}
			u := useOf(p, tt.shares, func(q *gpu.Process) []lease.ID { return of[q.PID] })
			got := want{leases: u.leases, untold: u.untold, unaccounted: u.unaccounted}
			for _, bytes := range u.foreign {
				got.foreign += bytes
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestForeignBreathes: a process that takes and gives back counts with its most of the last
// 30 s, and not at all when it has ended; steady readings write nothing.
func TestForeignBreathes(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	for range 5 {
		r.put(me, gpuA, 3*gib)
		r.round()
		r.put(me, gpuA, 9*gib+1)
		r.rounds(2)
	}
	r.wantForeign(gpuA, 9*gib+64*mib)
	seq := r.seq()
	for range 20 {
		r.put(me, gpuA, 8*gib)
		r.round()
		r.put(me, gpuA, 9*gib)
		r.round()
	}
	r.put(me, gpuA, gib)
	r.rounds(29)
	if n := r.seq() - seq; n > 1 { // from the one peak to the other
		t.Errorf("%d events while a process breathed", n)
	}
	r.wantForeign(gpuA, 9*gib)
	r.rounds(2)
	r.wantForeign(gpuA, gib)
	r.put(me, gpuA, 9*gib)
	r.round()
	r.Kill(me)
	r.off(me)
	r.round()
	r.wantForeign(gpuA, 0)
}

func (r *rig) seq() (n int64) {
	r.Ledger.View(func(b *lease.Book) { n = b.Seq() })
	return n
}

// TestDriversOwn: the little that a driver uses of a device for itself is no part of what can
// be leased, so that all of it can be; what is more than that is somebody's.
func TestDriversOwn(t *testing.T) {
	r := newRig(t, nil)
	r.card(gpuA).hidden = 3*mib + 1
	r.rounds(2)
	all := r.ask(lease.Request{Exclusive: true, Device: gpuA, Detached: true})
	r.wantState(all, lease.Granted, "")
	r.wantForeign(gpuA, 0)
	for range 2 {
		if got := r.device(gpuA).CapacityBytes; got != 80*gib-4*mib {
			t.Errorf("the capacity is %d MiB", got/mib)
		}
		r.restart(nil)
		r.round()
	}
	r.card(gpuA).hidden = gib
	r.round()
	r.wantForeign(gpuA, gib) // less 4 MiB, and rounded up
	r.release(all, "u1001", lease.Released)
	r.card(gpuA).hidden = 5 * mib
	r.rounds(15)
	if d := r.device(gpuA); d.CapacityBytes != 80*gib-5*mib {
		t.Errorf("the capacity of a device that is idle is %d MiB", d.CapacityBytes/mib)
	}
	r.rounds(30)
	r.wantForeign(gpuA, 0)
	r.card(gpuA).hidden = 300 * mib
	r.round()
	r.wantForeign(gpuA, 320*mib)
}

// TestPeaks holds the window against all samples.
func TestPeaks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	p, s := newPeaks(), source{place: "A", process: holder.ID{PID: 1, Start: 1}}
	const window = 30
	var all []sample
	for now := int64(0); now < 5000; now += random.Int64N(9) {
		bytes := random.Int64N(100)
		all = append(all, sample{now, bytes})
		want := int64(0)
		for _, o := range all {
			if o.atMS >= now-window {
				want = max(want, o.bytes)
			}
		}
		if got := p.peak(s, now, bytes, window*time.Millisecond); got != want {
			t.Fatalf("at %d: %d, want %d", now, got, want)
		}
	}
	if n := len(p.held[s]); n > window {
		t.Errorf("%d samples are kept", n)
	}
}
