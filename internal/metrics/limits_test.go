package metrics

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/units"
)

// crowd is an agent with so many leases, jobs and processes, the last the largest.
func crowd(tb testing.TB, count int) *agent {
	a := machine(tb)
	a.status.PerProcess = true
	a.state.Leases, a.state.Jobs, a.state.Reading.Processes = nil, nil, nil
	uuid := a.state.Reading.Devices[0].UUID
	for i := range count {
		bytes := int64(i+1) * units.MiB
		a.state.Leases = append(a.state.Leases, client.Lease{ID: int64(i + 1), State: "granted", Shares: []client.Share{{Device: uuid, Bytes: bytes}}})
		a.state.Jobs = append(a.state.Jobs, client.Job{PID: 1000 + i, User: fmt.Sprint("user", i), Devices: []client.JobDevice{{Device: uuid, UsedBytes: &bytes}}})
		a.state.Reading.Processes = append(a.state.Reading.Processes, gpu.Process{PID: 1000 + i, DeviceUUID: uuid, UsedBytes: &bytes})
	}
	return a
}

// Of too many the largest stay, and the others are counted at every scrape. The sums by
// device have them all.
func TestCaps(t *testing.T) {
	counters := NewCounters(stopped{}.Now, 0)
	m := collector(crowd(t, 10), counters, Options{MaxLeases: 3, MaxJobs: 4, MaxProcesses: 2})
	for range 2 {
		for name, want := range map[string]int{"ullage_lease_memory_bytes{": 3, "ullage_lease_info{": 3, "ullage_job_memory_used_bytes{": 4, "ullage_process_memory_used_bytes{": 2, "ullage_process_info{": 2} {
			// Each look is a scrape.
			if got := len(series(t, m, name)); got != want {
				t.Errorf("%d series of %s, want %d", got, name, want)
			}
		}
	}
	if got := series(t, m, "ullage_process_memory_used_bytes{"); !strings.Contains(got[0], `pid="1008"`) || !strings.Contains(got[1], `pid="1009"`) {
		t.Errorf("not the two largest: %q", got)
	}
	const scrapes = 2*5 + 1
	for kind, left := range map[string]float64{"lease": 7, "job": 6, "process": 8, "label": 0} {
		if got := testutil.ToFloat64(counters.dropped.WithLabelValues(kind)); got != left*scrapes {
			t.Errorf("%v of %s dropped in %d scrapes, want %v", got, kind, scrapes, left*scrapes)
		}
	}
	if got := series(t, m, `ullage_device_processes{gpu_instance="",uuid="GPU-00000000-0000-4000-8000-000000000000"}`); !strings.HasSuffix(got[0], " 10") {
		t.Errorf("the device has %q, want 10 processes", got)
	}
}

// hostile are label values of somebody who would like to see the scrape fail.
func hostile() []string {
	return []string{
		"\xff\xfe", "a\xc3", "new\nline", "carriage\rreturn", `quo"te`, `back\slash`, "nul\x00", "\x1b[31mred", "\u202eright to left", "",
		strings.Repeat("x", 10_000), strings.Repeat("é", 5_000), strings.Repeat("\xff", 10_000), strings.Repeat("\n", 127), strings.Repeat("x", 127) + "é",
		`"} 1` + "\n" + `ullage_forged{a="b"} 1` + "\n", "# EOF", "{}", "𝒶" + strings.Repeat("𝒶", 40),
	}
}

// everywhere writes a text where texts of users go.
func everywhere(a *agent, text string) {
	for i := range a.state.Leases {
		l := &a.state.Leases[i]
		l.User, l.Group, l.Project, l.Name, l.Queue, l.Grade = text, text, text, text, text, text
	}
	for i := range a.state.Jobs {
		a.state.Jobs[i].User, a.state.Jobs[i].Name = text, text
	}
	r := &a.state.Reading
	for i := range r.Processes {
		p := &r.Processes[i]
		p.User, p.Name, p.Command = text, text, text
		p.Place = gpu.Place{Runtime: text, ContainerID: text, PodUID: text, SlurmJob: text, SlurmStep: text, Unit: text}
	}
	for i := range r.Devices {
		r.Devices[i].Name, r.Devices[i].PCIAddress, r.Devices[i].ComputeMode = text, text, text
	}
	r.Source, r.Driver, r.CUDA = text, text, text
	a.status.Queues = []string{text}
}

// Whatever users are called and write, the scrape is one that Prometheus can read, and says
// nothing that they made up.
func TestHostileLabels(t *testing.T) {
	for _, accept := range []string{"", "application/openmetrics-text; version=1.0.0"} {
		for _, text := range hostile() {
			a := machine(t)
			a.status.PerProcess = true
			everywhere(a, text)
			w := scrapeOf(t, collector(a, busyCounters(t), Options{}), accept)
			if accept != "" {
				if strings.Count(w.Body.String(), "\n# EOF\n") != 1 {
					t.Errorf("%.40q: %d ends", text, strings.Count(w.Body.String(), "\n# EOF\n"))
				}
				continue
			}
			parser := expfmt.NewTextParser(model.LegacyValidation)
			families, err := parser.TextToMetricFamilies(w.Body)
			if err != nil {
				t.Errorf("%.40q: %v", text, err)
			}
			if families["ullage_forged"] != nil {
				t.Errorf("%.40q forged a metric", text)
			}
			for name, f := range families {
				for _, metric := range f.GetMetric() {
					for _, l := range metric.GetLabel() {
						if v := l.GetValue(); len(v) > maxLabelBytes || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' }) {
							t.Errorf("%.40q: %s has %s=%q", text, name, l.GetName(), v)
						}
					}
				}
			}
		}
	}
}

func FuzzLabel(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, cut := label(text)
		if len(value) > maxLabelBytes || !utf8.ValidString(value) {
			t.Errorf("label(%q) = %q, %d bytes", text, value, len(value))
		}
		if again, _ := label(value); again != value {
			t.Errorf("label(%q) = %q, and of that %q", text, value, again)
		}
		if longer, _ := label(text + "x"); cut && longer == value {
			t.Errorf("%q and one byte more have the label %q both", text, value)
		}
	})
}

// Two long names that begin alike stay two series.
func TestCutLabelsDiffer(t *testing.T) {
	a := machine(t)
	long := strings.Repeat("sweep-", 50)
	for i := range a.state.Jobs {
		j := &a.state.Jobs[i]
		j.User, j.Lease, j.Rank, j.LocalRank, j.Name = "alice", 0, nil, nil, fmt.Sprint(long, i)
		j.Devices = j.Devices[:1]
		j.Devices[0].Device = a.state.Reading.Devices[0].UUID
	}
	if got := series(t, collector(a, busyCounters(t), Options{}), "ullage_job_processes"); len(got) != len(a.state.Jobs) {
		t.Errorf("%d jobs in %d series: %q", len(a.state.Jobs), len(got), got)
	}
}

// Processes of one rank are one series: bytes add up, and what one does not tell nobody knows.
func TestRanksAddUp(t *testing.T) {
	a := machine(t)
	one, two := a.state.Jobs[0], a.state.Jobs[0]
	two.PID = 50001
	two.Devices = []client.JobDevice{{
		Device: one.Devices[0].Device, UsedBytes: ptr[int64](2 * gib), Outside: ptr[int64](gib), Slope: ptr(512.0),
		Allocator: &client.Allocator{AllocatedBytes: gib, ReservedBytes: gib, LimitBytes: gib, OOMs: 4},
	}}
	a.state.Jobs = []client.Job{one, two}
	m := collector(a, busyCounters(t), Options{})
	value := func(name string) string {
		lines := series(t, m, name+"{")
		if len(lines) != 1 {
			return fmt.Sprint(lines)
		}
		return lines[0][strings.LastIndexByte(lines[0], ' ')+1:]
	}
	for name, want := range map[string]int64{
		"ullage_job_processes": 2, "ullage_job_memory_used_bytes": 64 * gib, "ullage_job_memory_outside_bytes": 3 * gib, "ullage_job_memory_slope_bytes_per_step": 4096 + 512,
		"ullage_job_allocator_allocated_bytes": 41 * gib, "ullage_job_allocator_limit_bytes": 79 * gib, "ullage_job_ooms_total": 5, "ullage_job_steps_total": 1200,
	} {
		if got := value(name); got != fmt.Sprint(float64(want)) {
			t.Errorf("%s is %s, want %v", name, got, want)
		}
	}
	two.Devices[0].UsedBytes, two.Devices[0].Outside, two.Devices[0].Allocator.LimitBytes = nil, nil, 0
	for _, name := range []string{"ullage_job_memory_used_bytes", "ullage_job_memory_outside_bytes", "ullage_job_allocator_limit_bytes"} {
		if got := value(name); got != "[]" {
			t.Errorf("%s is %s where one of two processes does not tell", name, got)
		}
	}
}

// A counter only grows while its series lives, also when one of several processes ends;
// else Prometheus would take it for a restart and count what is left once more.
func TestJobCountersOnlyGrow(t *testing.T) {
	a := machine(t)
	m := collector(a, busyCounters(t), Options{})
	show := func(ooms map[int]int64) string {
		template := machine(t).state.Jobs[0]
		a.state.Jobs = nil
		for pid, count := range ooms {
			j := template
			j.PID = pid
			d := template.Devices[0]
			d.Allocator = &client.Allocator{OOMs: count}
			j.Devices = []client.JobDevice{d}
			a.state.Jobs = append(a.state.Jobs, j)
		}
		lines := series(t, m, "ullage_job_ooms_total")
		if len(lines) == 0 {
			return "none"
		}
		return lines[0][strings.LastIndexByte(lines[0], ' ')+1:]
	}
	for i, step := range []struct {
		ooms map[int]int64
		want string
	}{
		{map[int]int64{1: 2}, "2"},
		{map[int]int64{1: 2, 2: 3}, "5"},
		{map[int]int64{2: 3}, "5"},       // the first has ended
		{map[int]int64{2: 4, 3: 1}, "7"}, // and another came
		{map[int]int64{2: 1, 3: 1}, "8"}, // the statistics of one were reset, and one more came
		{nil, "none"},                    // the job is over
		{map[int]int64{2: 1}, "1"},       // another begins
	} {
		if got := show(step.ooms); got != step.want {
			t.Errorf("step %d: %s errors, want %s", i, got, step.want)
		}
	}
}

// The counters of a device outlive the processes, and start at what the agent has seen.
func TestDeviceCounters(t *testing.T) {
	now := noon
	c := NewCounters(func() time.Time { return now }, 500)
	const gpu0 = "GPU-00000000-0000-4000-8000-000000000000"
	report := func(pid int, ticks int64, device string, ooms, retries int64) {
		c.Reported(pid, ticks, []client.ReportDevice{{Device: device, Allocator: client.Allocator{OOMs: ooms, AllocRetries: retries}}})
	}
	expect := func(what string, ooms, retries int64) {
		t.Helper()
		if diff := cmp.Diff(tally{ooms, retries}, c.deviceTotals([]string{gpu0}), cmp.AllowUnexported(tally{})); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	report(10, 400, gpu0, 7, 9)
	expect("what a process counted before the agent began is no news", 0, 0)
	report(10, 400, gpu0, 8, 9)
	expect("what comes on top is", 1, 0)
	report(11, 600, strings.ToUpper(gpu0[len("GPU-"):]), 2, 1)
	expect("a process that began later, and CUDA's form of the UUID", 3, 1)
	report(11, 700, gpu0, 2, 1)
	expect("another process with the same PID", 5, 2)
	report(11, 700, gpu0, 2, 1)
	expect("nothing new", 5, 2)
	report(12, 800, "GPU-another", 1, 1)
	expect("another device", 5, 2)
	for pid := range 1000 {
		report(30000+pid, 900, "GPU-liar", math.MaxInt64, math.MaxInt64)
	}
	if got := c.deviceTotals([]string{"GPU-liar"}); got.ooms < 0 || got.retries < 0 {
		t.Errorf("sums ran over: %v", got)
	}
	now = now.Add(forgetAfter + time.Minute)
	for pid := range tellersKept {
		report(20000+pid, 900, gpu0, 0, 0)
	}
	expect("after many others", 5, 2)
	if len(c.told.last) > tellersKept {
		t.Errorf("%d processes are remembered", len(c.told.last))
	}
	for i := range 2 * maxDevices {
		report(13, 900, fmt.Sprint("made-up-", i), 1, 1)
	}
	if len(c.told.totals) > maxDevices {
		t.Errorf("%d devices are remembered", len(c.told.totals))
	}
}

// A client that makes up paths and methods makes no series.
func TestRequestsAreBounded(t *testing.T) {
	c := NewCounters(stopped{}.Now, 0)
	for i := range 1000 {
		c.Request(fmt.Sprint("/v1/", i), fmt.Sprint("METHOD", i), 1000+i)
	}
	c.Request("", http.MethodGet, http.StatusNotFound)
	if got := testutil.CollectAndCount(c.requests); got > maxRoutes+2 {
		t.Errorf("%d series", got)
	}
}
