package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/ledger"
	"github.com/ullage-dev/ullage/internal/metrics"
	"github.com/ullage-dev/ullage/internal/node"
	"github.com/ullage-dev/ullage/internal/settings"
)

// agentRun is an agent with what it is made of. What was opened is closed in the other order.
type agentRun struct {
	app       *App
	settings  settings.Settings
	load      func() (settings.Settings, error)
	level     slog.LevelVar
	log       *slog.Logger
	ledger    *ledger.Ledger
	probe     gpu.Probe
	processes *holder.Machine
	agent     *node.Agent
	closers   []func() error
}

// close tells of what could not be closed. The ledger needs no closing to be whole.
func (r *agentRun) close() {
	for i := len(r.closers) - 1; i >= 0; i-- {
		if err := r.closers[i](); err != nil {
			r.log.Error("closing", "error", err.Error())
		}
	}
}

func (r *agentRun) openLog(context.Context) error {
	r.level.Set(r.settings.LogLevel)
	r.log = slog.New(slog.NewJSONHandler(r.app.Stderr, &slog.HandlerOptions{Level: &r.level}))
	return nil
}

// openState opens the ledger. Its folder is for the agent alone: who can write to it can give
// himself leases.
func (r *agentRun) openState(ctx context.Context) error {
	if err := os.MkdirAll(r.settings.State, 0o700); err != nil {
		return withHint(err, "--state names another folder")
	}
	info, err := os.Stat(r.settings.State)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return withHint(fmt.Errorf("%s: others may write to the agent's folder, and could give themselves leases", r.settings.State),
			"chmod go-w %s, or name another with --state", shellWord(r.settings.State))
	}
	l, err := ledger.Open(ctx, filepath.Join(r.settings.State, "ledger.db"))
	if err != nil {
		return err
	}
	r.ledger = l
	r.closers = append(r.closers, l.Close)
	return nil
}

func (r *agentRun) openProbe(ctx context.Context) (err error) {
	if r.probe, err = gpu.Open(ctx, r.settings.Probe, r.app.machine()); err != nil {
		return topError(err)
	}
	r.closers = append(r.closers, r.probe.Close)
	return nil
}

func (r *agentRun) openProcesses(context.Context) (err error) {
	if r.processes, err = holder.Open(); err != nil {
		return err
	}
	r.closers = append(r.closers, r.processes.Close)
	return nil
}

// build puts the agent together.
func (r *agentRun) build(context.Context) error {
	boot, err := holder.Boot()
	if err != nil {
		return err
	}
	self, err := holder.Find(os.Getpid())
	if err != nil {
		return fmt.Errorf("this process cannot be found in /proc: %w", err)
	}
	counters := metrics.NewCounters(r.app.Now, self.Start)
	r.agent, err = node.New(node.Options{
		Version:   r.app.versionInfo().Version,
		Boot:      boot,
		UID:       r.app.GPUs.UID,
		Settings:  r.settings,
		Ledger:    r.ledger,
		Probe:     r.probe,
		Clock:     holder.NewClock(r.app.GPUs.Clock),
		Processes: r.processes,
		PeerOf:    node.PeerOf,
		Names:     node.SystemNames(r.app.GPUs.Clock),
		Counters:  counters,
		Metrics: func(source metrics.Source) http.Handler {
			return metrics.New(source, counters, metrics.Options{Version: r.app.versionInfo().Version, Now: r.app.Now}).Handler()
		},
		Log:     r.log,
		Started: func() { r.tellManager("READY=1") },
	})
	return err
}

// run runs the agent until a signal ends it, which is how it is meant to end.
func (r *agentRun) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 4)
	defer r.app.Signals(signals, syscall.SIGHUP, syscall.SIGTERM)()
	ended := make(chan error, 1)
	go func() { ended <- r.agent.Run(ctx) }()
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGHUP {
				r.reload(ctx)
				continue
			}
			r.tellManager("STOPPING=1")
			cancel()
		case err := <-ended:
			if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
				r.log.Info("the agent has ended; leases stay in the ledger")
				return nil
			}
			return r.endError(err)
		}
	}
}

// endError adds to why the agent ended what may be done about it.
func (r *agentRun) endError(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) && r.settings.Metrics != "" {
		return withHint(err, "another program has the port of the metrics: --metrics names another address")
	}
	return err
}

// reload reads the settings again. Where they cannot be, those of now stay.
func (r *agentRun) reload(ctx context.Context) {
	r.tellManager("RELOADING=1\nMONOTONIC_USEC=" + monotonicUS())
	defer r.tellManager("READY=1")
	next, err := r.load()
	var faults *settings.FaultsError
	switch {
	case errors.As(err, &faults):
		for _, f := range faults.Faults {
			r.log.Error("the settings are not reloaded", "place", f.Place, "fault", f.Text)
		}
		return
	case err != nil:
		r.log.Error("the settings are not reloaded", "error", err.Error())
		return
	}
	later, err := r.agent.Reload(ctx, next)
	if err != nil {
		r.log.Error("the settings are not reloaded", "error", err.Error())
		return
	}
	r.level.Set(next.LogLevel)
	r.log.Info("the settings are reloaded", "after_restart", append([]string{}, later...))
}
