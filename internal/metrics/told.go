package metrics

import (
	"maps"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
)

// tally is a pair of counts that only grow.
type tally struct{ ooms, retries int64 }

// tallyOf bounds what a process may claim, so that no sum of claims runs over.
func tallyOf(a *client.Allocator) tally {
	const most = 1 << 32
	return tally{min(a.OOMs, most), min(a.AllocRetries, most)}
}

// since returns what came on top of an earlier tally of the same process. A count that
// shrank began anew: the process reset its statistics.
func (t tally) since(old tally) tally {
	return tally{growth(old.ooms, t.ooms), growth(old.retries, t.retries)}
}

func growth(old, now int64) int64 {
	if now < old {
		return max(now, 0)
	}
	return now - old
}

func (t tally) plus(more tally) tally { return tally{t.ooms + more.ooms, t.retries + more.retries} }

// teller is a process on a device.
type teller struct {
	pid        int
	startTicks int64
	device     string
}

type word struct {
	tally
	at time.Time
}

// told adds up what processes counted since each began, by device, through their ends.
type told struct {
	now    func() time.Time
	since  int64            // what processes that began before these ticks bring along does not count
	totals map[string]tally // by device
	last   map[teller]word
	full   int // how many tellers make it worth to look for old ones
}

func newTold(now func() time.Time, since int64) told {
	return told{now: now, since: since, totals: map[string]tally{}, last: map[teller]word{}, full: tellersKept}
}

// Memory of what was told: a process reports every few seconds, so one that was silent for
// an hour is gone, and even a busy machine has few thousands of processes in an hour.
const (
	forgetAfter = time.Hour
	tellersKept = 4096
	maxDevices  = 1024
)

func (t *told) add(pid int, startTicks int64, device string, a *client.Allocator) {
	if _, known := t.totals[device]; !known && len(t.totals) >= maxDevices {
		return // no machine has that many: the names are made up
	}
	who := teller{pid, startTicks, device}
	counts := tallyOf(a)
	last, known := t.last[who]
	if !known && startTicks < t.since {
		last.tally = counts
	}
	t.totals[device] = t.totals[device].plus(counts.since(last.tally))
	t.last[who] = word{counts, t.now()}
	t.forget()
}

func (t *told) forget() {
	if len(t.last) < t.full {
		return
	}
	before := t.now().Add(-forgetAfter)
	maps.DeleteFunc(t.last, func(_ teller, w word) bool { return w.at.Before(before) })
	t.full = max(tellersKept, 2*len(t.last))
}
