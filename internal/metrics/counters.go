package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/lease"
)

// Counters keep what happened since the agent began. All methods may be called from several
// goroutines.
type Counters struct {
	families families
	parts    []prometheus.Collector

	granted  prometheus.Counter
	refused  *prometheus.CounterVec
	ended    *prometheus.CounterVec
	waits    prometheus.Histogram
	reads    prometheus.Histogram
	failures prometheus.Counter
	commits  prometheus.Histogram
	requests *prometheus.CounterVec
	overUse  *prometheus.CounterVec
	overdue  prometheus.Counter
	dropped  *prometheus.CounterVec

	mu     sync.Mutex
	routes map[string]bool
	told   told
}

// maxRoutes bounds the API's routes. It has about 15.
const maxRoutes = 64

// waitBuckets are seconds, from a grant at once to a day in the queue.
var waitBuckets = []float64{0.1, 1, 10, 60, 300, 900, 3600, 4 * 3600, 24 * 3600}

// callBuckets are seconds: a fake answers in microseconds, NVML in milliseconds, nvidia-smi
// in a second, and a commit takes what the disk takes for an fsync.
var callBuckets = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// NewCounters returns counters at zero. startTicks is when the agent began, in ticks since
// boot as /proc/PID/stat tells: what older processes counted before is no news. 0 is
// unknown, and everything is.
func NewCounters(now func() time.Time, startTicks int64) *Counters {
	c := &Counters{routes: map[string]bool{}, told: newTold(now, startTicks)}
	f := &c.families
	c.refused = f.counterVec("ullage_leases_refused_total", "Requests for a lease, and wishes about one, that were turned down, by the code of the refusal.", "code")
	c.ended = f.counterVec("ullage_leases_ended_total", "Leases that ended, by the cause.", "cause")
	c.requests = f.counterVec("ullage_api_requests_total", "Requests to the agent's API, by route, method and HTTP status.", "route", "method", "code")
	c.overUse = f.counterVec("ullage_over_use_total", "Times that the processes of a lease went above its share of a device, by what the agent did: warn, stop or tolerate.", "action")
	c.dropped = f.counterVec("ullage_dropped_total", "Leases, jobs and processes left out of a scrape because there were too many, and labels that were cut; counted at every scrape.", "kind")
	c.granted = c.count("ullage_leases_granted_total", "Leases that were granted.")
	c.failures = c.count("ullage_probe_failures_total", "Readings of the GPUs that failed or did not come in time.")
	c.overdue = c.count("ullage_drains_overdue_total", "Leases that drained for longer than drain_deadline: their holders were gone and the driver still showed their memory in use.")
	c.waits = f.histogram("ullage_lease_wait_seconds", "What granted leases waited in the queue.", waitBuckets)
	c.reads = f.histogram("ullage_probe_duration_seconds", "What readings of the GPUs took, failed ones too.", callBuckets)
	c.commits = f.histogram("ullage_ledger_commit_duration_seconds", "What it took until a decision was on disk.", callBuckets)
	c.parts = append(c.parts, c.refused, c.ended, c.requests, c.overUse, c.dropped, c.waits, c.reads, c.commits)
	c.begin()
	return c
}

func (c *Counters) count(name, help string) prometheus.Counter {
	vec := c.families.counterVec(name, help)
	c.parts = append(c.parts, vec)
	return vec.WithLabelValues()
}

// begin makes the series whose labels are known at zero: increase() does not see the first
// event of a series that begins at one.
func (c *Counters) begin() {
	for _, code := range []lease.Code{
		lease.CodeInvalid, lease.CodeUnknown, lease.CodeState, lease.CodeLimit, lease.CodeNever, lease.CodeQuotaPeak, lease.CodeQuotaHours,
		lease.CodeAbsent, lease.CodeUnseen, lease.CodeCordon, lease.CodeForeign, lease.CodeReserve, lease.CodeExclusive, lease.CodeMemory, lease.CodeOrder,
	} {
		c.refused.WithLabelValues(string(code))
	}
	for _, cause := range []lease.Cause{
		lease.Released, lease.Exited, lease.Expired, lease.Stopped, lease.Rebooted, lease.NotNow, lease.Drained,
	} {
		c.ended.WithLabelValues(string(cause))
	}
	for _, action := range []string{"warn", "stop", "tolerate"} {
		c.overUse.WithLabelValues(action)
	}
	for _, kind := range []string{kindLease, kindJob, kindProcess, kindLabel} {
		c.dropped.WithLabelValues(kind)
	}
}

// Decided counts events that are on disk. of returns the leases that they granted.
func (c *Counters) Decided(of func(lease.ID) (lease.Lease, bool), events []lease.Event) {
	for _, e := range events {
		switch body := e.Body.(type) {
		case *lease.Placed:
			c.granted.Inc()
			if l, ok := of(body.ID); ok {
				c.waits.Observe(float64(e.AtMS-l.QueuedMS) / 1000)
			}
		case *lease.Refused:
			c.refused.WithLabelValues(string(body.Code)).Inc()
		case *lease.RefusedMore:
			for code, n := range body.Counts {
				c.refused.WithLabelValues(string(code)).Add(float64(n))
			}
		case *lease.Closed:
			c.ended.WithLabelValues(string(body.Cause)).Inc()
		}
	}
}

// Committed counts a decision and what it took until it was on disk.
func (c *Counters) Committed(took time.Duration) { c.commits.Observe(took.Seconds()) }

// Read counts a reading of the GPUs, with its error or nil.
func (c *Counters) Read(took time.Duration, err error) {
	c.reads.Observe(took.Seconds())
	if err != nil {
		c.failures.Inc()
	}
}

// OverUse counts that a lease was seen above its share: once when it goes above, not at
// every look. action is what the agent did: warn, stop or tolerate.
func (c *Counters) OverUse(action string) { c.overUse.WithLabelValues(action).Inc() }

// DrainOverdue counts a lease that drains for longer than it should, once.
func (c *Counters) DrainOverdue() { c.overdue.Inc() }

// Request counts an answer of the API. route is the pattern that the request matched, as
// "/v1/leases/{id}", and not its path; a method of no standard is "other".
func (c *Counters) Request(route, method string, status int) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
	default:
		method = "other"
	}
	if status < 100 || status > 599 {
		status = 0
	}
	c.requests.WithLabelValues(c.route(route), method, strconv.Itoa(status)).Inc()
}

// route is the label of a route: "other" when there are too many, or none fits.
func (c *Counters) route(route string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.routes[route] && (route == "" || len(c.routes) >= maxRoutes) {
		return "other"
	}
	c.routes[route] = true
	value, _ := label(route)
	return value
}

// Reported takes what a process told of its allocator into the counters of the devices, so
// that an out-of-memory error is counted even if the process ends before the next scrape.
// startTicks tells the process from a later one with the same PID.
func (c *Counters) Reported(pid int, startTicks int64, devices []client.ReportDevice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range devices {
		c.told.add(pid, startTicks, bare(devices[i].Device), &devices[i].Allocator)
	}
}

// deviceTotals adds up what was told of a device, which may have several UUIDs.
func (c *Counters) deviceTotals(uuids []string) (sum tally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, uuid := range uuids {
		sum = sum.plus(c.told.totals[bare(uuid)])
	}
	return sum
}
