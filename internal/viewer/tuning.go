package viewer

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// tuning searches for settings, and keeps what was found. Long recordings take minutes:
// whoever asks waits a little, and is told to ask again. A search ends early with the server,
// and when nobody has asked for it for a while, as after the page was closed.
type tuning struct {
	run  func(context.Context) (*tuneJSON, error)
	life context.Context // of the server

	mu     sync.Mutex
	search *tuneSearch // under way, or done; nil: none was asked for
}

// tuneSearch is one search.
type tuneSearch struct {
	done   chan struct{} // closed when out and err are there
	out    *tuneJSON
	err    error
	cancel context.CancelFunc
	asking int         // how many wait for it
	giveUp *time.Timer // runs while nobody does
}

const (
	// tunePatience is how long a question waits for the search; the server ends answers
	// that take 30 s.
	tunePatience = 20 * time.Second

	// tuneForgotten is how long a search goes on that nobody waits for. A page asks again
	// after a second, but may do so no more than once a minute while it is not looked at.
	tuneForgotten = 90 * time.Second
)

func newTuning(life context.Context, run func(context.Context) (*tuneJSON, error)) *tuning {
	return &tuning{run: run, life: life}
}

// answer answers with what was found, or that the search goes on. ended is closed when nobody
// waits for the answer any more.
func (t *tuning) answer(ended <-chan struct{}) (any, error) {
	s := t.join()
	defer t.leave(s)
	select {
	case <-s.done:
		return s.out, s.err
	case <-time.After(tunePatience):
	case <-ended:
	}
	return nil, statusErrorf(409, "the settings are still being tried; ask again")
}

// join begins a search, or waits for the one that there is.
func (t *tuning) join() *tuneSearch {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.search == nil {
		t.search = t.begin()
	}
	t.search.asking++
	if t.search.giveUp != nil {
		t.search.giveUp.Stop()
	}
	return t.search
}

func (t *tuning) begin() *tuneSearch {
	ctx, cancel := context.WithCancel(t.life)
	s := &tuneSearch{done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(s.done)
		defer cancel()
		if s.out, s.err = t.run(ctx); ctx.Err() != nil {
			s.out, s.err = nil, fmt.Errorf("the search for settings was ended: %w", context.Cause(ctx))
		}
	}()
	return s
}

// leave gives the search up after a while, if nobody else joins it until then.
func (t *tuning) leave(s *tuneSearch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.asking--; s.asking == 0 {
		s.giveUp = time.AfterFunc(tuneForgotten, func() { t.forget(s) })
	}
}

func (t *tuning) forget(s *tuneSearch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-s.done: // what was found is kept
	default:
		if s.asking == 0 && t.search == s {
			s.cancel()
			t.search = nil
		}
	}
}
