package node

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ullage-dev/ullage/internal/lease"
)

// turn collects the events of one decision of several steps. A step that is refused is left
// out.
type turn struct {
	book    *lease.Book
	events  []lease.Event
	refused []error
	err     error
}

func (t *turn) add(events []lease.Event, err error) {
	t.events = append(t.events, events...)
	var refused *lease.RefusedError
	switch {
	case errors.As(err, &refused):
		t.refused = append(t.refused, err)
	case err != nil:
		t.err = errors.Join(t.err, err)
	}
}

// settle tells the book what a round has found, in one transaction. Foreign memory comes
// before what gives memory back, and what grows before what shrinks, so that nothing is
// granted on what an older reading knew.
func (l *loop) settle(ctx context.Context, r *round) {
	blind := l.blind(r)
	var refused []error
	_, err := l.decide(ctx, func(b *lease.Book, atMS int64) ([]lease.Event, error) {
		t := &turn{book: b}
		defer func() { refused = t.refused }()
		if r.read {
			l.settlePlaces(t, r, atMS)
		}
		for _, uuid := range blind {
			t.add(b.LoseSight(atMS, uuid))
		}
		for _, o := range r.stop {
			t.add(b.Stop(atMS, o.lease, lease.Over{Device: o.place, UsedBytes: r.use[o.place].leases[o.lease]}))
		}
		for i := range r.leases {
			if held := &r.leases[i]; r.empty[held.ID] && !held.Detached {
				t.release(atMS, held.ID, lease.Exited)
			}
		}
		t.add(b.Tick(atMS))
		for _, id := range r.clear {
			if held, ok := b.Lease(id); ok && held.State == lease.Draining {
				t.add(b.Freed(atMS, id))
			}
		}
		return t.events, t.err
	})
	for _, why := range refused {
		l.Log.Error("what was seen does not fit the ledger", "error", why)
	}
	switch {
	case err != nil && ctx.Err() == nil:
		r.problem, r.trouble = "what was seen cannot be stored: "+err.Error(), ""
	case r.read:
		l.told, l.toldLinks = devicesOf(r.places), linksOf(&r.reading, r.places)
	}
}

// release lets a lease drain that is granted still.
func (t *turn) release(atMS int64, id lease.ID, cause lease.Cause) {
	if held, ok := t.book.Lease(id); ok && held.State == lease.Granted {
		t.add(t.book.Release(atMS, id, lease.Agent, cause))
	}
}

func (l *loop) settlePlaces(t *turn, r *round, atMS int64) {
	devices, links := devicesOf(r.places), linksOf(&r.reading, r.places)
	if !sameDevices(devices, l.told) || !slices.EqualFunc(links, l.toldLinks, slices.Equal) {
		t.add(t.book.SetDevices(atMS, lease.Agent, devices, links))
	}
	for i := range r.places {
		if p := &r.places[i]; p.split { // should it become whole again, it has to be looked at first
			t.add(t.book.LoseSight(atMS, p.UUID))
		}
	}
	all := t.book.Devices()
	slices.SortStableFunc(all, func(a, b lease.DeviceStatus) int {
		return cmp.Compare(r.foreign[b.UUID]-b.ForeignBytes, r.foreign[a.UUID]-a.ForeignBytes)
	})
	for _, d := range all {
		if bytes, ok := r.foreign[d.UUID]; ok {
			t.add(t.book.SetForeign(atMS, d.UUID, bytes))
		}
	}
}

// blind returns the devices that could not be looked at for so long that nothing may be
// granted on them.
func (l *loop) blind(r *round) (uuids []string) {
	patience := max(3*l.settings.Load().Interval, 3*time.Second)
	for _, d := range l.told {
		if r.atMS-l.goodMS[d.UUID] > patience.Milliseconds() {
			uuids = append(uuids, d.UUID)
		}
	}
	return uuids
}
