package gpu

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ullage-dev/ullage/internal/units"
)

// StuckError tells of a call that did not come back in time. NVML's do so for good when the
// kernel's part of the driver is wedged.
type StuckError struct {
	What string        // whose call
	For  time.Duration // how long it has taken by now
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("%s has not answered for %s", e.What, units.FormatDuration(e.For))
}

// Hint says what to look at.
func (e *StuckError) Hint() string {
	return "look for Xid errors in 'dmesg'; a driver that stays silent needs a reset of the GPU, or a reboot"
}

// lane lets one call at a time through, and waits no longer for it than limit. A call that
// is stuck stays in the lane, and is not joined by others that would get stuck too.
type lane[T any] struct {
	what  string
	limit time.Duration
	clock Clock

	mu     sync.Mutex
	flying *flight[T]
}

// flight is a call under way. value and err are set before done is closed.
type flight[T any] struct {
	began   time.Time
	overdue bool // somebody has waited for it to the end of the limit
	done    chan struct{}
	value   T
	err     error
}

// do returns what call returns, or the error of a stuck call. Callers that come while a call
// is under way share its result, for it is as fresh as one of their own would be; but once
// it is overdue they learn at once that it is stuck.
func (l *lane[T]) do(ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	var none T
	f, cancel, overdue := l.board(ctx, call)
	if overdue {
		return none, l.stuck(f)
	}
	over, stop := l.clock.Timer(l.limit)
	defer stop()
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		return none, ctx.Err() // others may wait for the same call: it goes on
	case <-over:
		cancel()
		l.mu.Lock()
		f.overdue = true
		l.mu.Unlock()
		return none, l.stuck(f)
	}
}

// board finds the call under way, or starts one, which cancel asks to end. That is for its
// deadline alone: it does not end with the caller that happened to start it.
func (l *lane[T]) board(ctx context.Context, call func(context.Context) (T, error)) (f *flight[T], cancel func(), overdue bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flying != nil {
		return l.flying, func() {}, l.flying.overdue
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f = &flight[T]{began: l.clock.Now(), done: make(chan struct{})}
	l.flying = f
	go func() {
		defer cancel()
		f.value, f.err = call(inner)
		l.mu.Lock()
		l.flying = nil
		l.mu.Unlock()
		close(f.done)
	}()
	return f, cancel, false
}

func (l *lane[T]) stuck(f *flight[T]) error {
	return &StuckError{What: l.what, For: l.clock.Now().Sub(f.began)}
}

// punctual is a probe with a deadline.
type punctual struct {
	inner Probe
	lane  lane[Reading]
}

// withDeadline makes every Read of a probe come back within limit. what names it in errors.
func withDeadline(inner Probe, what string, limit time.Duration, clock Clock) Probe {
	return &punctual{inner: inner, lane: lane[Reading]{what: what, limit: limit, clock: clock}}
}

func (p *punctual) Read(ctx context.Context) (Reading, error) { return p.lane.do(ctx, p.inner.Read) }

// Close closes the probe unless a call is still in it: whoever waits for a stuck driver to
// let go waits for ever.
func (p *punctual) Close() error {
	p.lane.mu.Lock()
	busy := p.lane.flying != nil
	p.lane.mu.Unlock()
	if busy {
		return nil
	}
	return p.inner.Close()
}
