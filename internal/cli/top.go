package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/tui"
)

const topLong = `Top shows the GPUs of this machine, what fills their memory, and the processes
that do, with their owners, containers, pods and Slurm jobs. On a terminal it
redraws; ? lists its keys. Elsewhere, and with --once, it prints tables.

Where the agent of this machine answers, it shows besides what PyTorch has
allocated and reserved, the leases and the queue. When the agent goes, it goes
on with the driver alone, and takes the agent up again when that comes back.

With --json it prints one reading; with --interval besides, one a line until it
is interrupted. Such a file can be played again with --probe file:PATH.

Without an agent it asks NVML where the program was built with it, else
nvidia-smi, and on boards whose GPU shares the processor's memory /proc/meminfo.
--probe chooses another, and then the agent is asked only if --socket names it:

  auto, nvml, nvidia-smi, meminfo    this machine
  file:PATH                          readings that were recorded
  fake:h200x2, fake:h100-mig, …      machines that do not exist, to look around`

// Bounds of --interval. A reading takes some 20 ms a GPU of the driver's time.
const (
	defaultTopInterval = time.Second
	minTopInterval     = 100 * time.Millisecond
)

type topFlags struct {
	once, asJSON bool
	interval     time.Duration
	repeat       bool // --interval was given
	probe        string
	probed       bool // --probe was given
	socket       string
}

func newTop(app *App) *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:     "top",
		Short:   "Show the GPUs of this machine, and who uses them",
		Long:    topLong,
		GroupID: groupMachine,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.repeat, f.probed = cmd.Flags().Changed("interval"), cmd.Flags().Changed("probe")
			if f.interval < minTopInterval {
				return usageErrorf("--interval: %v is too short; the shortest is %v", f.interval, minTopInterval)
			}
			return app.top(cmd.Context(), f)
		},
	}
	cmd.Flags().BoolVar(&f.once, "once", false, "print a table and end")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	cmd.Flags().DurationVar(&f.interval, "interval", defaultTopInterval, "time between readings")
	cmd.Flags().StringVar(&f.probe, "probe", "auto", "what to ask for the GPUs")
	cmd.Flags().StringVar(&f.socket, "socket", "", "the agent's socket")
	exclusive(cmd, "once", "json")
	exclusive(cmd, "once", "interval")
	completeFlag(cmd, "probe", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return append(gpu.Specs(), "file:"), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	return cmd
}

// top reads and shows, in the way that the flags and the streams ask for.
func (a *App) top(ctx context.Context, f topFlags) error {
	if err := gpu.CheckSpec(f.probe); err != nil {
		return topError(err)
	}
	source := a.topSource(f)
	defer source.Close()
	if err := source.Ready(ctx); err != nil {
		return topError(err)
	}
	switch {
	case f.asJSON && f.repeat:
		return a.topLines(ctx, source.Read, f.interval)
	case !f.once && !f.asJSON && a.interactive():
		return a.topMonitor(ctx, source, f)
	}
	moment, err := source.Read(ctx)
	if err != nil {
		return err
	}
	if f.asJSON {
		return printJSON(a.Stdout, newTopJSON(moment))
	}
	explainHead(ctx, source.Agent, &moment)
	return tui.Print(a.Stdout, a.OutLook(), moment)
}

// explainHead notes why the first in the queue waits. A table is of one moment: where the
// agent does not say, it goes without.
func explainHead(ctx context.Context, agent tui.Agent, m *tui.Moment) {
	if m.About == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	i := slices.IndexFunc(m.Leases, func(l client.Lease) bool { return l.Position == 1 })
	if i < 0 {
		return
	}
	if x, err := agent.Explain(ctx, m.Leases[i].ID); err == nil && len(x.Reasons) > 0 {
		m.Reading.Notes = append(m.Reading.Notes, fmt.Sprintf("lease %d, the first in the queue, waits: %s", m.Leases[i].ID, x.Reasons[0].Text))
	}
}

// topSource is who is asked: the agent, unless another machine was chosen, and a probe.
func (a *App) topSource(f topFlags) *tui.Source {
	s := &tui.Source{
		Open:  func(ctx context.Context) (gpu.Probe, error) { return gpu.Open(ctx, f.probe, a.machine()) },
		Local: gpu.OfThisMachine(f.probe),
		Named: f.socket != "" || a.env(client.SocketVariable) != "",
		Clock: a.GPUs.Clock,
		Name:  func(r *gpu.Reading) { gpu.Recognize(a.GPUs, r) },
	}
	if f.socket != "" || !f.probed {
		s.Agent = client.New(a.agentSocket(f.socket))
	}
	return s
}

// topJSON is what --json prints: a reading, and what the agent knows besides.
type topJSON struct {
	gpu.Reading
	Agent *topAgentJSON `json:"agent"` // null: none answered, or none was asked
}

// topAgentJSON is the agent's part, in the form of its API.
type topAgentJSON struct {
	Devices []client.Device `json:"devices"`
	Leases  []client.Lease  `json:"leases"`
	Jobs    []client.Job    `json:"jobs"`
}

func newTopJSON(m tui.Moment) topJSON {
	j := topJSON{Reading: m.Reading}
	if m.About != nil {
		j.Agent = &topAgentJSON{m.Devices, m.Leases, m.Jobs}
	}
	return j
}

// machine is what probes read, with files as commands read them: - is standard input.
func (a *App) machine() gpu.Machine {
	m := a.GPUs
	m.Open = func(path string) (io.ReadCloser, error) {
		if path == "-" {
			return io.NopCloser(a.Stdin), nil
		}
		return a.Files.Open(path)
	}
	return m
}

// topError gives an error of opening a probe its kind: that of a probe that does not exist
// is one of usage, that of a file one of input.
func topError(err error) error {
	var spec *gpu.SpecError
	var format *gpu.FormatError
	var path *fs.PathError
	switch {
	case errors.As(err, &spec):
		return &kindError{kindUsage, fmt.Errorf("--probe: %w", err)}
	case errors.Is(err, gpu.ErrNoGPU):
		return err
	case errors.As(err, &format), errors.As(err, &path):
		return inputError(err)
	}
	return err
}

// interactive tells whether a person can look and press keys.
func (a *App) interactive() bool {
	return a.outTTY.IsTerminal && a.Probe(a.stdin).IsTerminal && a.env("TERM") != "dumb"
}

func (a *App) topMonitor(ctx context.Context, source *tui.Source, f topFlags) error {
	m := a.machine()
	o := tui.Options{
		Read: source.Read, Agent: source.Agent, Interval: f.interval, Look: a.OutLook(), UID: m.UID,
		End: holder.Terminate,
	}
	// The streams as they came in: the monitor has to know that they are a terminal.
	return tui.Run(ctx, a.stdin, a.out.w, a.Environ(), o)
}

// topLines prints a reading a line until ctx is cancelled, which is how it is meant to end.
// A reading that fails is tried again; the first of several in a row is warned of.
func (a *App) topLines(ctx context.Context, read func(context.Context) (tui.Moment, error), interval time.Duration) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	failing := false
	for ctx.Err() == nil {
		m, err := read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !failing:
			a.Warn("%v", err)
		case err == nil:
			if err := enc.Encode(newTopJSON(m)); err != nil {
				return err
			}
		}
		failing = err != nil
		over, stop := a.GPUs.Clock.Timer(interval)
		select {
		case <-over:
		case <-ctx.Done():
		}
		stop()
	}
	return nil
}
