package analyze

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/units"
)

// When names a moment of a recording. The zero When is none.
type When struct {
	kind   whenKind
	number int     // of an event or a step
	offset float64 // seconds from the first event
	text   string  // as written
}

type whenKind uint8

const (
	whenNone whenKind = iota
	whenEvent
	whenStep
	whenTime
	whenPeak
	whenOOM
	whenEnd
)

// ErrWhen tells that a moment was not written as one.
var ErrWhen = errors.New("expected an event (e1234), a step (s12), a time from the start (12.5s), peak, oom or end")

// ParseWhen reads a moment: e1234, s12, 12.5s, peak, oom or end.
func ParseWhen(s string) (When, error) {
	w := When{text: s}
	switch s {
	case "peak":
		w.kind = whenPeak
		return w, nil
	case "oom":
		w.kind = whenOOM
		return w, nil
	case "end":
		w.kind = whenEnd
		return w, nil
	}
	if n, ok := ordinal(s, "e"); ok {
		w.kind, w.number = whenEvent, n
		return w, nil
	}
	if n, ok := ordinal(s, "s"); ok {
		w.kind, w.number = whenStep, n
		return w, nil
	}
	if d, err := units.ParseDuration(s); err == nil && d >= 0 && s != "0" {
		w.kind, w.offset = whenTime, d.Seconds()
		return w, nil
	}
	return When{}, fmt.Errorf("%q is no moment of a recording: %w", s, ErrWhen)
}

func ordinal(s, prefix string) (int, bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok || rest == "" || rest[0] < '0' || rest[0] > '9' {
		return 0, false
	}
	n, err := strconv.Atoi(rest)
	return n, err == nil
}

// IsSet tells whether w names a moment.
func (w When) IsSet() bool { return w.kind != whenNone }

// String returns the moment as it was written.
func (w When) String() string { return w.text }

// moments resolves moments of one device of a recording.
type moments struct {
	tl    *timeline.Timeline
	steps Steps
	oom   *OOM // nil where no allocation failed for good
}

// bound resolves w as a bound of a window: the event at which the moment begins,
// or, as the window's end, the one with which it ends.
func (m moments) bound(w When, end bool) (int, error) {
	last := m.tl.Dev.Events.Len() - 1
	switch w.kind {
	case whenEvent:
		if last < 0 {
			return 0, fmt.Errorf("%s: there are no events in this recording", w)
		}
		if w.number > last {
			return 0, fmt.Errorf("%s: the last event is e%d", w, last)
		}
		return w.number, nil
	case whenStep:
		if w.number >= m.steps.Len() {
			return 0, fmt.Errorf("%s: %s", w, m.stepsText())
		}
		if end {
			return m.steps.Bounds[w.number+1] - 1, nil
		}
		return m.steps.Bounds[w.number], nil
	case whenTime:
		return m.timeToEvent(w)
	case whenPeak:
		return m.tl.Peak.Allocated.Event, nil
	case whenOOM:
		if m.oom == nil {
			return 0, fmt.Errorf("%s: no failed allocation ended this recording", w)
		}
		return m.oom.Event, nil
	}
	return last, nil
}

func (m moments) stepsText() string {
	if m.steps.Len() == 0 {
		return "no steps were found in this recording"
	}
	return fmt.Sprintf("the recording has steps s0 to s%d", m.steps.Len()-1)
}

func (m moments) timeToEvent(w When) (int, error) {
	e := m.tl.Dev.Events
	if e.Len() == 0 || e.At(0).TimeUS == 0 {
		return 0, fmt.Errorf("%s: the events of this recording carry no time", w)
	}
	until := e.At(0).TimeUS + int64(w.offset*1e6)
	i := sort.Search(e.Len(), func(i int) bool { return e.At(i).TimeUS > until })
	return max(i-1, 0), nil
}

// window is a part of a recording, both ends included.
type window struct{ from, to int }

// whole tells whether the window is all of tl.
func (w window) whole(tl *timeline.Timeline) bool {
	return w.from <= 0 && w.to >= tl.Dev.Events.Len()-1
}

// holds tells whether event i is in the window.
func (w window) holds(i int) bool { return w.from <= i && i <= w.to }

// windowOf resolves --since and --until.
func (m moments) windowOf(since, until When) (window, error) {
	w := window{-1, m.tl.Dev.Events.Len() - 1}
	var err error
	if since.IsSet() {
		if w.from, err = m.bound(since, false); err != nil {
			return w, err
		}
	}
	if until.IsSet() {
		if w.to, err = m.bound(until, true); err != nil {
			return w, err
		}
	}
	if w.from > w.to {
		return w, fmt.Errorf("the window is empty: %s is event e%d, %s is e%d", since, w.from, until, w.to)
	}
	return w, nil
}

// peakIn returns the peaks of a window.
func peakIn(tl *timeline.Timeline, w window) timeline.Peak {
	if w.whole(tl) {
		return tl.Peak
	}
	return tl.PeakIn(w.from, w.to+1)
}

// at resolves the moment of the accounting: a step is the event in it with the most
// allocated; by default it is that of the window.
func (m moments) at(when When, w window, peak timeline.Peak) (int, error) {
	switch when.kind {
	case whenNone, whenPeak:
		return peak.Allocated.Event, nil
	case whenStep:
		if when.number >= m.steps.Len() {
			return 0, fmt.Errorf("%s: %s", when, m.stepsText())
		}
		in := window{m.steps.Bounds[when.number], m.steps.Bounds[when.number+1] - 1}
		return peakIn(m.tl, in).Allocated.Event, nil
	}
	return m.bound(when, true)
}

// stepsIn keeps the steps that lie whole in a window; they keep their numbers only
// where the window begins with the recording.
func stepsIn(s Steps, w window) (Steps, int) {
	first := sort.SearchInts(s.Bounds, w.from)
	last := sort.Search(len(s.Bounds), func(k int) bool { return s.Bounds[k] > w.to+1 })
	if last-first < 2 {
		s.Bounds = nil
		return s, first
	}
	s.Bounds = s.Bounds[first:last]
	s.Tail = max(min(s.Tail-first, s.Len()), 0)
	return s, first
}
