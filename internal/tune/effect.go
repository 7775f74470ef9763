package tune

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/units"
)

// Effect is what a recorded run would have come to under another setting, as far as
// it was recorded.
type Effect struct {
	Conf  string
	Fits  bool // the run gets to its end, or past the failed request that ended it
	Near  bool // it does not at the least limit that the recording allows, but would at the largest
	Event int  // where it does not fit: the request that fails

	CapBytes          int64 // what reserved memory was allowed at least; 0 for no bound
	HighBytes         int64 // and less than this; 0 where nothing tells
	PeakReservedBytes int64
	RecordedBytes     int64 // the recorded peak of reserved memory
	SpareBytes        int64 // between the peak and the cap
	Retries           int
	Died              int  // event of the failure that ended the recorded run; -1 for none
	Begun             bool // the recording begins in the middle of the run
}

// WouldFit replays a timeline under conf, within what the recording shows of the limit
// that it was made under. died is the event of the failed request that ended the
// run, -1 for none. It costs about two replays, and one more where it does not fit. A recording that begins in the middle of
// a run is taken from both beginnings (see Mode), and the worse counts.
func WouldFit(tl *timeline.Timeline, died int, conf string) (Effect, error) {
	p, err := Compile(tl, died)
	if err != nil {
		return Effect{}, err
	}
	v := AssumeTorch(tl.Rec).Version
	s, err := ParseSetting(v, conf)
	if err != nil {
		return Effect{}, err
	}
	t := New(v, []*Program{p}, RecordedRoom([]*Program{p}), Options{Workers: 1})
	r := t.try(p, &s)
	e := t.effect(&r, &s)
	if b := p.bound(); !e.Fits && b.HighBytes > 0 {
		e.HighBytes = b.HighBytes
		out := t.simulate(p, &s, t.Room.with(b.HighBytes-1), r.Mode)
		e.Near = out.Lives()
	}
	if r.Mode != FromFirst {
		r.Outcome = t.simulate(p, &s, t.Room, r.Mode.other())
		if other := t.effect(&r, &s); other.worse(&e) {
			e = other
		}
	}
	return e, nil
}

func (t *Tuner) effect(r *Run, s *Setting) Effect {
	p := r.Program
	e := Effect{
		Conf: s.Conf, Fits: r.Lives(), Event: -1, CapBytes: t.Room.Bytes(), PeakReservedBytes: r.PeakReserved,
		RecordedBytes: p.TL.Peak.Reserved.Bytes, Retries: r.Retries, Died: p.Died, Begun: r.Mode != FromFirst,
	}
	if r.Failed != nil {
		e.Event = r.Failed.Event
	}
	if e.CapBytes > 0 && e.Fits {
		e.SpareBytes = max(e.CapBytes-e.PeakReservedBytes, 0)
	}
	return e
}

func (e *Effect) worse(than *Effect) bool {
	if e.Fits != than.Fits {
		return !e.Fits
	}
	return e.PeakReservedBytes > than.PeakReservedBytes
}

// SavesBytes is by how much the peak of reserved memory falls; 0 where it does not.
func (e *Effect) SavesBytes() int64 {
	if !e.Fits {
		return 0
	}
	return max(e.RecordedBytes-e.PeakReservedBytes, 0)
}

// Text says it in a sentence, and claims nothing beyond the end of the recording.
func (e *Effect) Text() string {
	with := "with " + name(e.Conf)
	switch {
	case e.Near:
		return fmt.Sprintf("whether it fits %s depends on the exact limit, which lies between %s and %s", with, units.FormatBytes(e.CapBytes), units.FormatBytes(e.HighBytes))
	case !e.Fits && e.Event < e.Died:
		return fmt.Sprintf("%s the run fails earlier, at e%d", with, e.Event)
	case !e.Fits && e.Event == e.Died:
		return fmt.Sprintf("%s this request fails too", with)
	case !e.Fits:
		return fmt.Sprintf("%s the run fails at e%d", with, e.Event)
	case e.Died >= 0:
		text := fmt.Sprintf("%s this run reserves at most %s up to here and this request fits, with %s to spare", with, units.FormatBytes(e.PeakReservedBytes), units.FormatBytes(e.SpareBytes))
		if e.Retries > 0 {
			text = fmt.Sprintf("%s this request fits, after releasing cached memory %s", with, times(e.Retries))
		}
		return text + "; what would have followed is not recorded" + e.proviso()
	}
	return fmt.Sprintf("%s this run reserves at most %s; it reserved %s", with, units.FormatBytes(e.PeakReservedBytes), units.FormatBytes(e.RecordedBytes)) + e.proviso()
}

func (e *Effect) proviso() string {
	if e.Begun {
		return "; how memory lay when the recording began is taken at its worst"
	}
	return ""
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
