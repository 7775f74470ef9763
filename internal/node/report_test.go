package node

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/settings"
)

// on is a device of a report.
func on(device string, reserved, limit int64) client.ReportDevice {
	return client.ReportDevice{Device: device, Allocator: client.Allocator{
		AllocatedBytes: reserved, ReservedBytes: reserved, PeakAllocatedBytes: reserved, PeakReservedBytes: reserved, LimitBytes: limit,
	}}
}

// tell has a process of user 1001 report.
func (r *rig) tell(id holder.ID, told client.Report) client.Advice {
	r.t.Helper()
	r.clock.Advance(time.Millisecond)
	advice, err := r.report(r.t.Context(), &caller{uid: 1001, user: "u1001", id: id}, told)
	if err != nil {
		r.t.Fatal(err)
	}
	return advice
}

// tellOf is tell for one device.
func (r *rig) tellOf(id holder.ID, device string, reserved, limit int64) client.Advice {
	r.t.Helper()
	return r.tell(id, client.Report{Devices: []client.ReportDevice{on(device, reserved, limit)}})
}

// worker starts a process under a lease, which its environment tells.
func (r *rig) worker(of lease.ID) holder.ID {
	return r.Begin(holder.ID{}, 1001, holder.Mark{Lease: int64(of), Epoch: r.lease(of).Epoch})
}

func (r *rig) job(id holder.ID) *client.Job {
	r.t.Helper()
	for i, j := range r.now().jobs {
		if j.PID == id.PID {
			return &r.now().jobs[i]
		}
	}
	r.t.Fatalf("process %d is no job", id.PID)
	return nil
}

func (r *rig) wantLimits(a client.Advice, want ...client.Limit) {
	r.t.Helper()
	if len(a.Limits) != len(want) {
		r.t.Fatalf("limits %v, expected %v", a.Limits, want)
	}
	for i, l := range a.Limits {
		if l != want[i] {
			r.t.Errorf("limit %v, expected %v", l, want[i])
		}
	}
}

const expected = 768 * mib // of a context: settings.Default

func TestReportIsAdvised(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	id := r.held(me, gpuA, 20*gib)
	epoch := r.lease(id).Epoch
	job := r.worker(id)

	// Before any reading has shown it: the context is what is expected.
	a := r.tellOf(job, gpuA, 0, 0)
	r.wantLimits(a, client.Limit{Device: gpuA, Bytes: 20*gib - expected, Epoch: epoch})
	if a.PeriodMS != 500 {
		t.Errorf("a new process is to report after %d ms", a.PeriodMS)
	}

	// A reading between two reports tells what it uses besides.
	r.tellOf(job, gpuA, 4*gib, 0)
	r.put(job, gpuA, 4*gib+900*mib)
	r.round()
	a = r.tellOf(job, gpuA, 4*gib, 0)
	r.wantLimits(a, client.Limit{Device: gpuA, Bytes: 20*gib - 900*mib - outsideMargin, Epoch: epoch})
	r.round()
	if got := r.job(job).Devices[0].Outside; got == nil || *got != 900*mib {
		t.Errorf("used besides: %v", got)
	}

	// Once it is no longer young, less than was expected counts too; reports come less often.
	r.put(job, gpuA, 4*gib+400*mib)
	for range 70 {
		r.round()
		a = r.tellOf(job, gpuA, 4*gib, 0)
	}
	r.wantLimits(a, client.Limit{Device: gpuA, Bytes: 20*gib - 400*mib - outsideMargin, Epoch: epoch})
	if a.PeriodMS != 2000 {
		t.Errorf("it is to report after %d ms", a.PeriodMS)
	}
}

// TestReportBesideReading: what lies between a reading and a report is not taken for use
// besides the allocator.
func TestReportBesideReading(t *testing.T) {
	d := reported{}
	for _, step := range []struct{ used, before, after, want int64 }{
		{5 * gib, 4 * gib, 4 * gib, gib},             // nothing changed: exact
		{9 * gib, 4 * gib, 12 * gib, gib},            // it grew meanwhile: anything from 0 to 5
		{9 * gib, 8500 * mib, 8500 * mib, 716 * mib}, // exact again
		{3 * gib, 12 * gib, 2 * gib, 716 * mib},
		{12 * gib, 2 * gib, 3 * gib, 9 * gib}, // more than the allocator can have had
		{gib, 2 * gib, 2 * gib, 0},
	} {
		d.measure(step.used, step.before, step.after)
		if *d.outside != step.want {
			t.Errorf("%d MiB used while %d to %d MiB were reserved: %d besides, expected %d", step.used/mib, step.before/mib, step.after/mib, *d.outside/mib, step.want/mib)
		}
	}
}

func TestReportsOfOneLease(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	id := r.held(me, gpuA, 20*gib)
	epoch := r.lease(id).Epoch
	first, second, silent := r.worker(id), r.worker(id), r.worker(id)
	r.put(silent, gpuA, 2*gib)
	r.round()

	all := 18*gib - expected
	r.wantLimits(r.tellOf(first, gpuA, 0, 0), client.Limit{Device: gpuA, Bytes: all, Epoch: epoch})
	if a := r.tellOf(second, gpuA, 0, 0); len(a.Limits) != 0 || a.PeriodMS != 500 {
		t.Errorf("the second is told %v while the first has it all", a)
	}
	half := (all - expected) / 2 / mib * mib
	r.wantLimits(r.tellOf(first, gpuA, 0, all), client.Limit{Device: gpuA, Bytes: half, Epoch: epoch})
	r.wantLimits(r.tellOf(second, gpuA, 0, 0), client.Limit{Device: gpuA, Bytes: half, Epoch: epoch})

	// The faster one takes nothing from the slower one.
	r.tellOf(second, gpuA, half, half)
	r.wantLimits(r.tellOf(first, gpuA, gib, half), client.Limit{Device: gpuA, Bytes: half, Epoch: epoch})
	r.wantLimits(r.tellOf(second, gpuA, 0, half), client.Limit{Device: gpuA, Bytes: half, Epoch: epoch})

	// A place that can't be looked at is as it was: the silent one has not gone.
	r.card(gpuA).problem = "list of processes: unknown error"
	r.round()
	r.wantLimits(r.tellOf(second, gpuA, 0, half), client.Limit{Device: gpuA, Bytes: half, Epoch: epoch})
	r.card(gpuA).problem = ""

	// Of a process that has ended, nothing is kept.
	r.Kill(first)
	r.round()
	r.wantLimits(r.tellOf(second, gpuA, 0, half), client.Limit{Device: gpuA, Bytes: all, Epoch: epoch})
}

func TestReportsWithoutALease(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	id := r.held(me, gpuA, 20*gib)
	l := r.lease(id)
	stranger := r.Begin(holder.ID{}, 1002, holder.Mark{Lease: int64(id), Epoch: l.Epoch})
	late := r.Begin(holder.ID{}, 1001, holder.Mark{Lease: int64(id), Epoch: l.Epoch - 1})
	free := r.user()
	r.round()

	a, err := r.report(t.Context(), &caller{uid: 1002, user: "u1002", id: stranger}, client.Report{Devices: []client.ReportDevice{on(gpuA, gib, 0)}})
	if err != nil || len(a.Limits) != 0 {
		t.Errorf("another user's process is told %v, %v", a, err)
	}
	r.wantLimits(r.tellOf(late, gpuA, gib, 0))
	r.wantLimits(r.tellOf(free, gpuA, gib, 0))
	r.wantLimits(r.tellOf(r.worker(id), gpuB, gib, 0)) // the lease has nothing there
	r.wantLimits(r.tellOf(r.worker(id), "GPU-unheard-of", gib, 0))
}

func TestReportsAreRefused(t *testing.T) {
	r := newRig(t, nil)
	r.round()
	gone := r.user()
	r.Kill(gone)
	alive := r.user()
	minus, many := int64(-1), make([]client.ReportDevice, reportDevices+1)
	for name, tc := range map[string]struct {
		id   holder.ID
		told client.Report
	}{
		"a process that can't be seen": {holder.ID{}, client.Report{}},
		"one that has ended":           {gone, client.Report{}},
		"a negative step":              {alive, client.Report{Step: &minus}},
		"a negative amount":            {alive, client.Report{Devices: []client.ReportDevice{on(gpuA, -1, 0)}}},
		"more than there is":           {alive, client.Report{Devices: []client.ReportDevice{on(gpuA, 1<<62, 0)}}},
		"many devices":                 {alive, client.Report{Devices: many}},
		"a long name":                  {alive, client.Report{Job: strings.Repeat("x", reportName+1)}},
		"a name that is no text":       {alive, client.Report{Job: "\xff"}},
	} {
		_, err := r.report(t.Context(), &caller{uid: 1001, user: "u1001", id: tc.id}, tc.told)
		var refused *apiError
		if !errors.As(err, &refused) || refused.status != http.StatusBadRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(r.reports.tellers) != 0 {
		t.Errorf("%d processes are remembered", len(r.reports.tellers))
	}
}

func TestReportsJoinJobs(t *testing.T) {
	r := newRig(t, nil)
	r.round()
	rank, step := 3, int64(17)
	me, hidden := r.user(), r.user()
	r.put(me, gpuA, 3*gib)
	r.tell(me, client.Report{Job: "train", Rank: &rank, Step: &step, Devices: []client.ReportDevice{on(strings.TrimPrefix(gpuA, "GPU-"), 2*gib, 0)}})
	r.tellOf(hidden, gpuB, gib, 0) // the driver names no process there
	r.round()

	j := r.job(me)
	if j.Name != "train" || *j.Rank != 3 || *j.Step != 17 || j.Reported == nil || j.Devices[0].Allocator.ReservedBytes != 2*gib {
		t.Errorf("the job is %+v", j)
	}
	if j := r.job(hidden); j.User != "u1001" || len(j.Devices) != 1 || j.Devices[0].UsedBytes != nil || j.Devices[0].Allocator.ReservedBytes != gib {
		t.Errorf("the hidden job is %+v", j)
	}

	r.rounds(2) // silent for more than three periods of half a second
	if j := r.job(me); j.Name != "train" || j.Devices[0].Allocator != nil {
		t.Errorf("figures that are out of date are shown: %+v", j)
	}
	for _, j := range r.now().jobs {
		if j.PID == hidden.PID {
			t.Errorf("a process that is silent and not shown is a job: %+v", j)
		}
	}
}

func TestReportOfAnotherProcess(t *testing.T) {
	r := newRig(t, nil)
	r.round()
	me := r.user()
	r.tell(me, client.Report{Job: "first", Devices: []client.ReportDevice{on(gpuA, gib, 0)}})
	r.Kill(me)
	r.round()
	if len(r.reports.tellers) != 0 {
		t.Error("a process that has ended is remembered")
	}
}

func TestReportOnAnInstance(t *testing.T) {
	r := newRig(t, nil)
	r.card(gpuA).device.MIG = true
	for i, uuid := range []string{"MIG-1", "MIG-2"} {
		r.card(gpuA).device.Instances = append(r.card(gpuA).device.Instances,
			gpu.Instance{UUID: uuid, Profile: "3g.40gb", GPUInstance: i + 1, Memory: &gpu.Memory{TotalBytes: 40 * gib, FreeBytes: 40 * gib}})
	}
	me := r.user()
	r.round()
	id := r.held(me, "MIG-2", 40*gib)
	job := r.worker(id)
	r.put(job, gpuA, gib)
	r.card(gpuA).inGPU[job] = 2
	r.round()
	want := client.Limit{Device: "MIG-2", Bytes: 40*gib - expected, Epoch: r.lease(id).Epoch}
	r.wantLimits(r.tellOf(job, "MIG-2", 0, 0), want)
	r.wantLimits(r.tellOf(job, gpuA, 0, 0), want) // as a torch has it that names the GPU
	r.round()
	if g := r.now().watched[id].grade; g != "hw" {
		t.Errorf("a lease of a whole instance is of grade %s", g)
	}
}

func TestGradeOfALease(t *testing.T) {
	r := newRig(t, nil)
	me := r.user()
	r.round()
	id := r.held(me, gpuA, 20*gib)
	want := func(grade string) {
		t.Helper()
		r.round()
		if got := r.now().watched[id].grade; got != grade {
			t.Errorf("%s, expected %s", got, grade)
		}
	}
	want("watched")
	job := r.worker(id)
	r.tellOf(job, gpuA, gib, 20*gib-expected)
	want("self")
	other := r.worker(id)
	r.put(other, gpuA, gib)
	r.tellOf(job, gpuA, gib, 20*gib-expected)
	want("watched") // the other one says nothing
	r.Kill(other)
	r.off(other)
	r.tellOf(job, gpuA, gib, 20*gib-expected)
	want("self")
	r.rounds(2)
	want("watched") // silent
}

func TestStrays(t *testing.T) {
	r := newRig(t, func(s *settings.Settings) { s.ContextBytes = 500 * mib })
	r.round()
	zero, one := 0, 1
	first, second, loner := r.user(), r.user(), r.user()
	for _, id := range []holder.ID{first, second, loner} {
		r.put(id, gpuA, 500*mib)
	}
	r.put(second, gpuB, 3*gib)
	r.put(loner, gpuB, 3*gib)
	r.tell(first, client.Report{Rank: &zero, Devices: []client.ReportDevice{on(gpuA, 2*gib, 0)}})
	r.tell(second, client.Report{Rank: &one, Devices: []client.ReportDevice{on(gpuA, 0, 0), on(gpuB, 2*gib, 0)}})
	r.tell(loner, client.Report{Devices: []client.ReportDevice{on(gpuB, 2*gib, 0)}}) // no rank: it may mean to use both
	r.round()
	for _, tc := range []struct {
		id      holder.ID
		strayOn string
	}{{first, ""}, {second, gpuA}, {loner, ""}} {
		for _, d := range r.job(tc.id).Devices {
			if d.Stray != (d.Device == tc.strayOn) {
				t.Errorf("process %d on %s: stray is %t", tc.id.PID, d.Device, d.Stray)
			}
		}
	}
	r.put(second, gpuA, 2*gib) // by another library: more than a context
	r.tell(second, client.Report{Rank: &one, Devices: []client.ReportDevice{on(gpuA, 0, 0), on(gpuB, 2*gib, 0)}})
	r.round()
	for _, d := range r.job(second).Devices {
		if d.Stray {
			t.Errorf("a process that uses %d MiB on %s is a stray", *d.UsedBytes/mib, d.Device)
		}
	}
}

func TestReportsOfGrowth(t *testing.T) {
	r := newRig(t, nil)
	r.round()
	trains, serves, steady := r.user(), r.user(), r.user()
	for _, id := range []holder.ID{trains, serves, steady} {
		r.put(id, gpuA, gib)
	}
	for i := range int64(120) {
		step := 10 * i
		d := on(gpuA, 4*gib, 0)
		d.AfterStep = &client.StepSample{Step: step, AllocatedBytes: gib + step*mib}
		r.tell(trains, client.Report{Step: &step, Devices: []client.ReportDevice{d}})
		d = on(gpuA, 8*gib, 0)
		d.AllocatedBytes = gib + i*mib
		r.tell(serves, client.Report{Devices: []client.ReportDevice{d}})
		r.tellOf(steady, gpuA, gib, 0)
		r.round()
	}
	d := r.job(trains).Devices[0]
	if d.Slope == nil || *d.Slope < float64(mib)*0.99 || *d.Slope > float64(mib)*1.01 || d.PerMinute != nil {
		t.Errorf("a program that leaks a MiB a step grows by %v a step, %v a minute", d.Slope, d.PerMinute)
	}
	d = r.job(serves).Devices[0]
	if d.PerMinute == nil || *d.PerMinute < 59*float64(mib) || *d.PerMinute > 61*float64(mib) || d.Slope != nil {
		t.Errorf("one that leaks a MiB a second grows by %v a step, %v a minute", d.Slope, d.PerMinute)
	}
	if d = r.job(steady).Devices[0]; d.Slope != nil || d.PerMinute != nil {
		t.Errorf("one that does not grow: %v, %v", d.Slope, d.PerMinute)
	}
}
