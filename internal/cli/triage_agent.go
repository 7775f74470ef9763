package cli

import (
	"context"
	"fmt"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/triage"
	"github.com/ullage-dev/ullage/internal/units"
)

// lookAtAgent takes what this machine's agent knows of its jobs. Where none answers, there is
// nothing to take: doctor says so.
func (a *App) lookAtAgent(ctx context.Context, f *doctorFlags) []triage.Sight {
	if !a.askAgent(ctx, f).There {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, agentDeadline)
	defer cancel()
	c := client.New(a.agentSocket(f.socket))
	defer c.Close()
	state, err := c.State(ctx)
	if err != nil {
		return nil
	}
	var sights []triage.Sight
	for i := range state.Jobs {
		sights = append(sights, sightsOfJob(&state.Jobs[i])...)
	}
	return sights
}

// sightsOfJob are the signs of one process that something is wrong with its memory.
func sightsOfJob(j *client.Job) (sights []triage.Sight) {
	source := fmt.Sprintf("process %d of %s", j.PID, j.User)
	add := func(rule, format string, args ...any) {
		s := triage.Sight{Rule: rule, Severity: rules.Warning, Confidence: rules.Medium, Source: source, Text: fmt.Sprintf(format, args...), Here: true}
		if r, err := rules.Get(rule); err == nil {
			s.Causes = r.Causes
		}
		sights = append(sights, s)
	}
	if j.Orphan {
		add("third/zombie-process", "its lease is over, or nobody it belongs to lives")
	}
	for i := range j.Devices {
		d := &j.Devices[i]
		if d.Stray {
			add("ranks/context-on-gpu0", "a context and nothing else on %s, of a rank whose device is another", d.Device)
		}
		if d.Slope != nil && *d.Slope > 0 {
			add("leak/growing-site", "allocated memory grows by %s a step", units.FormatBytes(int64(*d.Slope)))
		}
		if d.Allocator != nil && d.Allocator.AllocRetries > 0 {
			add("frag/segment-churn", "its cache was given back %s to make room", units.FormatPlural(int(d.Allocator.AllocRetries), "time", "times"))
		}
	}
	return sights
}
