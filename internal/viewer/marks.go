package viewer

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

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
	list = d.eventMarks()
	notes := d.annotations()
	leftOut = max(len(notes)-maxAnnotations, 0)
	list = append(list, notes[:len(notes)-leftOut]...)
	slices.SortStableFunc(list, func(a, b markJSON) int { return cmp.Compare(a.Event, b.Event) })
	return list, leftOut
}

// eventMarks returns the marks that are events themselves, or runs of them.
func (d *Device) eventMarks() []markJSON {
	list := []markJSON{}
	e := d.TL.Dev.Events
	b := snapshot.Batch{Want: snapshot.WithAction | snapshot.WithSize}
	var r release
	for k := range e.Chunks() {
		e.Chunk(k, &b)
		for j, a := range b.Action {
			i, size := b.First+j, int64(b.Size[j])
			switch action := snapshot.Action(a); action {
			case snapshot.OOM:
				list = append(list, markJSON{i, "oom", "out of memory: " + units.FormatBytes(size) + " asked for"})
			case snapshot.Snapshot:
				list = append(list, markJSON{i, "snapshot", "a snapshot was taken"})
			default:
				if r.see(i, action, size) {
					list = append(list, markJSON{r.from, "retry", r.text(size)})
				}
			}
			if a := snapshot.Action(a); a != snapshot.SegmentFree && a != snapshot.SegmentUnmap {
				r = release{}
			}
		}
	}
	return list
}

// release is a run of events that give memory back to the driver, with nothing between.
type release struct {
	segments int
	bytes    int64
	from     int
}

// see takes an event into account. It tells whether the event brings memory from the driver
// right after some was given back: PyTorch does so when the driver refuses it.
func (r *release) see(i int, a snapshot.Action, sizeBytes int64) bool {
	if a == snapshot.SegmentFree || a == snapshot.SegmentUnmap {
		if r.segments == 0 {
			r.from = i
		}
		r.segments++
		r.bytes += sizeBytes
		return false
	}
	return r.segments > 0 && a.Grows()
}

func (r *release) text(sizeBytes int64) string {
	return fmt.Sprintf("%s in %s given back to the driver, then %s taken",
		units.FormatBytes(r.bytes), units.FormatPlural(r.segments, "segment", "segments"), units.FormatBytes(sizeBytes))
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
