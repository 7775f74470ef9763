package node

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/metrics"
	"github.com/ullage-dev/ullage/internal/settings"
)

// scrape returns the lines of an answer to Prometheus.
func (r *rig) scrape() []string {
	r.t.Helper()
	w := httptest.NewRecorder()
	h := metrics.New(r.Agent, r.Counters, metrics.Options{Now: r.clock.Now}).Handler()
	h.ServeHTTP(w, httptest.NewRequestWithContext(r.t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		r.t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return strings.Split(w.Body.String(), "\n")
}

func (r *rig) wantLines(want ...string) {
	r.t.Helper()
	lines := r.scrape()
	for _, line := range want {
		if !slices.Contains(lines, line) {
			name, _, _ := strings.Cut(line, "{")
			r.t.Errorf("no %q, only %q", line, slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, name) }))
		}
	}
}

func (r *rig) wantNone(name string) {
	r.t.Helper()
	for _, line := range r.scrape() {
		if strings.HasPrefix(line, name) {
			r.t.Errorf("there is %q", line)
		}
	}
}

// TestScrape follows one job through all that Prometheus is told of it.
func TestScrape(t *testing.T) {
	r := newRig(t, func(s *settings.Settings) { s.PerProcessMetrics = true })
	r.wantLines("ullage_agent_ready 0")
	r.wantNone("ullage_device_info")
	me := r.user()
	r.round()
	id := r.held(me, gpuA, 20*gib)
	worker := r.worker(id)
	r.put(worker, gpuA, 21*gib)
	r.round()
	r.round()

	dev := `{gpu_instance="",uuid="` + gpuA + `"}`
	r.wantLines(
		"ullage_agent_ready 1", `ullage_leases{state="granted"} 1`, "ullage_leases_granted_total 1", "ullage_lease_wait_seconds_count 1",
		`ullage_lease_memory_over_bytes{gpu_instance="",lease="1",uuid="`+gpuA+`"} 1.073741824e+09`, `ullage_over_use_total{action="warn"} 1`,
		"ullage_device_ooms_total"+dev+" 0", "ullage_device_foreign_processes"+dev+" 0", "ullage_device_processes"+dev+" 1",
	)

	// An allocator fails, and the process ends by it. The probe of this test tells no user.
	told := client.Allocator{ReservedBytes: 20 * gib, AllocatedBytes: 19 * gib, OOMs: 1, AllocRetries: 2}
	r.tell(worker, client.Report{Job: "train", Devices: []client.ReportDevice{{Device: gpuA, Allocator: told}}})
	r.round()
	r.wantLines("ullage_device_ooms_total"+dev+" 1", `ullage_job_ooms_total{gpu_instance="",job_name="train",lease="1",local_rank="",rank="",user="",uuid="`+gpuA+`"} 1`)
	r.off(worker)
	r.Kill(worker)
	r.round()
	r.wantLines("ullage_device_ooms_total"+dev+" 1", "ullage_device_alloc_retries_total"+dev+" 2")
	r.wantNone("ullage_job_")
	r.wantNone("ullage_process_")

	// What a driver that hangs last told is not told for ever; the ledger's part is.
	r.bench.err = errors.New("the driver hangs")
	for range 20 {
		r.round()
	}
	r.wantLines("ullage_agent_ready 0", `ullage_leases{state="granted"} 1`, `ullage_lease_memory_bytes{gpu_instance="",lease="1",uuid="`+gpuA+`"} 2.147483648e+10`)
	r.wantNone("ullage_device_memory")
	r.bench.err = nil

	r.release(id, "u1001", lease.Released)
	r.Kill(me)
	r.rounds(3)
	r.wantLines(`ullage_leases_ended_total{cause="released"} 1`, `ullage_leases{state="granted"} 0`)
	r.wantNone("ullage_lease_memory")
}

// TestScrapeOfRecording: a recording is as old as it is, and what it shows is shown.
func TestScrapeOfRecording(t *testing.T) {
	r := newRig(t, nil)
	r.Probe = recorded{r.bench}
	r.round()
	r.wantLines(`ullage_device_memory_used_bytes{uuid="` + gpuA + `"} 0`)
}

// recorded is a probe whose readings are of last year.
type recorded struct{ *bench }

func (p recorded) Read(ctx context.Context) (gpu.Reading, error) {
	r, err := p.bench.Read(ctx)
	r.Time = r.Time.AddDate(-1, 0, 0)
	return r, err
}
