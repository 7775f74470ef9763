package analyze

import (
	"errors"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

func TestParseWhen(t *testing.T) {
	for text, want := range map[string]When{
		"e0": {kind: whenEvent}, "e1234": {kind: whenEvent, number: 1234}, "s12": {kind: whenStep, number: 12},
		"0s": {kind: whenTime}, "12.5s": {kind: whenTime, offset: 12.5}, "250ms": {kind: whenTime, offset: 0.25}, "1m30s": {kind: whenTime, offset: 90},
		"peak": {kind: whenPeak}, "oom": {kind: whenOOM}, "end": {kind: whenEnd},
	} {
		want.text = text
		got, err := ParseWhen(text)
		if err != nil || got != want || got.String() != text || !got.IsSet() {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "e", "s", "e-1", "s-1", "e1.5", "12", "-1s", "Peak", "e99999999999999999999", "yesterday", "e 1", "s+3", "e0x10", "NaNs"} {
		if w, err := ParseWhen(text); !errors.Is(err, ErrWhen) || w.IsSet() {
			t.Errorf("%q: %+v, %v", text, w, err)
		}
	}
}

// steppedRun is four steps of eight events of 1 ms each, in which step k holds (k+1)·10
// MiB at its peak, then a failure. Steps are given, not found.
func steppedRun() (*scene, moments) {
	s := newScene()
	base := s.segment(0, 0, "100.")
	m := moments{steps: Steps{Bounds: []int{s.dev.Events.Len()}}}
	for k := range 4 {
		for range 2 {
			p := piece{addr: base, sizeBytes: int64(k+1) * 10 * mib}
			s.used[base] = p
			s.event(snapshot.Alloc, p)
			s.release(base)
		}
		m.steps.Bounds = append(m.steps.Bounds, s.dev.Events.Len())
	}
	s.oom(200, 500, 0, 0)
	m.tl = s.replay()
	m.oom = FindOOMs(m.tl, 0).Fatal
	return s, m
}

// TestMoments resolves every form as the beginning of a window, as its end, and as the
// moment of the accounting.
func TestMoments(t *testing.T) {
	_, m := steppedRun()
	last := m.tl.Dev.Events.Len() - 1
	first := m.steps.Bounds[0]
	for _, c := range []struct {
		text           string
		since, until   int
		at             int
		allocatedBytes int64 // after event at
	}{
		{"e7", 7, 7, 7, 10 * mib},
		{"s0", first, first + 5, first, 10 * mib},
		{"s3", first + 18, last - 1, first + 18, 40 * mib},
		{"0s", 0, 0, 0, 0},
		{"7ms", 7, 7, 7, 10 * mib},
		{"7.5ms", 7, 7, 7, 10 * mib},
		{"1h", last, last, last, 0},
		{"peak", 1, 1, 1, 100 * mib}, // the first event
		{"oom", last, last, last, 0},
		{"end", last, last, last, 0},
	} {
		w := mustWhen(t, c.text)
		since, err1 := m.bound(w, false)
		until, err2 := m.bound(w, true)
		at, err3 := m.at(w, window{-1, last}, m.tl.Peak)
		if err := errors.Join(err1, err2, err3); err != nil || since != c.since || until != c.until || at != c.at {
			t.Errorf("%s: since e%d, until e%d, at e%d, %v; want %+v", c.text, since, until, at, err, c)
		}
		if got := m.tl.TotalsAt(at).Allocated; got != c.allocatedBytes {
			t.Errorf("%s: %d bytes allocated, want %d", c.text, got, c.allocatedBytes)
		}
	}
}

// TestMomentsThatAreNone says what the recording has instead.
func TestMomentsThatAreNone(t *testing.T) {
	_, m := steppedRun()
	bare := newScene()
	bare.segment(0, 0, "20a")
	bare.dev.Events.HasTimes = false
	none := moments{tl: bare.replay()}
	empty := newScene()
	nothing := moments{tl: empty.replay()}
	for _, c := range []struct {
		m          moments
		text, want string
	}{
		{m, "e99", "e99: the last event is e"},
		{m, "s4", "s4: the recording has steps s0 to s3"},
		{none, "s0", "s0: no steps were found"},
		{none, "oom", "oom: no failed allocation ended this recording"},
		{nothing, "1s", "1s: the events of this recording carry no time"},
		{nothing, "e0", "e0: there are no events"},
	} {
		_, err1 := c.m.bound(mustWhen(t, c.text), false)
		_, err2 := c.m.at(mustWhen(t, c.text), window{-1, c.m.tl.Dev.Events.Len() - 1}, c.m.tl.Peak)
		for _, err := range []error{err1, err2} {
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s…", c.text, err, c.want)
			}
		}
	}
}

// TestWindows: peaks, accounting, steps and failures of a part are those of the part.
func TestWindows(t *testing.T) {
	s, m := steppedRun()
	first := m.steps.Bounds[0]
	for _, c := range []struct {
		since, until string
		from, to     int
		peak         timeline.Extreme
		err          string
	}{
		{"", "", -1, first + 24, timeline.Extreme{Bytes: 100 * mib, Event: 1}, ""},
		{"e4", "", 4, first + 24, timeline.Extreme{Bytes: 40 * mib, Event: first + 18}, ""},
		{"e4", "e9", 4, 9, timeline.Extreme{Bytes: 10 * mib, Event: 4}, ""},
		{"e2", "e9", 2, 9, timeline.Extreme{Bytes: 100 * mib, Event: 1}, ""}, // held when the window begins
		{"", "e0", -1, 0, timeline.Extreme{Event: -1}, ""},
		{"e9", "e4", 0, 0, timeline.Extreme{}, "the window is empty: e9 is event e9, e4 is e4"},
		{"end", "peak", 0, 0, timeline.Extreme{}, "the window is empty: end is event e28, peak is e1"},
	} {
		opt := Options{}
		if c.since != "" {
			opt.Since = mustWhen(t, c.since)
		}
		if c.until != "" {
			opt.Until = mustWhen(t, c.until)
		}
		x, err := Explain(s.replay(), NewSites(&s.rec), opt)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s to %s: %v, want %s", c.since, c.until, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if (x.Window == nil) != (c.since == "" && c.until == "") || x.Window != nil && *x.Window != (Window{c.from, c.to}) {
			t.Errorf("%s to %s: window %+v", c.since, c.until, x.Window)
		}
		if x.Peak.Allocated != c.peak || x.Accounting.Event != c.peak.Event {
			t.Errorf("%s to %s: peak %+v, accounting at e%d; want %+v", c.since, c.until, x.Peak.Allocated, x.Accounting.Event, c.peak)
		}
		if died := x.OOMs.Fatal != nil; died != (c.to == first+24) {
			t.Errorf("%s to %s: died %v", c.since, c.until, died)
		}
	}
}

// TestStepsIn keeps the steps that lie whole in a window.
func TestStepsIn(t *testing.T) {
	all := Steps{Bounds: []int{10, 20, 30, 40, 50}}
	for _, c := range []struct{ from, to, first, steps int }{
		{-1, 99, 0, 4}, {10, 49, 0, 4}, {11, 49, 1, 3}, {10, 48, 0, 3}, {20, 29, 1, 1}, {21, 29, 2, 0}, {60, 99, 5, 0}, {-1, 5, 0, 0},
	} {
		s, first := stepsIn(all, window{c.from, c.to})
		if s.Len() != c.steps || first != c.first {
			t.Errorf("e%d to e%d: %d steps from s%d, want %d from s%d", c.from, c.to, s.Len(), first, c.steps, c.first)
		}
	}
}
