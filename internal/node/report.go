package node

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
)

const (
	reportDevices = 64  // that one report may tell of
	reportName    = 200 // bytes of a job's name
	silence       = 3   // periods after which what a process told is out of date
)

// reports is what processes tell of their allocators. The zero value is ready. Its methods
// may be called from several goroutines.
type reports struct {
	mu      sync.Mutex
	tellers map[int]*teller // by PID
	sight   sight
}

// teller is a process that has reported and has not ended.
type teller struct {
	id              holder.ID
	user            string
	began, at       time.Time // of its first and its latest report
	period          time.Duration
	job             string
	rank, localRank *int
	step            *int64
	marked          []lease.ID // its lease by its environment, which counts until a reading shows the process
	devices         map[string]*reported
}

// reported is what a process has told of one device.
type reported struct {
	now      client.Allocator
	outside  *int64 // bytes used besides; nil: not known yet
	promised *int64 // the limit that it was told last
	high     int64  // the most that was reserved
	grew     time.Time
	trend    trend // of what is allocated: by steps, or, for a process that tells of none, by minutes
	bySteps  bool
}

// fresh tells whether what the process told last still goes for now.
func (t *teller) fresh(now time.Time) bool { return now.Sub(t.at) <= silence*t.period }

// report takes in what a process tells, and answers with its limits.
func (a *Agent) report(ctx context.Context, who *caller, r client.Report) (client.Advice, error) {
	if who.id == (holder.ID{}) {
		return client.Advice{}, invalidf("the process that reports cannot be seen from here").
			hint("where it is in a container, the agent needs the PID namespace of the machine")
	}
	if err := checkReport(&r); err != nil {
		return client.Advice{}, err
	}
	// The loop hears of its end by this, and has it forgotten.
	if err := a.Processes.Watch(who.id); errors.Is(err, holder.ErrGone) {
		return client.Advice{}, invalidf("the process that reports has ended")
	}
	a.Counters.Reported(who.id.PID, who.id.Start, r.Devices)
	marked := a.markedLease(who)
	s := a.settings.Load()
	in := intake{who: who, marked: marked, now: a.Clock.Now(), nowMS: a.Clock.NowMS(), context: s.ContextBytes, interval: s.Interval, shareOf: a.shareOf}
	return a.reports.take(&in, &r), nil
}

// checkReport refuses what no allocator can count.
func checkReport(r *client.Report) error {
	if len(r.Devices) > reportDevices {
		return invalidf("devices: %d of them, expected %d at most", len(r.Devices), reportDevices)
	}
	if len(r.Job) > reportName || !utf8.ValidString(r.Job) {
		return invalidf("job: expected a name of %d bytes at most", reportName)
	}
	if r.Step != nil && *r.Step < 0 || r.Rank != nil && *r.Rank < 0 || r.LocalRank != nil && *r.LocalRank < 0 {
		return invalidf("step, rank, local_rank: expected numbers from 0 on")
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		least := min(d.AllocatedBytes, d.ReservedBytes, d.ActiveBytes, d.InactiveSplitBytes, d.RequestedBytes,
			d.PeakAllocatedBytes, d.PeakReservedBytes, d.OOMs, d.AllocRetries, d.LimitBytes)
		most := max(d.AllocatedBytes, d.ReservedBytes, d.PeakAllocatedBytes, d.PeakReservedBytes)
		if s := d.AfterStep; s != nil {
			least, most = min(least, s.Step, s.AllocatedBytes), max(most, s.AllocatedBytes)
		}
		if least < 0 || most > maxBytes {
			return invalidf("devices[%d]: an amount that no allocator can have", i)
		}
	}
	return nil
}

// maxBytes is more than any device has: 1 PiB.
const maxBytes = 1 << 50

// markedLease is the lease that the process says by its environment that it is under, if its
// user has such a one.
func (a *Agent) markedLease(who *caller) []lease.ID {
	p, err := a.Processes.Find(who.id.PID)
	if err != nil || p.ID != who.id || p.Mark.Lease == 0 {
		return nil
	}
	var ids []lease.ID
	a.Ledger.View(func(b *lease.Book) {
		if l, ok := b.Lease(lease.ID(p.Mark.Lease)); ok && l.User == who.user && l.Epoch == p.Mark.Epoch {
			ids = []lease.ID{l.ID}
		}
	})
	return ids
}

// shareOf is what a lease has of a device, and the epoch of its grant.
func (a *Agent) shareOf(id lease.ID, device string) (bytes, epoch int64, ok bool) {
	a.Ledger.View(func(b *lease.Book) {
		l, known := b.Lease(id)
		if !known || !l.Holds() {
			return
		}
		for _, s := range l.Shares {
			if s.Device == device {
				bytes, epoch, ok = bytes+s.Bytes, l.Epoch, true
			}
		}
	})
	return bytes, epoch, ok
}

// intake is what goes with a report.
type intake struct {
	who      *caller
	marked   []lease.ID
	now      time.Time
	nowMS    int64
	context  int64 // bytes that a context is expected to take
	interval time.Duration
	shareOf  func(id lease.ID, device string) (bytes, epoch int64, ok bool)
}

// take keeps a report and advises.
func (rs *reports) take(in *intake, r *client.Report) client.Advice {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	t := rs.tellerOf(in)
	before := t.at
	t.at, t.marked, t.job, t.rank, t.localRank, t.step = in.now, in.marked, r.Job, r.Rank, r.LocalRank, r.Step
	named := make(map[string]bool, len(r.Devices))
	for i := range r.Devices {
		if place := rs.sight.find(r.Devices[i].Device, t.id); place != "" {
			named[place] = true
			rs.update(t, place, &r.Devices[i], before)
			t.devices[place].follow(t, &r.Devices[i], in.nowMS)
		}
	}
	for place := range t.devices {
		if !named[place] {
			delete(t.devices, place)
		}
	}
	return rs.advise(in, t)
}

// tellerOf finds the process, or makes it known. Another one may have had its PID.
func (rs *reports) tellerOf(in *intake) *teller {
	t := rs.tellers[in.who.id.PID]
	if t == nil || t.id != in.who.id {
		t = &teller{id: in.who.id, began: in.now, devices: map[string]*reported{}}
		if rs.tellers == nil {
			rs.tellers = map[int]*teller{}
		}
		rs.tellers[t.id.PID] = t
	}
	t.user = in.who.user
	return t
}

// update takes in what is told of a device. before is when the process told the last time.
func (rs *reports) update(t *teller, place string, r *client.ReportDevice, before time.Time) {
	d, known := t.devices[place]
	if !known {
		d = new(reported)
		t.devices[place] = d
	} else if used := rs.sight.usedBetween(t.id, place, before, t.at); used != nil {
		d.measure(*used, d.now.ReservedBytes, r.ReservedBytes)
	}
	d.now = r.Allocator
	if high := max(r.ReservedBytes, r.PeakReservedBytes); high > d.high || !known {
		d.high, d.grew = high, t.at
	}
}

// measure narrows down what the process uses besides its allocator, by a reading between two
// reports. Where the reserved memory changed meanwhile, what was known is kept as far as it
// can be right.
func (d *reported) measure(used, reservedBefore, reservedAfter int64) {
	low := max(0, used-max(reservedBefore, reservedAfter))
	high := max(0, used-min(reservedBefore, reservedAfter))
	outside := low
	if d.outside != nil {
		outside = min(max(*d.outside, low), high)
	}
	d.outside = &outside
}

// follow adds to the trend of what is allocated.
func (d *reported) follow(t *teller, r *client.ReportDevice, nowMS int64) {
	switch {
	case r.AfterStep != nil:
		if !d.bySteps {
			d.trend, d.bySteps = trend{}, true
		}
		d.trend.add(nowMS, float64(r.AfterStep.Step), float64(r.AfterStep.AllocatedBytes))
	case t.step == nil && !d.bySteps:
		d.trend.add(nowMS, t.at.Sub(t.began).Minutes(), float64(r.AllocatedBytes))
	}
}

// forget drops processes that have ended.
func (rs *reports) forget(dead []holder.ID) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, id := range dead {
		if t := rs.tellers[id.PID]; t != nil && t.id == id {
			delete(rs.tellers, id.PID)
		}
	}
}

// bareUUID is a UUID without what says of which sort it is, in lower case.
func bareUUID(uuid string) string {
	bare := strings.ToLower(uuid)
	return strings.TrimPrefix(strings.TrimPrefix(bare, "mig-"), "gpu-")
}
