package node

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/ledger"
	"github.com/ullage-dev/ullage/internal/settings"
)

// TestHistory: what is older than the settings keep goes while the agent works, and who asks for what
// was used is told from when on everything is there.
func TestHistory(t *testing.T) {
	const day = 24 * time.Hour
	w := newWorld(t, func(o *Options) {
		o.Settings.History = settings.History{DecisionsMS: day.Milliseconds(), LeasesMS: 2 * day.Milliseconds(), Most: 1 << 40}
	})
	ann := w.as(annUID)
	if _, err := w.decide(t.Context(), func(b *lease.Book, atMS int64) (all []lease.Event, err error) {
		for i := range int64(150) { // four decisions each: more than a step
			id, asked, err := b.Submit(atMS+i*1000, lease.Request{User: "ann", MemoryBytes: lease.LeastBytes})
			released, releaseErr := b.Release(atMS+i*1000, id, "ann", lease.Released)
			freed, freeErr := b.Freed(atMS+i*1000+500, id)
			all = slices.Concat(all, asked, released, freed)
			if err = errors.Join(err, releaseErr, freeErr); err != nil {
				return all, err
			}
		}
		return all, nil
	}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(3 * day)
	l := ann.lease(client.Request{MemoryBytes: lease.LeastBytes})
	var usage client.Usage
	if ann.ask("GET", "/v1/usage", nil, 200, &usage); usage.Complete != nil || len(usage.Rows) != 1 || usage.Rows[0].Leases != 150 {
		t.Errorf("before: %+v", usage)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.prune(ctx) }()
	until(t, "what is old has gone", func() bool {
		w.clock.Advance(prunePause)
		ann.ask("GET", "/v1/usage", nil, 200, &usage)
		return usage.Complete != nil
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var events client.Events
	if w.as(0).ask("GET", "/v1/events", nil, 200, &events); events.Events[0].Seq != 501 {
		t.Errorf("the first event is %d", events.Events[0].Seq)
	}
	if got := ann.see(l.ID); got.State != "granted" {
		t.Errorf("the lease of now is %s", got.State)
	}
}

// TestNotStored: an agent whose ledger cannot be written says that it is not ready, for a while or
// until something could be stored, and tries on.
func TestNotStored(t *testing.T) {
	w := newWorld(t, nil)
	ann := w.as(annUID)
	fails := func() {
		t.Helper()
		_, err := w.decide(t.Context(), func(*lease.Book, int64) ([]lease.Event, error) { return nil, errors.New("the disk is full") })
		if !errors.Is(err, ledger.ErrNotStored) {
			t.Fatal(err)
		}
		ann.refused("GET", "/readyz", nil, 503, "unready")
	}
	fails()
	ann.lease(client.Request{MemoryBytes: lease.LeastBytes})
	ann.ask("GET", "/readyz", nil, 200, nil)
	fails()
	w.clock.Advance(unstoredTime)
	ann.ask("GET", "/readyz", nil, 200, nil)
}
