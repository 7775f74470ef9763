package node

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/ledger"
)

// decide runs a decision on the book at the agent's time. Its events are on disk when it
// returns; see ledger.Ledger.Do for its errors, and note that a decision returns no other
// error than a refusal, or those that share its transaction fail with it. All decisions of the
// agent go through here: whoever waits for a lease is woken, holders are watched, and what
// happened is counted and logged.
func (a *Agent) decide(ctx context.Context, decision func(b *lease.Book, atMS int64) ([]lease.Event, error)) ([]lease.Event, error) {
	began := a.Clock.Now()
	var placed map[lease.ID]lease.Lease
	events, err := a.Ledger.Do(ctx, func(b *lease.Book) ([]lease.Event, error) {
		events, err := decision(b, a.Clock.NowMS())
		placed = placedBy(b, events)
		return events, err
	})
	if errors.Is(err, ledger.ErrNotStored) {
		a.unstored.Store(&began)
	}
	if len(events) == 0 {
		return events, err
	}
	a.unstored.Store(nil)
	a.Counters.Committed(a.Clock.Now().Sub(began))
	a.Counters.Decided(func(id lease.ID) (lease.Lease, bool) { l, ok := placed[id]; return l, ok }, events)
	a.log(ctx, events)
	a.changes.tell(events)
	a.follow(ctx, events)
	return events, err
}

// placedBy returns the leases that events granted. It is asked within the decision: to look at
// the book afterwards is to wait for the next transaction.
func placedBy(b *lease.Book, events []lease.Event) map[lease.ID]lease.Lease {
	placed := map[lease.ID]lease.Lease{}
	for i := range events {
		if body, ok := events[i].Body.(*lease.Placed); ok {
			placed[body.ID], _ = b.Lease(body.ID)
		}
	}
	return placed
}

// log writes a line for each event that is about a lease. The readings of a second have no
// line: the ledger keeps them.
func (a *Agent) log(ctx context.Context, events []lease.Event) {
	for i := range events {
		e := &events[i]
		attrs := []slog.Attr{slog.Int64("seq", e.Seq), slog.String("actor", e.Actor)}
		if id := e.Lease(); id != 0 {
			attrs = append(attrs, slog.Int64("lease", int64(id)))
		}
		level := slog.LevelInfo
		switch body := e.Body.(type) {
		case *lease.ForeignSeen, *lease.DevicesSet:
			level = slog.LevelDebug
		case *lease.Submitted:
			attrs = append(attrs, slog.Int64("memory_bytes", body.Request.MemoryBytes), slog.Int("devices", body.Request.Devices), slog.Int("holder_pid", body.Request.HolderPID))
		case *lease.Placed:
			attrs = append(attrs, slog.Int64("epoch", body.Epoch), slog.Any("shares", body.Shares))
		case *lease.Refused:
			attrs = append(attrs, slog.String("code", string(body.Code)), slog.String("why", body.Why))
		case *lease.RefusedMore:
			attrs = append(attrs, slog.Any("counts", body.Counts))
		case *lease.DrainBegun:
			attrs = append(attrs, slog.String("cause", string(body.Cause)))
		case *lease.Closed:
			attrs = append(attrs, slog.String("cause", string(body.Cause)))
		case *lease.DeadlineSet:
			attrs = append(attrs, slog.Int64("expires_ms", body.ExpiresMS), slog.String("cause", string(body.Cause)))
		case *lease.Cordoned:
			attrs = append(attrs, slog.String("device", body.Device), slog.Bool("on", body.On))
		}
		a.Log.LogAttrs(ctx, level, e.Kind(), attrs...)
	}
}

// changes wakes those who wait for a lease to change. The zero value is ready.
type changes struct {
	mu      sync.Mutex
	waiting map[lease.ID]map[chan struct{}]struct{}
}

// of returns a channel that is sent to once or more after each change of a lease from now
// on. stop gives it back.
func (c *changes) of(id lease.ID) (changed <-chan struct{}, stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = map[lease.ID]map[chan struct{}]struct{}{}
	}
	if c.waiting[id] == nil {
		c.waiting[id] = map[chan struct{}]struct{}{}
	}
	ch := make(chan struct{}, 1)
	c.waiting[id][ch] = struct{}{}
	return ch, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting[id], ch)
		if len(c.waiting[id]) == 0 {
			delete(c.waiting, id)
		}
	}
}

// tell wakes those who wait for the leases that events are about.
func (c *changes) tell(events []lease.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range events {
		for ch := range c.waiting[events[i].Lease()] {
			select {
			case ch <- struct{}{}:
			default: // it has not looked since the last change
			}
		}
	}
}
