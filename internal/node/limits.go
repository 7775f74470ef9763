package node

import (
	"sync"
	"time"
)

// What one user may ask for at once. A connection costs the agent two goroutines and 8 KiB of
// buffers, some 25 KiB in all; a change that is made is some rows of the ledger, for as long as the
// settings keep them.
const (
	connsPerUser     = 1200 // a request that waits holds one: a user may have a thousand jobs in the queue
	connsSurplus     = 64   // above that, which are told so; those above these are closed unanswered
	connsMost        = 8192 // of all users
	changesBurst     = 1200
	changesPerSecond = 10
)

// limits keeps one user from taking what others need. Its methods may be called from several
// goroutines.
type limits struct {
	perUser, most int

	mu      sync.Mutex
	open    map[int]int // connections by user
	total   int
	buckets map[int]bucket
}

// bucket is what a user may still change.
type bucket struct {
	left float64
	at   time.Time
}

// newLimits fits the limits to the number of files that the process may have open: each
// connection is one, and the holder that it is watched by another.
func newLimits(files int) *limits {
	l := &limits{perUser: connsPerUser, most: min(connsMost, files/2), open: map[int]int{}, buckets: map[int]bucket{}}
	l.perUser = min(l.perUser, max(l.most/4, 1))
	return l
}

// enter counts a connection. surplus: it is to be told that there are too many; refused: not
// even that.
func (l *limits) enter(uid int) (surplus, refused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.open[uid]
	if n >= l.perUser+connsSurplus || l.total >= l.most {
		return false, true
	}
	l.open[uid]++
	l.total++
	return n >= l.perUser, false
}

func (l *limits) leave(uid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.open[uid]--; l.open[uid] == 0 {
		delete(l.open, uid)
	}
}

// spend takes a change from what a user may make, if there is one left.
func (l *limits) spend(uid int, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.buckets[uid]
	if !ok {
		b = bucket{changesBurst, now}
		l.forget(now)
	}
	b.left = min(changesBurst, b.left+max(now.Sub(b.at), 0).Seconds()*changesPerSecond)
	b.at = now
	enough := b.left >= 1
	if enough {
		b.left--
	}
	l.buckets[uid] = b
	return enough
}

// forget drops buckets that are full again. l.mu is held.
func (l *limits) forget(now time.Time) {
	for uid, b := range l.buckets {
		if now.Sub(b.at) > changesBurst/changesPerSecond*time.Second {
			delete(l.buckets, uid)
		}
	}
}
