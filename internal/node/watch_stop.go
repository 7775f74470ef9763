package node

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/settings"
)

// enforceEnds ends the processes of leases that are over by policy: SIGTERM as soon as the
// lease drains, SIGKILL when it has done so for the grace. Since that follows from the ledger
// alone, an agent that was started anew goes on where the last one was.
func (l *loop) enforceEnds(drains []lease.Lease) {
	s := l.settings.Load()
	for i := range drains {
		held := &drains[i]
		switch held.Cause {
		case lease.Stopped:
		case lease.Expired, lease.Drained:
			if s.Watch.Expired != settings.Stop {
				continue
			}
		default:
			continue
		}
		sig := syscall.SIGTERM
		if l.Clock.NowMS()-held.DrainingMS >= s.Watch.Grace.Milliseconds() {
			sig = syscall.SIGKILL
		}
		for _, id := range l.members.Of(int64(held.ID)) {
			l.end(held, id, sig)
		}
	}
}

func (l *loop) draining() (all []lease.Lease) {
	l.Ledger.View(func(b *lease.Book) {
		for _, held := range b.Leases() {
			if held.State == lease.Draining {
				all = append(all, held)
			}
		}
	})
	return all
}

// end sends a process a signal once.
func (l *loop) end(of *lease.Lease, id holder.ID, sig syscall.Signal) {
	if l.sent[id] == sig || id.PID == os.Getpid() {
		return
	}
	err := l.Processes.Signal(id, sig)
	if errors.Is(err, holder.ErrGone) {
		return
	}
	l.sent[id] = sig
	if err != nil {
		l.Log.Error("a process cannot be ended with its lease", "lease", of.ID, "cause", of.Cause, "pid", id.PID, "signal", sig.String(), "error", err)
		return
	}
	l.Log.Warn("a process is ended with its lease", "lease", of.ID, "cause", of.Cause, "pid", id.PID, "signal", sig.String())
}

// tellOverdue says once of each lease that it has drained for too long: its holder is gone
// or has given it back, and its processes or their memory are still there.
func (l *loop) tellOverdue(drains []lease.Lease, nowMS int64, deadline time.Duration) {
	late := map[lease.ID]bool{}
	for i := range drains {
		d := &drains[i]
		if nowMS-d.DrainingMS < deadline.Milliseconds() {
			continue
		}
		late[d.ID] = true
		if !l.overdue[d.ID] {
			l.Counters.DrainOverdue()
			l.Log.Error("a lease drains for too long: the driver still shows its memory in use, or a process of it lives", "lease", d.ID,
				"cause", d.Cause, "seconds", (nowMS-d.DrainingMS)/1000, "processes", len(l.members.Of(int64(d.ID))))
		}
	}
	l.overdue = late
}
