package node

import (
	"context"
	"time"

	"github.com/ullage-dev/ullage/internal/ledger"
)

// Pauses between two steps of pruning: while there is more to delete, short enough to keep up with
// what a few users can add; else long.
const (
	prunePause = 500 * time.Millisecond
	pruneRest  = time.Minute
)

// prune deletes what the settings do not keep of the ledger, a little at a time, until ctx has
// ended. What goes wrong is logged once in a while, and tried again: nothing else depends on it.
func (a *Agent) prune(ctx context.Context) error {
	for {
		pause := pruneRest
		keep := a.settings.Load().History
		// A step takes some ten milliseconds, and is not broken off, as no other transaction is.
		more, err := a.Ledger.Prune(context.WithoutCancel(ctx), a.Clock.NowMS(), ledger.Retention{EventsMS: keep.DecisionsMS, LeasesMS: keep.LeasesMS, Most: keep.Most})
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			a.Log.Error("the ledger keeps more than it should", "error", err)
		case more:
			pause = prunePause
		}
		over, stop := a.Clock.Timer(pause)
		select {
		case <-over:
		case <-ctx.Done():
			stop()
			return nil
		}
	}
}
