package holder

import (
	"time"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// Clock is the time that leases run by. It is taken from the wall once, and then follows
// the time since the boot: it counts a machine's sleep, and does not jump when somebody
// sets the wall's.
type Clock struct {
	gpu.Clock
	wallMS int64
	boot   time.Duration
}

// NewClock starts a clock at the wall's time.
func NewClock(wall gpu.Clock) *Clock {
	return &Clock{Clock: wall, wallMS: wall.Now().UnixMilli(), boot: sinceBoot()}
}

// NowMS is the time in milliseconds since the Unix epoch.
func (c *Clock) NowMS() int64 { return c.wallMS + (sinceBoot() - c.boot).Milliseconds() }
