package lod

import (
	"sort"

	"github.com/ullage-dev/ullage/internal/column"
	"github.com/ullage-dev/ullage/snapshot"
)

// Times tells when events were, on a clock that never runs backwards.
type Times struct {
	FirstUS int64 // Unix microseconds of the first event that has a time
	EndUS   int64 // microseconds from the first to the last
	Known   bool  // the recording has times

	events *snapshot.Events
	before column.Column // by group of events: the time before it, in microseconds from the first
}

// groupLen is how many events the structures here keep one entry for. Between two
// entries they step from event to event, at about 20 ns each.
const (
	groupBits = 4
	groupLen  = 1 << groupBits
)

func newTimes(e *snapshot.Events) *Times {
	t := &Times{Known: e.HasTimes && e.Len() > 0, events: e}
	if !t.Known {
		return t
	}
	var now int64
	b := snapshot.Batch{Want: snapshot.WithTime}
	for k := range e.Chunks() {
		e.Chunk(k, &b)
		for j, v := range b.Time {
			if j%groupLen == 0 {
				t.before.Append(uint64(now))
			}
			if t.FirstUS == 0 {
				t.FirstUS = int64(v)
			}
			now = max(now, int64(v)-t.FirstUS)
		}
	}
	t.before.Trim()
	t.EndUS = now
	return t
}

// At returns the time of event i, in microseconds from the first. Without times it
// is 0.
func (t *Times) At(i int) int64 {
	if !t.Known {
		return 0
	}
	g := i / groupLen
	now := int64(t.before.At(g))
	for e := g * groupLen; e <= i; e++ {
		now = max(now, t.events.TimeAt(e)-t.FirstUS)
	}
	return now
}

// Event returns the first event at or after us microseconds from the first event;
// where there is none, the number of events.
func (t *Times) Event(us int64) int {
	if !t.Known || us <= 0 {
		return 0
	}
	// The group sought is the last that begins before us.
	g := sort.Search(t.before.Len(), func(g int) bool { return int64(t.before.At(g)) >= us }) - 1
	now := int64(t.before.At(g))
	i := g * groupLen
	for ; i < t.events.Len(); i++ {
		if now = max(now, t.events.TimeAt(i)-t.FirstUS); now >= us {
			break
		}
	}
	return i
}
