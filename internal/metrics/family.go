package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// family is one metric as users know it: a name with the series under it.
type family struct {
	name   string
	help   string
	kind   string // gauge, counter or histogram
	labels []string
	desc   *prometheus.Desc // nil where client_golang keeps the values
}

// of makes a series of the family. The labels stand in the order of the family's.
func (f *family) of(value float64, labels ...string) prometheus.Metric {
	kind := prometheus.GaugeValue
	if f.kind == "counter" {
		kind = prometheus.CounterValue
	}
	return prometheus.MustNewConstMetric(f.desc, kind, value, labels...)
}

// pairs are label values with their names.
type pairs []*dto.LabelPair

// pairs makes them once for all series that share them: a job's rank has twenty series with
// the same seven labels, and making those anew for each took half the time of a scrape.
func (f *family) pairs(labels []string) pairs { return prometheus.MakeLabelPairs(f.desc, labels) }

// shared is a series with pairs that others have too.
type shared struct {
	family *family
	value  float64
	labels pairs
}

// Desc is part of prometheus.Metric.
func (m shared) Desc() *prometheus.Desc { return m.family.desc }

// Write is part of prometheus.Metric.
func (m shared) Write(out *dto.Metric) error {
	out.Label = m.labels
	if m.family.kind == "counter" {
		out.Counter = &dto.Counter{Value: &m.value}
	} else {
		out.Gauge = &dto.Gauge{Value: &m.value}
	}
	return nil
}

// families is the list of all that a scrape can show.
type families []*family

func (fs *families) add(kind, name, help string, labels []string) *family {
	f := &family{name: name, help: help, kind: kind, labels: labels}
	*fs = append(*fs, f)
	return f
}

func (fs *families) gauge(name, help string, labels ...string) *family {
	f := fs.add("gauge", name, help, labels)
	f.desc = prometheus.NewDesc(name, help, labels, nil)
	return f
}

func (fs *families) counter(name, help string, labels ...string) *family {
	f := fs.add("counter", name, help, labels)
	f.desc = prometheus.NewDesc(name, help, labels, nil)
	return f
}

func (fs *families) counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	fs.add("counter", name, help, labels)
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (fs *families) histogram(name, help string, buckets []float64) prometheus.Histogram {
	fs.add("histogram", name, help, nil)
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}
