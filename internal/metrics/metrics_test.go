package metrics

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
)

var update = flag.Bool("update", false, "rewrite golden files")

// A whole scrape, so that a change of any name, label or help text is seen.
func TestScrape(t *testing.T) {
	a := machine(t)
	a.status.PerProcess = true
	got := scrapeOf(t, collector(a, busyCounters(t), Options{}), "").Body.String()
	got = got[strings.Index(got, "# HELP ullage_"):] // after those of the handler
	const golden = "testdata/scrape.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the scrape differs from %s (-want +got):\n%s", golden, diff)
	}
}

func TestLint(t *testing.T) {
	a := machine(t)
	a.status.PerProcess = true
	problems, err := testutil.CollectAndLint(collector(a, busyCounters(t), Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestOpenMetrics(t *testing.T) {
	w := scrapeOf(t, collector(machine(t), busyCounters(t), Options{}), "application/openmetrics-text; version=1.0.0")
	if kind := w.Header().Get("Content-Type"); !strings.HasPrefix(kind, "application/openmetrics-text") {
		t.Errorf("Content-Type is %s", kind)
	}
	if !strings.HasSuffix(w.Body.String(), "# EOF\n") {
		t.Error("does not end in # EOF")
	}
}

// The handler that the agent serves has the figures of Go and of the process beside its own.
func TestHandler(t *testing.T) {
	w := httptest.NewRecorder()
	collector(machine(t), busyCounters(t), Options{}).Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, name := range []string{"ullage_build_info", "go_info", "process_start_time_seconds"} {
		if !strings.Contains(w.Body.String(), "\n"+name) {
			t.Errorf("no %s", name)
		}
	}
}

// series returns the lines of a scrape that begin with a name, without comments.
func series(tb testing.TB, m *Metrics, name string) []string {
	tb.Helper()
	var lines []string
	for line := range strings.Lines(scrapeOf(tb, m, "").Body.String()) {
		if strings.HasPrefix(line, name) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// unknowns are machines that do not tell something, with what must not be shown then.
var unknowns = []struct {
	name   string
	change func(*agent)
	absent []string // that the whole machine has
}{
	{
		"no memory", func(a *agent) { everyDevice(a, func(d *gpu.Device) { d.Memory, d.Instances = nil, nil }) },
		[]string{"ullage_device_memory_", "ullage_mig_"},
	},
	{
		"reserved counted as used", func(a *agent) { everyDevice(a, func(d *gpu.Device) { d.Memory.ReservedBytes = nil }) },
		[]string{"ullage_device_memory_reserved_bytes"},
	},
	{
		"no ECC, no utilization", func(a *agent) { everyDevice(a, func(d *gpu.Device) { d.ECC, d.Utilization = gpu.ECC{}, nil }) },
		[]string{"ullage_device_ecc_errors_total", "ullage_device_utilization_ratio"},
	},
	{"processes that do not tell", func(a *agent) {
		for i := range a.state.Reading.Processes {
			a.state.Reading.Processes[i].UsedBytes = nil
		}
	}, []string{"ullage_device_memory_unaccounted_bytes", "ullage_process_memory_used_bytes"}},
	{"unified memory", func(a *agent) {
		everyDevice(a, func(d *gpu.Device) { d.Kind = gpu.KindUnified })
		a.state.Reading.Processes = nil
	}, []string{"ullage_device_memory_unaccounted_bytes"}},
	{
		"jobs that do not tell", func(a *agent) {
			everyJobDevice(a, func(d *client.JobDevice) { d.UsedBytes, d.Outside, d.Slope, d.PerMinute = nil, nil, nil, nil })
		},
		[]string{"ullage_job_memory_", `ullage_device_orphaned_bytes{gpu_instance="",uuid="GPU-00000000-0000-4000-8000-000000000001"`},
	},
	{"jobs that report nothing", func(a *agent) {
		for i := range a.state.Jobs {
			a.state.Jobs[i].Reported = nil
		}
	}, []string{"ullage_job_allocator_", "ullage_job_ooms_total", "ullage_job_steps_total", "ullage_job_memory_outside_bytes", "ullage_job_memory_slope"}},
	{"reports that are old", func(a *agent) {
		for i := range a.state.Jobs {
			a.state.Jobs[i].Reported = ptr(noon.Add(-reportTTL - time.Second))
		}
	}, []string{"ullage_job_allocator_", "ullage_job_ooms_total", "ullage_job_memory_slope"}},
	{"no limit", func(a *agent) {
		everyJobDevice(a, func(d *client.JobDevice) {
			if d.Allocator != nil {
				d.Allocator.LimitBytes = 0
			}
		})
	}, []string{"ullage_job_allocator_limit_bytes"}},
	{
		"a reading that is old", func(a *agent) { a.status.Read = noon.Add(-readingTTL - time.Second) },
		[]string{"ullage_device_memory_", "ullage_device_info", "ullage_mig_", "ullage_job_", "ullage_process_", "ullage_lease_memory_used_bytes", "ullage_lease_memory_over_bytes", "ullage_device_processes"},
	},
	{
		"no reading yet", func(a *agent) { a.status.Read = time.Time{} },
		[]string{"ullage_probe_last_success", "ullage_probe_info", "ullage_device_memory_"},
	},
}

// What is not known has no series, and above all no zero.
func TestUnknownIsAbsent(t *testing.T) {
	for _, test := range unknowns {
		t.Run(test.name, func(t *testing.T) {
			a := machine(t)
			a.status.PerProcess = true
			m := collector(a, busyCounters(t), Options{})
			for _, name := range test.absent {
				if len(series(t, m, name)) == 0 {
					t.Errorf("the whole machine has no %s", name)
				}
			}
			test.change(a)
			for _, name := range test.absent {
				if got := series(t, m, name); len(got) > 0 {
					t.Errorf("there is %q", got)
				}
			}
			if len(series(t, m, "ullage_lease_memory_bytes")) != 4 || len(series(t, m, "ullage_device_capacity_bytes")) != 4 {
				t.Error("what the ledger knows is gone too")
			}
		})
	}
}

func everyDevice(a *agent, change func(*gpu.Device)) {
	for i := range a.state.Reading.Devices {
		change(&a.state.Reading.Devices[i])
	}
}

func everyJobDevice(a *agent, change func(*client.JobDevice)) {
	for i := range a.state.Jobs {
		for k := range a.state.Jobs[i].Devices {
			change(&a.state.Jobs[i].Devices[k])
		}
	}
}

// Series end with what they are about.
func TestStaleSeriesGo(t *testing.T) {
	a := machine(t)
	a.status.PerProcess = true
	m := collector(a, busyCounters(t), Options{})
	a.state.Jobs, a.state.Leases, a.state.Reading.Processes = nil, nil, nil
	for _, name := range []string{"ullage_job_", "ullage_lease_info", "ullage_lease_memory", "ullage_process_"} {
		if got := series(t, m, name); len(got) > 0 {
			t.Errorf("there is %q", got)
		}
	}
	want := []string{
		`ullage_queue_length{queue="batch"} 0`, `ullage_queue_length{queue="default"} 0`, `ullage_queue_length{queue="inference"} 0`,
	}
	if diff := cmp.Diff(want, series(t, m, "ullage_queue_length")); diff != "" {
		t.Error(diff)
	}
}

// Every process in series of its own is for those who ask.
func TestPerProcessIsAskedFor(t *testing.T) {
	if got := series(t, collector(machine(t), busyCounters(t), Options{}), "ullage_process_"); len(got) > 0 {
		t.Errorf("there is %q", got)
	}
}

// Two places whose labels are the same would make Prometheus refuse the whole scrape.
func TestTwins(t *testing.T) {
	a := machine(t)
	a.status.PerProcess = true
	r := &a.state.Reading
	r.Devices = append(r.Devices, r.Devices[0])
	split := &r.Devices[2]
	twin := split.Instances[0] // a second compute instance of the same GPU instance
	twin.UUID, twin.ComputeInstance = "MIG-00000000-0000-5000-8000-0000000000bb", 1
	split.Instances = append(split.Instances, twin)
	a.state.Devices = append(a.state.Devices, a.state.Devices[0], client.Device{UUID: twin.UUID})
	a.state.Leases = append(a.state.Leases, a.state.Leases[0])
	a.state.Leases[2].Shares = append(a.state.Leases[2].Shares, client.Share{Device: twin.UUID, Bytes: gib})
	a.state.Jobs = append(a.state.Jobs, a.state.Jobs...)
	r.Processes = append(r.Processes, r.Processes...)
	m := collector(a, busyCounters(t), Options{})
	got := series(t, m, `ullage_lease_memory_bytes{gpu_instance="1",lease="9"`)
	if len(got) != 1 || !strings.HasSuffix(got[0], " 9.663676416e+09") { // 9 GiB
		t.Errorf("lease 9 holds %q, want 8 GiB and 1 GiB in one series", got)
	}
}

// A build of the agent's figures must not depend on what a registry saw before.
func TestTwoRegistries(t *testing.T) {
	m := collector(machine(t), busyCounters(t), Options{})
	one, two := prometheus.NewRegistry(), prometheus.NewRegistry()
	one.MustRegister(m)
	two.MustRegister(m)
	for _, r := range []*prometheus.Registry{one, two, one} {
		if _, err := r.Gather(); err != nil {
			t.Error(err)
		}
	}
}

// Scrapes overlap, and the agent counts meanwhile.
func TestConcurrentScrapes(t *testing.T) {
	counters := busyCounters(t)
	m := collector(machine(t), counters, Options{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			if _, err := registry.Gather(); err != nil {
				t.Error(err)
			}
		})
		group.Go(func() {
			counters.Reported(i, 600, []client.ReportDevice{{Device: "GPU-00000000-0000-4000-8000-000000000001", Allocator: client.Allocator{OOMs: 1}}})
			counters.Request("/v1/state", http.MethodGet, http.StatusOK)
		})
	}
	group.Wait()
	if got := counters.deviceTotals([]string{"00000000-0000-4000-8000-000000000001"}).ooms; got != 8 {
		t.Errorf("%d errors counted, want 8", got)
	}
}
