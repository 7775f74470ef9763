package node

import (
	"context"
	"errors"
	"slices"

	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
)

// holderOf names the process that a request is bound to; the zero ID where it is bound to none.
func holderOf(r *lease.Request) holder.ID { return holder.ID{PID: r.HolderPID, Start: r.HolderStart} }

// follow watches the holders of new requests.
func (a *Agent) follow(ctx context.Context, events []lease.Event) {
	for i := range events {
		if body, ok := events[i].Body.(*lease.Submitted); ok {
			a.watchHolder(ctx, &body.Request)
		}
	}
}

// adopt watches the holders of leases that an agent before this one left.
func (a *Agent) adopt(ctx context.Context, live []lease.Lease) {
	for i := range live {
		a.watchHolder(ctx, &live[i].Request)
	}
}

// watchHolder has the loop hear of the end of a request's holder at once. Where that cannot be,
// the loop's next look at all processes finds it.
func (a *Agent) watchHolder(ctx context.Context, r *lease.Request) {
	id := holderOf(r)
	if id == (holder.ID{}) {
		return
	}
	err := a.Processes.Watch(id)
	switch {
	case errors.Is(err, holder.ErrGone):
		a.withdraw(ctx, []holder.ID{id})
	case err != nil:
		a.Log.Warn("a holder cannot be watched", "pid", id.PID, "error", err)
	}
}

// withdraw takes back the requests of processes that have ended. Nobody waits for them any
// more. What they hold is another matter: see the loop.
func (a *Agent) withdraw(ctx context.Context, dead []holder.ID) {
	_, err := a.decide(ctx, func(b *lease.Book, atMS int64) (events []lease.Event, err error) {
		for _, l := range b.Leases() {
			if l.State != lease.Queued || l.Detached || !slices.Contains(dead, holderOf(&l.Request)) {
				continue
			}
			more, err := b.Release(atMS, l.ID, lease.Agent, lease.Exited)
			events = append(events, more...)
			if err != nil {
				return events, err
			}
		}
		return events, nil
	})
	if err != nil && ctx.Err() == nil {
		a.Log.Error("requests of processes that have ended could not be taken back", "error", err)
	}
}
