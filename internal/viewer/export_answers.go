package viewer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/units"
)

// gather asks what the page may ask: what is in every page first, then as much of the
// pictures as there is room for.
func (e *export) gather() error {
	first, err := e.ask("session")
	if err != nil {
		return err
	}
	if !e.add([]answer{first}) {
		return &TooSmallError{e.needs([]answer{first}), e.opt.MaxBytes}
	}
	devices := e.s.session.devices()
	if err := e.addFacts(devices, e.explained); err != nil {
		return err
	}
	pictures := make([]*pictures, len(devices))
	for i, d := range devices {
		pictures[i] = newPictures(e, d)
	}
	if err := e.addRounds(pictures, 0, wholeRounds); err != nil {
		return err
	}
	if err := e.addFacts(devices, e.moments, e.tables, e.blocks); err != nil {
		return err
	}
	if err := e.addAll(e.s.session.recordings[0].file.Name, comparisons(devices)); err != nil {
		return err
	}
	if err := e.addRounds(pictures, wholeRounds, math.MaxInt); err != nil {
		return err
	}
	for _, p := range pictures {
		e.index.LeftOut = append(e.index.LeftOut, e.leftOut(p)...)
	}
	return nil
}

// addFacts asks questions of all devices, those of one kind before those of the next.
func (e *export) addFacts(devices []*Device, kinds ...func(*Device) []question) error {
	for _, facts := range kinds {
		for _, d := range devices {
			if err := e.addAll(d.File, facts(d)); err != nil {
				return err
			}
		}
	}
	return nil
}

// devices returns every device that was read, in order.
func (s *session) devices() (list []*Device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.recordings {
		list = append(list, r.devices...)
	}
	return list
}

// question is a path, and what its answer is called when it is left out.
type question struct {
	path, what string
}

// addAll asks questions and puts the answers in, one by one. What does not fit, or has no
// answer, is left out and said to be.
func (e *export) addAll(file string, list []question) error {
	var missing []string
	for _, q := range list {
		a, err := e.askAgain(q.path)
		var refused *statusError
		why := "no room in " + units.FormatBytes(e.opt.MaxBytes)
		switch {
		case errors.As(err, &refused):
			why = refused.message
		case err != nil:
			return err
		case e.add([]answer{a}):
			continue
		}
		line := fmt.Sprintf("%s: %s: %s", file, q.what, why)
		if !slices.Contains(missing, line) {
			missing = append(missing, line)
		}
	}
	e.index.LeftOut = append(e.index.LeftOut, missing...)
	return nil
}

// askAgain asks until the answer is made: the search for other settings takes its time.
func (e *export) askAgain(path string) (answer, error) {
	for {
		a, err := e.ask(path)
		if busy := new(statusError); !errors.As(err, &busy) || busy.status != http.StatusConflict {
			return a, err
		}
	}
}

// about is the path of a question about a device.
func about(d *Device, format string, args ...any) string {
	return fmt.Sprintf("rec/%s/%d", d.ID, d.Dev) + fmt.Sprintf(format, args...)
}

// explained are the questions without which a page is of little use.
func (e *export) explained(d *Device) []question {
	list := []question{{about(d, ""), "what the device is made of"}, {about(d, "/explain"), "what explain says"}}
	for _, rule := range e.ruleIDs(d) {
		list = append(list, question{about(d, "/rule/%s", rule), "pages of rules"})
	}
	return list
}

// ruleIDs are the rules that the findings of a device, and those of the ranks, name.
func (e *export) ruleIDs(d *Device) (ids []string) {
	for _, f := range d.X.Findings {
		ids = append(ids, f.Rule)
		ids = append(ids, f.Causes...)
	}
	if r := e.s.session.ranks; r != nil {
		for _, f := range r.Findings {
			ids = append(ids, f.Rule)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// moments are the questions about the events that matter.
func (e *export) moments(d *Device) (list []question) {
	for _, event := range d.events() {
		list = append(list,
			question{about(d, "/moment?event=%d", event), "what is where, at some events"},
			question{about(d, "/event/%d", max(event, 0)), "what some events are"},
			question{about(d, "/flame?event=%d", event), "flame graphs of some events"},
			question{about(d, "/flame?event=%d&invert=1", event), "flame graphs of some events"},
			question{about(d, "/flame?event=%d&library=0", event), "flame graphs of some events"},
			question{about(d, "/flame?event=%d&invert=1&library=0", event), "flame graphs of some events"},
		)
	}
	return slices.DeleteFunc(list, func(q question) bool { return d.Events() == 0 && q.what == "what some events are" })
}

// maxExportMoments is how many events are there with all that is live: each takes some
// 10 to 100 kB.
const maxExportMoments = 16

// events are the events that the page leads to: the peaks, what findings name, what marks
// point out, and the end. The first ones matter most.
func (d *Device) events() []int {
	list := []int{d.TL.Peak.Allocated.Event, d.TL.Peak.Reserved.Event}
	for _, f := range d.X.Findings {
		if f.Event >= 0 {
			list = append(list, f.Event)
		}
	}
	for _, m := range d.made.eventMarks() {
		list = append(list, m.Event)
	}
	list = append(list, d.Events()-1)
	var once []int
	for _, event := range list {
		if !slices.Contains(once, event) {
			once = append(once, event)
		}
	}
	return once[:min(len(once), maxExportMoments)]
}

// tables are the first rows of each table, and what tune says.
func (e *export) tables(d *Device) []question {
	return []question{
		{about(d, "/table/sites?count=1000"), "the table of sites"},
		{about(d, "/table/segments?count=1000"), "the table of segments"},
		{about(d, "/table/blocks?count=1000&sort=-size_bytes"), "the table of blocks"},
		{about(d, "/table/blocks?count=1000"), "the table of blocks"},
		{about(d, "/table/events?count=1000"), "the table of events"},
		{about(d, "/tune"), "other settings"},
	}
}

// maxExportBlocks is how many blocks are there with all that is known of them.
const maxExportBlocks = 100

// blocks are the questions about the largest blocks of the peak.
func (e *export) blocks(d *Device) (list []question) {
	var held []int
	peak := d.TL.Peak.Allocated.Event
	d.TL.EachHeld(peak, func(block int, l timeline.Life) {
		if l.LiveAfter(peak) {
			held = append(held, block)
		}
	})
	slices.SortStableFunc(held, func(a, b int) int { return cmp.Compare(d.TL.Life(b).SizeBytes, d.TL.Life(a).SizeBytes) })
	for _, block := range held[:min(len(held), maxExportBlocks)] {
		list = append(list, question{about(d, "/block/%d", block), "what is known of single blocks"})
	}
	return list
}

// comparisons are the first device with each other one.
func comparisons(devices []*Device) (list []question) {
	for _, d := range devices[min(1, len(devices)):] {
		a, b := devices[0], d
		list = append(list, question{fmt.Sprintf("compare?a=%s%%2F%d&b=%s%%2F%d", a.ID, a.Dev, b.ID, b.Dev), "comparisons"})
	}
	return list
}
