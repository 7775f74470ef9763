package viewer

import (
	"context"
	"sync"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/table"
)

// made is what the answers in words and numbers need of a device, made on first use.
type made struct {
	lines   func() *analyze.Places
	modules func() *analyze.Places
	tables  func() *table.Tables
	retries func() []int // events at which memory was given back to fit a request
	tuning  *tuning

	eventMarks func() []markJSON // see Device.eventMarks
}

func newMade(life context.Context, d *Device) *made {
	m := &made{tuning: newTuning(life, d.tune)}
	m.lines = sync.OnceValue(func() *analyze.Places { return analyze.NewLines(d.Sites) })
	m.modules = sync.OnceValue(func() *analyze.Places { return analyze.NewModules(d.Sites) })
	m.tables = sync.OnceValue(func() *table.Tables { return newTables(d) })
	m.eventMarks = sync.OnceValue(d.eventMarks)
	m.retries = sync.OnceValue(func() []int {
		var events []int
		for _, mark := range m.eventMarks() {
			if mark.Kind == "retry" {
				events = append(events, mark.Event)
			}
		}
		return events
	})
	return m
}

// cachedOrders is how many orders of all events are kept for a device, at four bytes an
// event: pages of the tables that were asked for last come without a pass over them.
const cachedOrders = 3

func newTables(d *Device) *table.Tables {
	in := table.Input{
		TL: d.TL, Sites: d.Sites, Lines: d.made.lines(), Modules: d.made.modules(), Categories: d.Categories(),
		Steps: d.X.Steps, Leaks: d.X.Leaks, Died: d.died(), SiteID: d.siteID, CacheBytes: cachedOrders * 4 * int64(d.Events()),
	}
	return table.New(in)
}

// died is the event of the failure that ended the run, or -1.
func (d *Device) died() int {
	if f := d.X.OOMs.Fatal; f != nil {
		return f.Event
	}
	return -1
}

// siteID returns the number of a line's group in the grouping by site: one number for a
// site in all answers.
func (d *Device) siteID(line int) int { return int(d.Grouping("site").number[line]) }
