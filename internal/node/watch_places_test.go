package node

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/settings"
)

func memory(total, used, reserved int64) *gpu.Memory {
	return &gpu.Memory{TotalBytes: total, UsedBytes: used, ReservedBytes: &reserved, FreeBytes: total - used - reserved}
}

func instance(uuid string, gi, ci int, m *gpu.Memory) gpu.Instance {
	return gpu.Instance{UUID: uuid, Profile: "p", GPUInstance: gi, ComputeInstance: ci, Memory: m}
}

func process(pid int, uuid string, gi, ci int, used int64) gpu.Process {
	return gpu.Process{PID: pid, DeviceUUID: uuid, GPUInstance: &gi, ComputeInstance: &ci, UsedBytes: &used}
}

// TestPlaces: what of a reading leases can be placed on.
func TestPlaces(t *testing.T) {
	before := []lease.Device{{UUID: "A", CapacityBytes: 7 * gib}, {UUID: "M"}, {UUID: "M-1", Parent: "M", CapacityBytes: 3 * gib}}
	for _, tt := range []struct {
		name string
		d    gpu.Device
		want []place
	}{
		{
			"whole",
			gpu.Device{UUID: "A", Name: "H200", Memory: memory(10*gib+5, gib, 2*gib)},
			[]place{{Device: lease.Device{UUID: "A", Model: "H200", CapacityBytes: 8 * gib}, used: gib, free: 7*gib + 5}},
		},
		{
			"without its memory",
			gpu.Device{UUID: "A", Name: "H200"},
			[]place{{Device: before[0], problem: "the driver does not tell its memory"}},
		},
		{
			"with a problem",
			gpu.Device{UUID: "M", MIG: true, Problem: "it hangs"},
			[]place{{Device: before[1], problem: "it hangs"}, {Device: before[2], problem: "it hangs"}},
		},
		{"new, with a problem", gpu.Device{UUID: "Z", Problem: "it hangs"}, nil},
		{"without a name", gpu.Device{UUID: "unknown-0", Memory: memory(gib, 0, 0)}, nil},
		{
			"split into nothing",
			gpu.Device{UUID: "M", Name: "H100", MIG: true, Memory: memory(8*gib, 0, 0)},
			[]place{{Device: lease.Device{UUID: "M", Model: "H100"}, split: true}},
		},
		{
			"split",
			gpu.Device{UUID: "M", Name: "H100", MIG: true, Instances: []gpu.Instance{
				instance("M-1", 1, 0, memory(4*gib, gib, 0)), instance("M-2", 2, 0, memory(3*gib, 0, 0)),
			}},
			[]place{
				{Device: lease.Device{UUID: "M", Model: "H100"}, split: true},
				{Device: lease.Device{UUID: "M-1", Parent: "M", Model: "H100 MIG p", CapacityBytes: 4 * gib}, used: gib, free: 3 * gib, procs: []gpu.Process{process(1, "M", 1, 0, gib)}},
				{Device: lease.Device{UUID: "M-2", Parent: "M", Model: "H100 MIG p", CapacityBytes: 3 * gib}, free: 3 * gib, procs: []gpu.Process{process(2, "M", 2, 0, 0)}},
			},
		},
		{
			"compute instances",
			gpu.Device{UUID: "M", Name: "H100", MIG: true, Instances: []gpu.Instance{
				instance("M-1", 1, 0, memory(8*gib, 6*gib, 0)), instance("M-2", 1, 1, memory(8*gib, 6*gib, 0)),
			}},
			[]place{
				{Device: lease.Device{UUID: "M", Model: "H100"}, split: true},
				// Of 6 GiB the other's process has 5, of which 4 are its own part.
				{Device: lease.Device{UUID: "M-1", Parent: "M", Model: "H100 MIG p", CapacityBytes: 4 * gib}, shared: true, used: 2 * gib, free: 2 * gib, procs: []gpu.Process{process(1, "M", 1, 0, gib)}},
				{Device: lease.Device{UUID: "M-2", Parent: "M", Model: "H100 MIG p", CapacityBytes: 4 * gib}, shared: true, used: 5 * gib, free: 0, procs: []gpu.Process{process(3, "M", 1, 1, 5*gib)}},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &gpu.Reading{Devices: []gpu.Device{tt.d}, Processes: []gpu.Process{
				process(1, "M", 1, 0, gib), process(2, "M", 2, 0, 0), process(3, "M", 1, 1, 5*gib), process(4, "other", 1, 0, gib),
			}}
			if tt.name == "split" {
				r.Processes = slices.Delete(r.Processes, 2, 3)
			}
			got := placesOf(r, before)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(place{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReserves: what does not fit a device is cut, and said, and not the whole list refused.
func TestReserves(t *testing.T) {
	r := newRig(t, func(s *settings.Settings) {
		s.Reserves = []settings.Reserve{{Queue: "", Bytes: 60 * gib}, {Queue: "a", Bytes: 50*gib + 1, Device: gpuA}}
		s.Policy.Queues = []lease.Queue{{Name: "a"}}
	})
	r.rounds(2)
	if diff := cmp.Diff([]lease.Reserve{{Queue: "", Bytes: 60 * gib}, {Queue: "a", Bytes: 20 * gib}}, r.device(gpuA).Reserves); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]lease.Reserve{{Queue: "", Bytes: 60 * gib}}, r.device(gpuB).Reserves); diff != "" {
		t.Error(diff)
	}
	if n := r.logs.count("a reserve does not fit its device"); n != 1 {
		t.Errorf("said %d times, want once", n)
	}
}

// mig makes card A a split one with two instances of 40 GiB.
func (r *rig) mig() {
	c := r.card(gpuA)
	c.device.MIG, c.device.Memory = true, nil
	c.device.Instances = []gpu.Instance{instance("MIG-1", 1, 0, memory(40*gib, 0, 0)), instance("MIG-2", 2, 0, memory(40*gib, 0, 0))}
}

// TestSplit: a GPU that is split while nobody uses it is leased by its instances, and whole
// again when it is; what is there is looked at before anything is granted.
func TestSplit(t *testing.T) {
	r := newRig(t, nil)
	r.bench.cards = r.bench.cards[:1]
	r.round()
	r.mig()
	r.round()
	id := r.ask(lease.Request{MemoryBytes: 30 * gib, Detached: true})
	if l := r.lease(id); l.State != lease.Granted || l.Shares[0].Device == gpuA {
		t.Fatalf("the lease is %s on %v", l.State, l.Shares)
	}
	all := r.ask(lease.Request{Exclusive: true, Detached: true})
	r.wantState(all, lease.Granted, "")
	if grade := r.gradeAfterRound(all); grade != "hw" {
		t.Errorf("all of an instance has the grade %q", grade)
	}
	if grade := r.gradeAfterRound(id); grade == "hw" {
		t.Errorf("a part of an instance has the grade %q", grade)
	}
	// Both instances are taken away while their leases drain: the driver allows that only
	// when nobody uses them, so they are free.
	r.release(id, "u1001", lease.Released)
	r.release(all, "u1001", lease.Released)
	r.card(gpuA).device.Instances = nil
	r.round()
	r.wantState(id, lease.Ended, lease.Released)
	// Whole again, with somebody on it from the first moment.
	r.card(gpuA).device.MIG, r.card(gpuA).device.Memory = false, memory(80*gib, 0, 0)
	r.card(gpuA).hidden = 70 * gib
	r.round()
	waits := r.ask(lease.Request{MemoryBytes: 20 * gib, Detached: true})
	r.wantState(waits, lease.Queued, "")
	r.wantForeign(gpuA, 70*gib)
}

func (r *rig) gradeAfterRound(id lease.ID) string {
	r.round()
	return r.now().watched[id].grade
}
