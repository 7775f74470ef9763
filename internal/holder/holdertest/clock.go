package holdertest

import (
	"sync"
	"time"
)

// Clock is set by hand. It is a gpu.Clock, and tells milliseconds.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[chan time.Time]time.Time
}

// NewClock returns a clock at a moment.
func NewClock(at time.Time) *Clock { return &Clock{now: at, timers: map[chan time.Time]time.Time{}} }

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// NowMS is the time in milliseconds since the Unix epoch.
func (c *Clock) NowMS() int64 { return c.Now().UnixMilli() }

// Timer sends once, when the time has been set d further.
func (c *Clock) Timer(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	over := make(chan time.Time, 1)
	if d <= 0 {
		over <- c.now
		return over, func() {}
	}
	c.timers[over] = c.now.Add(d)
	return over, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, over)
	}
}

// Advance sets the time further.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for over, at := range c.timers {
		if !at.After(c.now) {
			over <- c.now
			delete(c.timers, over)
		}
	}
}
