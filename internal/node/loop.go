package node

import (
	"context"
)

// watch reads the probe at every interval until ctx has ended.
func (a *Agent) watch(ctx context.Context) error {
	for {
		a.look(ctx)
		over, stop := a.Clock.Timer(a.settings.Load().Interval)
		select {
		case <-over:
		case <-ctx.Done():
			stop()
			return nil
		}
	}
}

// look reads the probe once and publishes what it shows.
func (a *Agent) look(ctx context.Context) {
	next := *a.now()
	reading, err := a.Probe.Read(ctx)
	if err != nil {
		next.problem = err.Error()
	} else {
		next.reading, next.problem = reading, ""
		next.readings++
	}
	a.publish(&next)
}
