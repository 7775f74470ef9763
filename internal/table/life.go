package table

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// lives is how long each block was allocated, in microseconds. It costs a pass over all
// events and 8 bytes a block, and is made when a request first orders or filters by it.
type lives struct {
	us            []int64 // by block: its life; of one whose end is not known, when it was allocated
	first, lastUS int64
}

func newLives(tl *timeline.Timeline) *lives {
	v := &lives{us: make([]int64, tl.NumBlocks())}
	e := tl.Dev.Events
	if n := e.Len(); n > 0 {
		v.first, v.lastUS = e.At(0).TimeUS, e.At(n-1).TimeUS
	}
	for i := range v.us {
		v.us[i] = v.first
	}
	b := snapshot.Batch{Want: snapshot.WithAction | snapshot.WithTime}
	for k := range e.Chunks() {
		e.Chunk(k, &b)
		for j, a := range b.Action {
			v.event(tl, b.First+j, snapshot.Action(a), int64(b.Time[j]))
		}
	}
	return v
}

func (v *lives) event(tl *timeline.Timeline, i int, a snapshot.Action, timeUS int64) {
	if a != snapshot.Alloc && a != snapshot.FreeRequested && a != snapshot.FreeCompleted {
		return
	}
	block := tl.BlockOf(i)
	switch {
	case block < 0:
	case a == snapshot.Alloc:
		v.us[block] = timeUS
	case tl.Life(block).FreeRequested == i:
		v.us[block] = max(timeUS-v.us[block], 0)
	}
}

// known tells whether a block's beginning and end are both in the recording.
func known(r *row) bool { return r.from >= 0 && 0 <= r.freed && r.freed != timeline.Never }

// span returns the bounds of a block's life: equal where it is known, else what of it is
// in the recording, and no upper bound.
func (v *lives) span(r *row) (low, high int64) {
	switch us := v.us[r.id]; {
	case known(r):
		return us, us
	case r.freed == timeline.Never:
		return max(v.lastUS-us, 0), math.MaxInt64
	case r.freed < 0:
		return 0, math.MaxInt64
	default:
		return us, math.MaxInt64
	}
}

// lifeKey orders blocks by their life in time; one whose end, or beginning, is not in the
// recording is longer than any whose both are.
func (t *Tables) lifeKey() func(*row) int64 {
	if !t.tl.Dev.Events.HasTimes {
		return lifeEvents
	}
	lives := t.lives()
	return func(r *row) int64 {
		_, high := lives.span(r)
		return high
	}
}

// lifeEvents orders lives by their length in events, likewise.
func lifeEvents(r *row) int64 {
	_, high := eventSpan(r, 0)
	return high
}

// eventSpan returns the bounds of a block's life in events of a recording of n.
func eventSpan(r *row, n int) (low, high int64) {
	switch {
	case known(r):
		return int64(r.freed - r.from), int64(r.freed - r.from)
	case r.freed == timeline.Never:
		return int64(n - max(r.from, 0)), math.MaxInt64
	default:
		return int64(max(r.freed, 0)), math.MaxInt64
	}
}

// LifeUS is how long a block was allocated, in microseconds, or null where its beginning,
// its end or the times of events are not in the recording.
func (t *Tables) LifeUS(block int) any {
	e, l := t.tl.Dev.Events, t.tl.Life(block)
	r := row{from: l.Alloc, freed: l.FreeRequested}
	if !e.HasTimes || !known(&r) {
		return nil
	}
	return max(e.At(l.FreeRequested).TimeUS-e.At(l.Alloc).TimeUS, 0)
}

// onLife compares lives. What of a life is not in the recording may be long or short: such
// a block fits only where all that it can be does.
func onLife(t *Tables, w *word, _ about) (test, error) {
	first, second, _ := strings.Cut(w.value, "..")
	inEvents := strings.HasSuffix(cmp.Or(first, second), "e")
	if first != "" && second != "" && strings.HasSuffix(second, "e") != inEvents {
		return test{}, w.errorf("%s: expected two times or two numbers of events", w.text)
	}
	parse := w.life
	if inEvents {
		parse = w.lifeEvents
	}
	v, err := w.interval(parse)
	if err != nil {
		return test{}, err
	}
	span := func(r *row) (low, high int64) { return eventSpan(r, t.tl.Dev.Events.Len()) }
	if !inEvents {
		if !t.tl.Dev.Events.HasTimes {
			return test{}, w.errorf("%s: the events of this recording carry no time; compare with events, as life>500e", w.text)
		}
		span = t.lives().span
	}
	return test{0, 0, func(r *row) bool {
		low, high := span(r)
		return v.low <= low && high <= v.high
	}}, nil
}

// life reads a time, in microseconds.
func (w *word) life(s string) (int64, error) {
	d, err := units.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, w.errorf("%s: expected a time, as 10ms, or events, as 500e", w.text)
	}
	return d.Microseconds(), nil
}

// lifeEvents reads a number of events, as 500e.
func (w *word) lifeEvents(s string) (int64, error) {
	n, err := strconv.ParseUint(strings.TrimSuffix(s, "e"), 10, 31)
	if err != nil {
		return 0, w.errorf("%s: expected a number of events, as 500e", w.text)
	}
	return int64(n), nil
}
