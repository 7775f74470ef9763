package node

import (
	"context"
	"sync"

	"github.com/ullage-dev/ullage/internal/lease"
)

// decide runs a decision on the book at the agent's time, and wakes whoever waits for the
// leases that it changed. Its events are on disk when it returns; see ledger.Ledger.Do for its
// errors. All decisions of the agent go through here.
func (a *Agent) decide(ctx context.Context, decision func(b *lease.Book, atMS int64) ([]lease.Event, error)) ([]lease.Event, error) {
	events, err := a.Ledger.Do(ctx, func(b *lease.Book) ([]lease.Event, error) {
		return decision(b, a.Clock.NowMS())
	})
	a.changes.tell(events)
	return events, err
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
