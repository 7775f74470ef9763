package node

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/ledger"
	"github.com/ullage-dev/ullage/internal/metrics"
	"github.com/ullage-dev/ullage/internal/settings"
)

// Options is what an agent is made of.
type Options struct {
	Version   string
	Boot      string // names this boot of the machine: holder.Boot
	UID       int    // that the agent runs as: an admin
	Settings  settings.Settings
	Ledger    *ledger.Ledger
	Probe     gpu.Probe
	Clock     Clock
	Processes holder.Processes
	PeerOf    func(*net.UnixConn) (Peer, error)
	Names     Names
	Counters  *metrics.Counters
	Metrics   func(metrics.Source) http.Handler // answers a scrape; needed where the settings have an address for it
	Log       *slog.Logger
	Started   func() // called when requests are answered; may be nil
}

// Agent is the agent of a machine. Its methods may be called from several goroutines.
type Agent struct {
	Options
	settings atomic.Pointer[settings.Settings]
	view     atomic.Pointer[view]
	started  time.Time
	audit    *ledger.Reader // looks at the ledger beside the one that writes it
	changes  changes
	times    connTimes
	reports  reports
	unstored atomic.Pointer[time.Time] // when a decision could not be stored last; nil: all could
}

// New makes an agent. It does nothing before Run.
func New(o Options) (*Agent, error) {
	switch {
	case o.Ledger == nil, o.Probe == nil, o.Clock == nil, o.Processes == nil, o.PeerOf == nil, o.Names == nil, o.Counters == nil, o.Log == nil:
		return nil, errors.New("an agent needs a ledger, a probe, a clock, processes, peers, names, counters and a log")
	case o.Settings.Metrics != "" && o.Metrics == nil:
		return nil, errors.New("an agent that listens for scrapes needs somebody who answers them")
	}
	a := &Agent{Options: o, started: o.Clock.Now(), times: usualTimes()}
	a.settings.Store(&o.Settings)
	a.view.Store(&view{reading: gpu.Reading{Devices: []gpu.Device{}, Processes: []gpu.Process{}, Notes: []string{}}})
	return a, nil
}

// Run works until ctx has ended, or something that the agent cannot do without has failed.
// Jobs go on when it ends: their leases are in the ledger, and the next agent takes them up.
func (a *Agent) Run(ctx context.Context) (err error) {
	front, err := a.listen()
	if err != nil {
		return err
	}
	defer front.close()
	if a.audit, err = a.Ledger.Reader(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.audit.Close()) }()
	if err := a.begin(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	defer a.tellRefusals()
	group.Go(func() error { return a.watch(ctx) })
	group.Go(func() error { return a.prune(ctx) })
	group.Go(func() error { return front.serve(ctx) })
	group.Go(func() error { return front.guard(ctx) })
	if a.Started != nil {
		a.Started()
	}
	a.Log.Info("the agent is at work", "socket", a.Settings.Socket, "metrics", a.Settings.Metrics, "version", a.Version)
	return group.Wait()
}

// begin tells the ledger that the agent is at work, and what its policy is, and takes up the
// leases that an agent before it left.
func (a *Agent) begin(ctx context.Context) error {
	s := a.settings.Load()
	_, err := a.decide(ctx, func(b *lease.Book, atMS int64) ([]lease.Event, error) {
		return b.Start(atMS, a.Boot, s.RestartGrace.Milliseconds())
	})
	if err == nil {
		err = a.setPolicy(ctx, s.Policy)
	}
	if err != nil {
		return err
	}
	var live []lease.Lease
	a.Ledger.View(func(b *lease.Book) { live = b.Leases() })
	a.adopt(ctx, live)
	return nil
}

// Reload takes new settings, and returns the keys of those that wait for the next start.
func (a *Agent) Reload(ctx context.Context, next settings.Settings) (later []string, err error) {
	next, later = a.settings.Load().Reload(next)
	if err := a.setPolicy(ctx, next.Policy); err != nil {
		return nil, err
	}
	a.settings.Store(&next)
	return later, nil
}

// tellRefusals stores the counts of refusals that are in memory alone, when the agent ends.
func (a *Agent) tellRefusals() {
	ctx, cancel := context.WithTimeout(context.Background(), decisionTime)
	defer cancel()
	if _, err := a.decide(ctx, func(b *lease.Book, atMS int64) ([]lease.Event, error) { return b.TellRefusals(atMS) }); err != nil {
		a.Log.Error("the last refusals could not be counted", "error", err)
	}
}

func (a *Agent) setPolicy(ctx context.Context, p lease.Policy) error {
	_, err := a.decide(ctx, func(b *lease.Book, atMS int64) ([]lease.Event, error) {
		return b.SetPolicy(atMS, lease.Agent, p)
	})
	return err
}

// unstoredTime is for how long a decision that could not be stored counts. Where nobody asks for
// anything there may be none that could be, and the disk has room again.
const unstoredTime = time.Minute

// Ready returns nil when the agent knows its machine and its ledger can be written, or why not.
func (a *Agent) Ready() error {
	if err := a.watching(); err != nil {
		return err
	}
	if at := a.unstored.Load(); at != nil && a.Clock.Now().Sub(*at) < unstoredTime {
		return errors.New("the ledger could not store a decision just now: the agent's log says why")
	}
	return nil
}

// watching returns nil when the agent knows its machine, or why it does not.
func (a *Agent) watching() error {
	switch v := a.now(); {
	case v.problem != "":
		return errors.New(v.problem)
	case v.readings == 0:
		return errors.New("the GPUs have not been read yet")
	}
	return nil
}

// Status is of metrics.Source.
func (a *Agent) Status() metrics.Status {
	s, v := a.settings.Load(), a.now()
	status := metrics.Status{
		Ready: a.Ready() == nil, Read: v.read, Interval: s.Interval, DrainDeadline: s.DrainDeadline, PerProcess: s.PerProcessMetrics,
	}
	for _, q := range s.Policy.Queues {
		status.Queues = append(status.Queues, q.Name)
	}
	return status
}

// State is of metrics.Source: the state for all users.
func (a *Agent) State() client.State { return a.state(&caller{admin: true}) }
