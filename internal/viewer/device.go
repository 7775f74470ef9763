package viewer

import (
	"sync"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// Device is one device of a recording that was read, and what is kept of it. It does not
// change, and may be used by several goroutines.
type Device struct {
	ID   string // of the recording
	Dev  int    // place in the recording's list
	File string // as it is called in the output

	Rec   *snapshot.Recording
	TL    *timeline.Timeline
	Sites *analyze.Sites
	X     *analyze.Explanation // as explain has it without flags

	CapacityBytes int64 // of the device; 0 where nothing tells

	groups     lazyGroupings
	categories func() *analyze.BlockCategories
}

func newDevices(read *Read, id string) []*Device {
	var list []*Device
	for i, x := range read.Devices {
		d := &Device{
			ID: id, Dev: i, File: read.Rec.Source.Name, Rec: read.Rec, TL: x.TL, Sites: x.Sites, X: x.Explanation, CapacityBytes: x.CapacityBytes,
		}
		d.groups = newLazyGroupings(d)
		d.categories = sync.OnceValue(func() *analyze.BlockCategories { return analyze.CategorizeBlocks(d.TL, d.Sites) })
		list = append(list, d)
	}
	return list
}

// Categories tells what each block is for.
func (d *Device) Categories() *analyze.BlockCategories { return d.categories() }

// Events returns the number of events.
func (d *Device) Events() int { return d.TL.Dev.Events.Len() }

// kind is the word for the memory that a device stands for.
func (d *Device) kind() string {
	if d.TL.Dev.Kind == snapshot.Host {
		return "host"
	}
	return "gpu"
}
