package gpu

import (
	"sync"
	"time"
)

// handClock is a clock that tests move by hand.
type handClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[int]handTimer
	serial int
	set    chan struct{} // gets one for each timer that is set
	unset  chan struct{} // and for each that is stopped before it is over
}

type handTimer struct {
	due  time.Time
	over chan time.Time
}

func newHandClock() *handClock {
	return &handClock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), timers: map[int]handTimer{}, set: make(chan struct{}, 1000), unset: make(chan struct{}, 1000)}
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serial++
	id, over := c.serial, make(chan time.Time, 1)
	c.timers[id] = handTimer{c.now.Add(d), over}
	c.set <- struct{}{}
	return over, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, ok := c.timers[id]; ok {
			delete(c.timers, id)
			c.unset <- struct{}{}
		}
	}
}

func (c *handClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for id, t := range c.timers {
		if !t.due.After(c.now) {
			t.over <- c.now
			delete(c.timers, id)
		}
	}
}

func (c *handClock) running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}
