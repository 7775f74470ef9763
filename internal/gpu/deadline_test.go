package gpu

import (
	"context"
	"errors"
	"testing"
	"time"
)

// hanging is a probe whose calls come back when the test says so, whatever their context.
type hanging struct {
	begun   chan context.Context
	release chan Reading
	closed  bool
}

func newHanging() *hanging {
	return &hanging{begun: make(chan context.Context, 10), release: make(chan Reading)}
}

func (h *hanging) Read(ctx context.Context) (Reading, error) {
	h.begun <- ctx
	return <-h.release, nil
}

func (h *hanging) Close() error { h.closed = true; return nil }

type answer struct {
	reading Reading
	err     error
}

func readLater(ctx context.Context, p Probe) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		r, err := p.Read(ctx)
		got <- answer{r, err}
	}()
	return got
}

// TestDeadline: a call that hangs is left behind at the deadline, told to end, never joined
// by a second one, and once it comes back its late answer is nobody's.
func TestDeadline(t *testing.T) {
	clock, inner := newHandClock(), newHanging()
	p := withDeadline(inner, "NVML", 5*time.Second, clock)
	got := readLater(t.Context(), p)
	ctx := <-inner.begun
	<-clock.set
	clock.advance(5 * time.Second)
	wantStuck(t, (<-got).err, 5*time.Second)
	<-ctx.Done() // it was asked to end, and does not

	clock.advance(time.Minute)
	_, err := p.Read(t.Context())
	wantStuck(t, err, 65*time.Second)
	if len(inner.begun) != 0 {
		t.Error("a second call went into a driver that hangs")
	}
	if err := p.Close(); err != nil || inner.closed {
		t.Errorf("closing waits for a driver that hangs: %v", err)
	}

	inner.release <- Reading{Source: "late"}
	waitGrounded(p.(*punctual))
	got = readLater(t.Context(), p)
	<-inner.begun
	inner.release <- Reading{Source: "fresh"}
	if a := <-got; a.err != nil || a.reading.Source != "fresh" {
		t.Errorf("after the driver came back: %q, %v", a.reading.Source, a.err)
	}
	if err := p.Close(); err != nil || !inner.closed {
		t.Errorf("close: %v", err)
	}
	if n := clock.running(); n != 0 {
		t.Errorf("%d timers were left running", n)
	}
}

// waitGrounded waits until the call under way has left the lane.
func waitGrounded(p *punctual) {
	p.lane.mu.Lock()
	f := p.lane.flying
	p.lane.mu.Unlock()
	if f != nil {
		<-f.done
	}
}

func wantStuck(t *testing.T, err error, took time.Duration) {
	t.Helper()
	var stuck *StuckError
	if !errors.As(err, &stuck) || stuck.What != "NVML" || stuck.For != took {
		t.Errorf("got %v, want a call of NVML stuck for %v", err, took)
	}
}

// TestDeadlineShared: callers at the same time share one call.
func TestDeadlineShared(t *testing.T) {
	clock, inner := newHandClock(), newHanging()
	p := withDeadline(inner, "NVML", time.Second, clock)
	first, second := readLater(t.Context(), p), readLater(t.Context(), p)
	<-inner.begun
	<-clock.set
	<-clock.set // both wait
	inner.release <- Reading{Source: "one"}
	if a, b := <-first, <-second; a.reading.Source != "one" || b.reading.Source != "one" || len(inner.begun) != 0 {
		t.Errorf("got %v and %v, with %d more calls", a, b, len(inner.begun))
	}
}

// TestDeadlineCancel: who is called off waits no longer, and whoever shares the call gets its
// result all the same.
func TestDeadlineCancel(t *testing.T) {
	clock, inner := newHandClock(), newHanging()
	p := withDeadline(inner, "NVML", time.Second, clock)
	ctx, cancel := context.WithCancel(t.Context())
	starter := readLater(ctx, p)
	<-inner.begun
	<-clock.set
	joiner := readLater(t.Context(), p)
	<-clock.set
	cancel()
	if a := <-starter; !errors.Is(a.err, context.Canceled) {
		t.Errorf("got %v", a.err)
	}
	inner.release <- Reading{Source: "shared"}
	if a := <-joiner; a.err != nil || a.reading.Source != "shared" || len(inner.begun) != 0 {
		t.Errorf("the other got %q, %v", a.reading.Source, a.err)
	}
}

// TestFakeStuck: the fake that hangs does so, behind the same deadline.
func TestFakeStuck(t *testing.T) {
	clock := newHandClock()
	p, err := openFake("stuck", NoMachine(clock))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-clock.set
	got := readLater(t.Context(), p)
	<-clock.set
	clock.advance(nvmlDeadline)
	var stuck *StuckError
	if a := <-got; !errors.As(a.err, &stuck) {
		t.Errorf("got %v", a.err)
	}
}
