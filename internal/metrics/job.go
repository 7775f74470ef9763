package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
)

// jobLabels tell one series of a job from another. Processes that agree in all of them, as
// the helpers of a rank do, share the series: their figures are added up. A PID is not among
// them, so that a job which starts a process a second makes no series a second.
var jobLabels = []string{"user", "lease", "job_name", "rank", "local_rank", "uuid", "gpu_instance"}

type jobFamilies struct {
	processes, used, outside, strays, reported, steps *family
	slope, slopeInTime                                *family

	amounts       [8]*family // of the allocator, in the order of the function amounts
	limit         *family    // the last of them
	ooms, retries *family
}

func newJobFamilies(f *families) jobFamilies {
	gauge := func(name, help string) *family { return f.gauge(name, help, jobLabels...) }
	j := jobFamilies{
		processes:   gauge("ullage_job_processes", "Processes of a job's rank that hold memory of a device."),
		used:        gauge("ullage_job_memory_used_bytes", "What they use by the driver's account, contexts included; absent where it does not tell."),
		outside:     gauge("ullage_job_memory_outside_bytes", "What they use outside PyTorch's allocator: contexts, libraries, other allocators."),
		slope:       gauge("ullage_job_memory_slope_bytes_per_step", "How much the allocated memory grows from step to step, at the same point of each; absent where no growth is proved."),
		slopeInTime: gauge("ullage_job_memory_slope_bytes_per_second", "The same by time, of programs that report no steps."),
		strays:      gauge("ullage_job_stray_contexts", "Contexts on a device that is not the rank's."),
		reported:    gauge("ullage_job_last_report_timestamp_seconds", "When a process last told of its allocator, as Unix time."),
		steps:       f.counter("ullage_job_steps_total", "Optimizer steps that a rank has done.", jobLabels[:5]...),
		ooms:        f.counter("ullage_job_ooms_total", "Out-of-memory errors of the allocator. For alerts use ullage_device_ooms_total, which outlives the job.", jobLabels...),
		retries:     f.counter("ullage_job_alloc_retries_total", "Times that the allocator emptied its cache to get memory.", jobLabels...),
		amounts: [...]*family{
			gauge("ullage_job_allocator_allocated_bytes", "Memory of live tensors, by PyTorch's allocator."),
			gauge("ullage_job_allocator_reserved_bytes", "Memory that the allocator has from the driver."),
			gauge("ullage_job_allocator_active_bytes", "Memory of blocks that are allocated, or wait for a stream to be done with them."),
			gauge("ullage_job_allocator_inactive_split_bytes", "Free parts of segments that are in use, which cannot go back to the driver: fragmentation."),
			gauge("ullage_job_allocator_requested_bytes", "What the program asked for, before rounding."),
			gauge("ullage_job_allocator_peak_allocated_bytes", "The most that was allocated at once."),
			gauge("ullage_job_allocator_peak_reserved_bytes", "The most that was reserved at once."),
			gauge("ullage_job_allocator_limit_bytes", "What the allocator may reserve; absent where it has no limit."),
		},
	}
	j.limit = j.amounts[len(j.amounts)-1]
	return j
}

// rank is whose series it is, without the device.
type rank struct{ user, lease, name, rank, localRank string }

func (r rank) labels() []string { return []string{r.user, r.lease, r.name, r.rank, r.localRank} }

// rankOn is a rank on a device.
type rankOn struct {
	rank
	place
}

func (r rankOn) labels() []string { return append(r.rank.labels(), r.uuid, r.instance) }

// figures are what the processes of a rank come to on a device.
type figures struct {
	processes int
	strays    int
	used      *int64 // nil: not all tell
	reporters int
	allocator client.Allocator
	unlimited bool // one of the reporters has no limit
	outside   *int64
	perStep   *float64
	perMinute *float64
	reported  time.Time
	counts    map[int]tally // by PID
}

func (s *scrape) jobSeries() {
	ranks, steps := s.gather()
	keys := slices.SortedFunc(maps.Keys(ranks), func(a, b rankOn) int {
		return cmp.Or(cmp.Compare(ranks[b].weight(), ranks[a].weight()), slices.Compare(a.labels(), b.labels()))
	})
	keys = keys[:s.capped(kindJob, len(keys), s.options.MaxJobs)]
	totals := s.jobs.update(keys, ranks)
	for _, key := range keys {
		s.rankSeries(key, ranks[key], totals[key])
		if count, ok := steps[key.rank]; ok {
			s.put(s.job.steps, float64(count), key.rank.labels()...)
			delete(steps, key.rank) // once, on however many devices
		}
	}
}

// weight is what counts when there are too many: the most memory first.
func (g *figures) weight() int64 {
	if g.used != nil {
		return *g.used
	}
	return g.allocator.ReservedBytes
}

// gather adds up the processes of each rank.
func (s *scrape) gather() (map[rankOn]*figures, map[rank]int64) {
	ranks, steps := map[rankOn]*figures{}, map[rank]int64{}
	for i := range s.state.Jobs {
		j := &s.state.Jobs[i]
		who := rank{user: s.text(j.User), name: s.text(j.Name), rank: whole(j.Rank), localRank: whole(j.LocalRank)}
		if j.Lease != 0 {
			who.lease = strconv.FormatInt(j.Lease, 10)
		}
		fresh := j.Reported != nil && s.now.Sub(*j.Reported) <= s.options.ReportTTL
		if fresh && j.Step != nil {
			steps[who] = max(steps[who], *j.Step)
		}
		for k := range j.Devices {
			on := rankOn{who, s.place(j.Devices[k].Device)}
			if ranks[on] == nil {
				ranks[on] = &figures{used: new(int64), counts: map[int]tally{}}
			}
			ranks[on].add(j, &j.Devices[k], fresh)
		}
	}
	return ranks, steps
}

func (g *figures) add(j *client.Job, d *client.JobDevice, fresh bool) {
	g.processes++
	g.used = plus(g.used, d.UsedBytes)
	if d.Stray {
		g.strays++
	}
	if !fresh || d.Allocator == nil {
		return
	}
	if g.reporters == 0 {
		g.outside = d.Outside
	} else {
		g.outside = plus(g.outside, d.Outside)
	}
	g.perStep, g.perMinute = proved(g.perStep, d.Slope), proved(g.perMinute, d.PerMinute)
	g.reporters++
	if j.Reported.After(g.reported) {
		g.reported = *j.Reported
	}
	of := amounts(d.Allocator)
	for i, to := range amounts(&g.allocator) {
		*to += *of[i]
	}
	g.unlimited = g.unlimited || d.Allocator.LimitBytes == 0
	g.counts[j.PID] = tallyOf(d.Allocator)
}

// proved adds growth to that of other processes. One of which none is proved does not grow.
func proved(sum, more *float64) *float64 {
	if sum == nil || more == nil {
		return cmp.Or(sum, more)
	}
	return plus(sum, more)
}

// amounts are the bytes of an allocator, in the order of jobFamilies.amounts.
func amounts(a *client.Allocator) [8]*int64 {
	return [...]*int64{
		&a.AllocatedBytes, &a.ReservedBytes, &a.ActiveBytes, &a.InactiveSplitBytes, &a.RequestedBytes,
		&a.PeakAllocatedBytes, &a.PeakReservedBytes, &a.LimitBytes,
	}
}

func (s *scrape) rankSeries(key rankOn, g *figures, counts tally) {
	f := &s.job
	labels := f.processes.pairs(key.labels())
	put := func(f *family, value float64) { s.out <- shared{f, value, labels} }
	put(f.processes, float64(g.processes))
	if g.used != nil {
		put(f.used, float64(*g.used))
	}
	if g.strays > 0 || g.reporters > 0 {
		put(f.strays, float64(g.strays))
	}
	if g.reporters == 0 {
		return
	}
	if g.outside != nil {
		put(f.outside, float64(*g.outside))
	}
	if g.perStep != nil {
		put(f.slope, *g.perStep)
	}
	if g.perMinute != nil {
		put(f.slopeInTime, *g.perMinute/60)
	}
	put(f.reported, unix(g.reported))
	for i, bytes := range amounts(&g.allocator) {
		if f.amounts[i] != f.limit || !g.unlimited {
			put(f.amounts[i], float64(*bytes))
		}
	}
	put(f.ooms, float64(counts.ooms))
	put(f.retries, float64(counts.retries))
}

// jobTallies keep the counts of the series between scrapes, so that they only grow: where
// processes share a series and one ends, their sum would shrink, and Prometheus would take
// that for a restart and count everything that is left once more.
type jobTallies struct {
	mu     sync.Mutex
	series map[rankOn]*jobTally
}

type jobTally struct {
	total tally
	last  map[int]tally // by PID
}

// update takes the figures of a scrape in, and returns the counts. Series that are not
// among them are forgotten.
func (t *jobTallies) update(keys []rankOn, ranks map[rankOn]*figures) map[rankOn]tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept, totals := make(map[rankOn]*jobTally, len(keys)), make(map[rankOn]tally, len(keys))
	for _, key := range keys {
		series := t.series[key]
		if series == nil {
			series = &jobTally{}
		}
		for pid, counts := range ranks[key].counts {
			series.total = series.total.plus(counts.since(series.last[pid]))
		}
		series.last = ranks[key].counts
		kept[key], totals[key] = series, series.total
	}
	t.series = kept
	return totals
}
