package viewer

import (
	"context"
	"sync"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/lod"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// Device is one device of a recording that was read, and what is kept of it. It does not
// change, and may be used by several goroutines.
type Device struct {
	ID   string // of the recording
	Dev  int    // place in the recording's list
	File string // as it is called in the output

	Argument string // see Read

	Rec   *snapshot.Recording
	TL    *timeline.Timeline
	Sites *analyze.Sites
	X     *analyze.Explanation // as explain has it without flags
	LOD   *lod.Device

	CapacityBytes int64 // of the device; 0 where nothing tells
	LimitBytes    int64 // what the process was allowed to reserve; 0 where nothing tells

	// Made on first use, or before it where that costs no time.
	categories func() *analyze.BlockCategories
	groupings  func() []*Grouping
	named      func() []groupingJSON // groups of all kinds that the page knows by name
	bands      [len(groupingNames)]func() *lod.Grouping
	made       *made
}

// newDevices makes what the first picture of each device needs. What goes on in the background
// ends with life.
func newDevices(life context.Context, read *Read, id string) []*Device {
	var list []*Device
	for i, x := range read.Devices {
		d := newDevice(life, read.Rec, x, id, i)
		d.Argument = read.Argument
		list = append(list, d)
	}
	return list
}

func newDevice(life context.Context, rec *snapshot.Recording, x Explained, id string, dev int) *Device {
	d := &Device{
		ID: id, Dev: dev, File: rec.Source.Name, Rec: rec, TL: x.TL, Sites: x.Sites, X: x.Explanation,
		CapacityBytes: x.CapacityBytes, LimitBytes: x.LimitBytes,
	}
	d.categories = sync.OnceValue(func() *analyze.BlockCategories { return analyze.CategorizeBlocks(d.TL, d.Sites) })
	d.groupings = sync.OnceValue(func() []*Grouping { return newGroupings(d) })
	d.named = sync.OnceValue(d.groupingsJSON)
	for k, by := range groupingNames {
		d.bands[k] = sync.OnceValue(func() *lod.Grouping {
			g := d.Grouping(by)
			return d.LOD.Group(func(block int) uint32 { return uint32(g.Of(block)) })
		})
	}
	d.made = newMade(life, d)
	var beside sync.WaitGroup
	beside.Go(func() { d.named() }) // takes about as long as the other structures, and the first picture needs both
	d.LOD = lod.New(d.TL)
	beside.Wait()
	return d
}

// Events returns the number of events.
func (d *Device) Events() int { return d.LOD.Events }

// Categories tells what each block is for.
func (d *Device) Categories() *analyze.BlockCategories { return d.categories() }

// kind is the word for the memory that a device stands for.
func (d *Device) kind() string {
	if d.TL.Dev.Kind == snapshot.Host {
		return "host"
	}
	return "gpu"
}
