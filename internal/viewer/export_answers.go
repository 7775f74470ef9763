package viewer

import (
	"fmt"
	"slices"

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
	for _, d := range devices {
		if err := e.addAll(d.File, e.facts(d)); err != nil {
			return err
		}
	}
	pictures := make([]*pictures, len(devices))
	for i, d := range devices {
		pictures[i] = newPictures(e, d)
	}
	return e.addPictures(pictures)
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

// addAll asks questions and puts the answers in, one by one. One that does not fit is left
// out, and said to be.
func (e *export) addAll(file string, list []question) error {
	var missing []string
	for _, q := range list {
		a, err := e.ask(q.path)
		if err != nil {
			return err
		}
		if !e.add([]answer{a}) && !slices.Contains(missing, q.what) {
			missing = append(missing, q.what)
		}
	}
	for _, what := range missing {
		e.index.LeftOut = append(e.index.LeftOut, fmt.Sprintf("%s: %s: no room in %s", file, what, units.FormatBytes(e.opt.MaxBytes)))
	}
	return nil
}

// facts are the questions about a device whose answers are no pictures. What a page is of
// little use without comes first.
func (e *export) facts(d *Device) []question {
	at := func(what string) string { return fmt.Sprintf("rec/%s/%d%s", d.ID, d.Dev, what) }
	list := []question{{at(""), "what the device is made of"}, {at("/explain"), "what explain says"}}
	for _, rule := range e.ruleIDs(d) {
		list = append(list, question{at("/rule/" + rule), "pages of rules"})
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
