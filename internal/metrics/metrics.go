package metrics

import (
	"cmp"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ullage-dev/ullage/internal/client"
)

// Source is the agent, as a scrape sees it. Both methods answer at once, with what is known.
type Source interface {
	// State is the state for all users. The collector does not change it.
	State() client.State
	Status() Status
}

// Status is what the agent says of itself and of its configuration.
type Status struct {
	Ready         bool
	Read          time.Time     // when the last reading that did not fail came, by the clock of Options.Now; zero: none yet
	Interval      time.Duration // between readings
	DrainDeadline time.Duration // after which a lease that drains is overdue
	Queues        []string      // that the configuration names
	PerProcess    bool          // every process gets series of its own
}

// Options fit the collector to an agent. The zero value of a field is its default.
type Options struct {
	Version      string
	Now          func() time.Time
	ReadingTTL   time.Duration // a reading that is older, and older than three intervals, shows nothing: 15 s
	ReportTTL    time.Duration // the same of what a process reported: 1 min
	MaxLeases    int           // that have series, those with the most memory first: 1000
	MaxJobs      int           // likewise: 1000
	MaxProcesses int           // likewise: 1000
}

// Limits and spans where Options leave them open. A scrape with a thousand of each has some
// 30,000 series, which is as much as a Prometheus should be given by one machine.
const (
	readingTTL = 15 * time.Second
	reportTTL  = time.Minute
	maxEach    = 1000
)

// Metrics is the collector of an agent's figures.
type Metrics struct {
	source   Source
	counters *Counters
	options  Options
	families families
	agent    agentFamilies
	device   deviceFamilies
	lease    leaseFamilies
	job      jobFamilies
	process  processFamilies
	jobs     jobTallies
}

// New returns the collector. It starts nothing.
func New(source Source, counters *Counters, o Options) *Metrics {
	o.ReadingTTL, o.ReportTTL = cmp.Or(o.ReadingTTL, readingTTL), cmp.Or(o.ReportTTL, reportTTL)
	o.MaxLeases, o.MaxJobs, o.MaxProcesses = cmp.Or(o.MaxLeases, maxEach), cmp.Or(o.MaxJobs, maxEach), cmp.Or(o.MaxProcesses, maxEach)
	m := &Metrics{source: source, counters: counters, options: o}
	m.agent = newAgentFamilies(&m.families)
	m.device = newDeviceFamilies(&m.families)
	m.lease = newLeaseFamilies(&m.families)
	m.job = newJobFamilies(&m.families)
	m.process = newProcessFamilies(&m.families)
	m.families = append(m.families, counters.families...)
	return m
}

// Handler answers scrapes, in Prometheus's text or in OpenMetrics, with figures of the Go
// runtime and of the agent's process beside the agent's own.
func (m *Metrics) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return handler(registry)
}

func handler(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: 4, // a Prometheus, its twin, and two people with curl
		Registry:            registry,
	})
}

// Describe is part of prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range m.families {
		if f.desc != nil {
			ch <- f.desc
		}
	}
	for _, p := range m.counters.parts {
		p.Describe(ch)
	}
}

// Collect is part of prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	now := m.options.Now()
	s := &scrape{Metrics: m, out: ch, now: now, state: m.source.State(), status: m.source.Status()}
	s.index()
	if s.status.Read.IsZero() || now.Sub(s.status.Read) > max(m.options.ReadingTTL, 3*s.status.Interval) {
		s.forgetReading()
	}
	s.agentSeries()
	s.deviceSeries()
	s.leaseSeries()
	s.jobSeries()
	if s.status.PerProcess {
		s.processSeries()
	}
	for _, p := range m.counters.parts {
		p.Collect(ch)
	}
}

// scrape is one answer on its way.
type scrape struct {
	*Metrics
	out    chan<- prometheus.Metric
	now    time.Time
	state  client.State
	status Status

	places   map[string]place   // by the UUID of a GPU or a MIG device, bare
	members  map[place][]string // the UUIDs: several where MIG devices share a GPU instance
	holdings map[place]*holding
}

// put adds a series.
func (s *scrape) put(f *family, value float64, labels ...string) { s.out <- f.of(value, labels...) }

// putKnown adds a series where there is a value.
func putKnown[N int | int64 | float64](s *scrape, f *family, value *N, labels ...string) {
	if value != nil {
		s.put(f, float64(*value), labels...)
	}
}

func (s *scrape) putTrue(f *family, is bool, labels ...string) {
	value := 0.0
	if is {
		value = 1
	}
	s.put(f, value, labels...)
}

// text is a text from a user as a label.
func (s *scrape) text(text string) string {
	value, cut := label(text)
	if cut {
		s.counters.dropped.WithLabelValues(kindLabel).Inc()
	}
	return value
}

// What there can be too many of, as labels of ullage_dropped_total.
const (
	kindLease   = "lease"
	kindJob     = "job"
	kindProcess = "process"
	kindLabel   = "label"
)

// capped counts what is beyond the limit, and returns how many may stay.
func (s *scrape) capped(kind string, count, limit int) int {
	if count <= limit {
		return count
	}
	s.counters.dropped.WithLabelValues(kind).Add(float64(count - limit))
	return limit
}

// forgetReading drops what came of a reading that is too old to be shown as if it were of
// now. The leases and what is granted stay: the ledger knows them without a driver.
func (s *scrape) forgetReading() {
	s.state.Reading.Devices, s.state.Reading.Processes, s.state.Jobs = nil, nil, nil
}

type agentFamilies struct {
	build, ready, probe, lastRead *family
}

func newAgentFamilies(f *families) agentFamilies {
	return agentFamilies{
		build:    f.gauge("ullage_build_info", "The agent's release; always 1.", "version"),
		ready:    f.gauge("ullage_agent_ready", "1 where the agent grants leases, 0 where something keeps it from that."),
		probe:    f.gauge("ullage_probe_info", "How the GPUs are read, and the driver's versions; always 1.", "source", "driver", "cuda"),
		lastRead: f.gauge("ullage_probe_last_success_timestamp_seconds", "When the GPUs were last read without an error, as Unix time."),
	}
}

func (s *scrape) agentSeries() {
	s.put(s.agent.build, 1, s.text(s.options.Version))
	s.putTrue(s.agent.ready, s.status.Ready)
	if s.status.Read.IsZero() {
		return
	}
	s.put(s.agent.lastRead, unix(s.status.Read))
	r := &s.state.Reading
	s.put(s.agent.probe, 1, s.text(r.Source), s.text(r.Driver), s.text(r.CUDA))
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
