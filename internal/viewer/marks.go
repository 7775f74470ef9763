package viewer

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/tune"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// markJSON is something to point out on the axis of events.
type markJSON struct {
	Event int    `json:"event"`
	Kind  string `json:"kind"` // oom, retry, snapshot, annotation
	Text  string `json:"text"`
}

// maxAnnotations is how many annotations are among the marks, from the first on.
const maxAnnotations = 2000

// marks returns what to point out, in order of events, and how many annotations are left out.
func (d *Device) marks() (list []markJSON, leftOut int) {
	list = slices.Clone(d.made.eventMarks())
	notes := d.annotations()
	leftOut = max(len(notes)-maxAnnotations, 0)
	list = append(list, notes[:len(notes)-leftOut]...)
	slices.SortStableFunc(list, func(a, b markJSON) int { return cmp.Compare(a.Event, b.Event) })
	return list, leftOut
}

// eventMarks returns the marks that are events themselves, or runs of them.
func (d *Device) eventMarks() []markJSON {
	list := []markJSON{}
	for _, i := range d.TL.OOMs {
		list = append(list, markJSON{i, "oom", "out of memory: " + units.FormatBytes(d.TL.Dev.Events.At(i).SizeBytes) + " asked for"})
	}
	for _, r := range d.retries() {
		list = append(list, markJSON{r.From, "retry", d.retryText(r)})
	}
	b := snapshot.Batch{Want: snapshot.WithAction}
	for k := range d.TL.Dev.Events.Chunks() {
		d.TL.Dev.Events.Chunk(k, &b)
		for j, a := range b.Action {
			if snapshot.Action(a) == snapshot.Snapshot {
				list = append(list, markJSON{b.First + j, "snapshot", "a snapshot was taken"})
			}
		}
	}
	return list
}

// retries returns where the driver refused memory, so that the allocator gave back what it
// kept. Most recordings show at a glance that there was none.
func (d *Device) retries() []tune.Retry {
	if !d.regrows() {
		return nil
	}
	p, err := tune.Compile(d.TL, d.died())
	if err != nil {
		return nil // what cannot be replayed has no events that tell
	}
	return p.Retries()
}

// regrows tells whether memory is ever given back and taken right after it.
func (d *Device) regrows() bool {
	e := d.TL.Dev.Events
	for _, g := range d.TL.Segments {
		if next := g.To + 1; g.To != timeline.Never && next < e.Len() && e.At(next).Action.Grows() {
			return true
		}
	}
	return false
}

func (d *Device) retryText(r tune.Retry) string {
	before, after := d.TL.TotalsAt(r.From-1).Reserved, d.TL.TotalsAt(r.To-1).Reserved
	return fmt.Sprintf("%s given back to the driver, which had refused %s",
		units.FormatBytes(before-after), units.FormatBytes(r.WouldBytes-before))
}

// annotations returns the beginnings of the scopes that the program named on this device, at
// the first event that is not earlier. Where events carry no time they cannot be placed.
func (d *Device) annotations() []markJSON {
	e := d.TL.Dev.Events
	var list []markJSON
	if !e.HasTimes || d.TL.Dev.Kind == snapshot.Host {
		return nil
	}
	for _, a := range d.Rec.Annotations {
		if !a.Start || a.Device != d.TL.Dev.Index {
			continue
		}
		i := sort.Search(e.Len(), func(i int) bool { return e.At(i).TimeUS >= a.TimeUS })
		if i < e.Len() {
			list = append(list, markJSON{i, "annotation", a.Name})
		}
	}
	return list
}
