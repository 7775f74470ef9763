package metrics

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/units"
)

// noon is when everything here happens.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// agent is a Source that says what it is told to.
type agent struct {
	state  client.State
	status Status
}

func (a *agent) State() client.State { return a.state }
func (a *agent) Status() Status      { return a.status }

// stopped is a clock at noon, for fakes that answer at once.
type stopped struct{}

func (stopped) Now() time.Time { return noon }

func (stopped) Timer(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

// reading is what a fake machine shows at noon.
func reading(tb testing.TB, fake string) gpu.Reading {
	tb.Helper()
	probe, err := gpu.Open(tb.Context(), "fake:"+fake, gpu.Machine{Clock: stopped{}})
	if err != nil {
		tb.Fatal(err)
	}
	r, err := probe.Read(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func ptr[T any](v T) *T { return &v }

const gib = units.GiB

// machine is an agent that has seen everything that there is to see: two GPUs and one that is
// split, a lease of each state, a job of two ranks that reports, one that does not, a process
// that outlived its lease, and one that does not tell what it holds.
func machine(tb testing.TB) *agent {
	r := reading(tb, "h200x2")
	mig := reading(tb, "h100-mig")
	mig.Devices[0].UUID, mig.Devices[0].Index = "GPU-00000000-0000-4000-8000-0000000000aa", 2
	for i := range mig.Processes {
		mig.Processes[i].DeviceUUID = mig.Devices[0].UUID
	}
	r.Devices, r.Processes = append(r.Devices, mig.Devices...), append(r.Processes, mig.Processes...)
	r.Devices[1].Problem, r.Devices[1].Utilization, r.Devices[1].ECC.Corrected = "ECC errors are not told", nil, nil
	a, b, part := r.Devices[0].UUID, r.Devices[1].UUID, r.Devices[2].Instances[0].UUID
	return &agent{
		status: Status{Ready: true, Read: noon.Add(-time.Second), DrainDeadline: time.Minute, Queues: []string{"inference", "batch"}},
		state: client.State{
			Reading: r,
			Devices: []client.Device{
				{UUID: a, CapacityBytes: 139 * gib, GrantedBytes: 80 * gib, ForeignBytes: 12 * gib, AvailableBytes: 27 * gib, Reserves: []client.Reserve{{Queue: "inference", Bytes: 20 * gib}}},
				{UUID: b, CapacityBytes: 139 * gib, GrantedBytes: 120 * gib, AvailableBytes: 0, ForeignBytes: 34 * gib, Cordoned: true, Overfull: true},
				{UUID: r.Devices[2].UUID, CapacityBytes: 79 * gib, Split: true},
				{UUID: part, Parent: r.Devices[2].UUID, CapacityBytes: 39 * gib, GrantedBytes: 8 * gib, AvailableBytes: 31 * gib, Unseen: true},
				{UUID: "GPU-00000000-0000-4000-8000-0000000000ff", CapacityBytes: 79 * gib, GrantedBytes: 8 * gib, AvailableBytes: 0, Absent: true},
			},
			Leases: leases(a, b, part),
			Jobs:   jobs(a, b, part),
		},
	}
}

func leases(a, b, part string) []client.Lease {
	return []client.Lease{
		{
			ID: 7, State: "granted", User: "alice", Group: "vision", Project: "llama", Name: "train.py", Queue: "batch", Grade: "self",
			Shares: []client.Share{{Device: a, Bytes: 80 * gib, UsedBytes: ptr[int64](62 * gib)}, {Device: b, Bytes: 20 * gib, UsedBytes: ptr[int64](21 * gib)}},
			Queued: noon.Add(-time.Hour), Granted: ptr(noon.Add(-time.Hour)), Expires: ptr(noon.Add(time.Hour)),
		},
		{
			ID: 8, State: "draining", User: "carol", Name: "serve.py", Queue: "inference", Grade: "watched",
			Shares: []client.Share{{Device: b, Bytes: 100 * gib, UsedBytes: ptr[int64](96 * gib)}},
			Queued: noon.Add(-5 * time.Hour), Granted: ptr(noon.Add(-5 * time.Hour)), Draining: ptr(noon.Add(-2 * time.Minute)),
		},
		{
			ID: 9, State: "granted", User: "bob", Grade: "hw",
			Shares: []client.Share{{Device: part, Bytes: 8 * gib}},
			Queued: noon.Add(-time.Minute), Granted: ptr(noon.Add(-time.Minute)),
		},
		{ID: 10, State: "queued", User: "dave", Queue: "batch", Grade: "watched", Queued: noon.Add(-40 * time.Minute)},
		{ID: 11, State: "queued", User: "erin", Grade: "watched", Queued: noon.Add(-3 * time.Second)},
	}
}

func jobs(a, b, part string) []client.Job {
	rank := func(pid, n int, device string, used int64, allocator *client.Allocator) client.Job {
		return client.Job{
			PID: pid, User: "alice", Lease: 7, Name: "llama-8b", Rank: ptr(n), LocalRank: ptr(n), Step: ptr[int64](1200), Reported: ptr(noon.Add(-2 * time.Second)),
			Devices: []client.JobDevice{{Device: device, UsedBytes: &used, Allocator: allocator, Outside: ptr(used - allocator.ReservedBytes), Slope: ptr(float64(n+1) * 4096)}},
		}
	}
	first := rank(41207, 0, a, 62*gib, &client.Allocator{
		AllocatedBytes: 40 * gib, ReservedBytes: 60 * gib, ActiveBytes: 41 * gib, InactiveSplitBytes: 9 * gib, RequestedBytes: 39 * gib,
		PeakAllocatedBytes: 55 * gib, PeakReservedBytes: 60 * gib, LimitBytes: 78 * gib, OOMs: 1, AllocRetries: 3,
	})
	second := rank(41208, 1, b, 20*gib, &client.Allocator{AllocatedBytes: 12 * gib, ReservedBytes: 18 * gib, ActiveBytes: 12 * gib, RequestedBytes: 12 * gib, PeakAllocatedBytes: 14 * gib, PeakReservedBytes: 18 * gib})
	second.Devices[0].Slope, second.Devices[0].PerMinute = nil, ptr(float64(6*units.MiB))
	second.Devices = append(second.Devices, client.JobDevice{Device: a, UsedBytes: ptr[int64](520 * units.MiB), Stray: true})
	return []client.Job{
		first, second,
		{PID: 41533, User: "bob", Devices: []client.JobDevice{{Device: a, UsedBytes: ptr[int64](11 * gib)}}},
		{PID: 52011, User: "carol", Lease: 8, Orphan: true, Devices: []client.JobDevice{{Device: b, UsedBytes: ptr[int64](96 * gib)}}},
		{PID: 52877, User: "dave", Devices: []client.JobDevice{{Device: b}}},
		{PID: 7101, User: "bob", Lease: 9, Devices: []client.JobDevice{{Device: part, UsedBytes: ptr[int64](8 * gib)}}},
	}
}

// busyCounters are those of an agent in which everything has happened.
func busyCounters(tb testing.TB) *Counters {
	tb.Helper()
	c := NewCounters(stopped{}.Now, 500)
	book := lease.New()
	decide := func(events []lease.Event, err error) {
		tb.Helper()
		if refused := (*lease.RefusedError)(nil); err != nil && !errors.As(err, &refused) {
			tb.Fatal(err)
		}
		c.Decided(book.Lease, events)
	}
	start := noon.UnixMilli()
	decide(book.Start(start, "boot", 0))
	decide(book.SetDevices(start, lease.Agent, []lease.Device{{UUID: "GPU-a", CapacityBytes: 80 * gib}}, nil))
	_, events, err := book.Submit(start, lease.Request{User: "alice", MemoryBytes: 60 * gib, Devices: 1})
	decide(events, err)
	decide(book.SetForeign(start+5000, "GPU-a", 0))
	_, events, err = book.Submit(start+5000, lease.Request{User: "bob", MemoryBytes: 90 * gib, Devices: 1})
	decide(events, err)
	decide(book.Release(start+6000, 1, "alice", lease.Released))
	decide(book.Freed(start+7000, 1))
	c.Read(3*time.Millisecond, nil)
	c.Read(2*time.Second, errors.New("the driver hangs"))
	c.Committed(800 * time.Microsecond)
	c.Request("/v1/leases/{id}", http.MethodGet, http.StatusOK)
	c.Request("/v1/leases", http.MethodPost, http.StatusConflict)
	c.OverUse("warn")
	c.DrainOverdue()
	first := []client.ReportDevice{{Device: "00000000-0000-4000-8000-000000000000", Allocator: client.Allocator{OOMs: 1, AllocRetries: 3}}}
	c.Reported(41207, 900, first)
	return c
}

// collector is one over a machine at noon.
func collector(a *agent, c *Counters, o Options) *Metrics {
	o.Version, o.Now = "1.2.3", stopped{}.Now
	return New(a, c, o)
}

// scrapeOf returns the answer of a scrape, without the figures of Go and of the process.
func scrapeOf(tb testing.TB, m *Metrics, accept string) *httptest.ResponseRecorder {
	tb.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	handler(registry).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		tb.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w
}
