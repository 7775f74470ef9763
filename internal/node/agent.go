package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/ledger"
)

// Options is what an agent is made of.
type Options struct {
	Version   string
	Boot      string // the kernel's boot id
	UID       int    // that the agent runs as: an admin
	ProbeSpec string // as gpu.Open took it, for people
	Ledger    *ledger.Ledger
	Probe     gpu.Probe
	Clock     Clock
	Processes Processes
	Names     Names
	Metrics   func(*Agent) http.Handler // of the address for metrics; nil: none
	Log       *slog.Logger
	Config    Config
}

// Config is what the configuration says. All of it but what is marked may change while the
// agent runs; see Agent.Reload.
type Config struct {
	Socket        string // fixed at the start: the path of the API's socket
	Metrics       string // fixed at the start: host:port of the metrics; empty: none
	Interval      time.Duration
	AdminGroup    string
	ForeignWindow time.Duration // peaks of foreign memory are held for so long
	DrainDeadline time.Duration // a lease that drains for longer is reported
	RestartGrace  time.Duration // what each lease has left at least after a restart of the agent
	Grace         time.Duration // from SIGTERM to SIGKILL
	Over          string        // warn, stop or tolerate: what happens to a lease that uses more than it has
	Expired       string        // stop or warn
	ContextBytes  int64         // what a process's context is expected to take
	Policy        lease.Policy
	Reserves      []Reserve
	Projects      []Project
}

// Reserve keeps a minimum for a queue on the devices that it names.
type Reserve struct {
	Queue  string
	Bytes  int64
	Device string // a UUID; empty: all
	Model  string // part of the model's name, in either case; empty: all
}

// Project is who may ask in its name.
type Project struct {
	Name   string
	Users  []string
	Groups []string
}

// Agent is the agent of a machine. Its methods may be called from several goroutines.
type Agent struct {
	Options
	log      *slog.Logger
	config   atomic.Pointer[Config]
	view     atomic.Pointer[view]
	started  time.Time
	startErr atomic.Pointer[string] // why the ledger is not at work yet
	changes  changes
}

// New makes an agent. It does nothing before Run.
func New(o Options) (*Agent, error) {
	if o.Ledger == nil || o.Probe == nil || o.Clock == nil || o.Processes == nil || o.Names == nil || o.Log == nil {
		return nil, errors.New("an agent needs a ledger, a probe, a clock, processes, names and a log")
	}
	a := &Agent{Options: o, log: o.Log, started: o.Clock.Now()}
	a.config.Store(&o.Config)
	a.view.Store(&view{})
	return a, nil
}

// Run works until ctx has ended, or something that the agent cannot do without has failed.
func (a *Agent) Run(ctx context.Context) error {
	if err := a.begin(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.watch(ctx) })
	return group.Wait()
}

// begin tells the ledger that the agent is at work, and what its policy is.
func (a *Agent) begin(ctx context.Context) error {
	c := a.config.Load()
	_, err := a.decide(ctx, func(b *lease.Book, atMS int64) ([]lease.Event, error) {
		return b.Start(atMS, a.Boot, c.RestartGrace.Milliseconds())
	})
	if err == nil {
		_, err = a.decide(ctx, func(b *lease.Book, atMS int64) ([]lease.Event, error) {
			return b.SetPolicy(atMS, lease.Agent, c.Policy)
		})
	}
	return err
}

// Reload takes a new configuration. It says what of it waits for the next start.
func (a *Agent) Reload(ctx context.Context, c Config) (fixed []string, err error) {
	if _, err := a.decide(ctx, func(b *lease.Book, atMS int64) ([]lease.Event, error) {
		return b.SetPolicy(atMS, lease.Agent, c.Policy)
	}); err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	old := a.config.Load()
	if c.Socket != old.Socket {
		fixed = append(fixed, "socket")
	}
	if c.Metrics != old.Metrics {
		fixed = append(fixed, "metrics")
	}
	c.Socket, c.Metrics = old.Socket, old.Metrics
	a.config.Store(&c)
	return fixed, nil
}
