package viewer

import (
	"cmp"
	"slices"
	"sync"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/snapshot"
)

// groupings are the ways in which blocks are put into groups.
var groupings = []string{"category", "module", "site", "stream"}

// Grouping puts every block of a device into a group. Groups are numbered from 0 in falling
// order of the most that each held at once.
type Grouping struct {
	By     string
	Groups []Group
	of     []uint16 // by block: the number of its group, or others for those beyond
}

// Group is what some blocks have in common.
type Group struct {
	Name  string
	Bytes int64            // the most that it held at once
	Event int              // the first event after which it did
	Stack snapshot.StackID // of its largest block, where it is a site
	of    analyze.Category // of most of a site's bytes at that event
}

// others is the number of the groups that are too small to be told apart: there can be
// as many sites as stacks.
const (
	maxGroups = 1<<16 - 1
	others    = 1<<16 - 1
)

// maxNamed is how many groups of each kind the page is told by name.
const maxNamed = 64

// Of returns the number of block i's group among Groups, or -1.
func (g *Grouping) Of(i int) int {
	if n := g.of[i]; n != others {
		return int(n)
	}
	return -1
}

// Named returns the number of block i's group if the page knows it by name, else -1.
func (g *Grouping) Named(i int) int {
	if n := g.Of(i); n < maxNamed {
		return n
	}
	return -1
}

// lazyGroupings makes each grouping on first use.
type lazyGroupings map[string]func() *Grouping

func newLazyGroupings(d *Device) lazyGroupings {
	all := lazyGroupings{}
	for _, by := range groupings {
		all[by] = sync.OnceValue(func() *Grouping { return newGrouping(d, by) })
	}
	return all
}

// Grouping returns one of the ways to group blocks: category, module, site or stream.
func (d *Device) Grouping(by string) *Grouping { return d.groups[by]() }

// newGrouping numbers the groups by what each held at most.
func newGrouping(d *Device, by string) *Grouping {
	keys, names := d.keys(by)
	peaks := d.peaks(keys, len(names))
	order := make([]int, len(names))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(peaks[b].bytes, peaks[a].bytes) })
	g := &Grouping{By: by, of: make([]uint16, len(keys))}
	rank := make([]uint16, len(names))
	for n, k := range order {
		rank[k] = uint16(min(n, others))
		if n < maxGroups && peaks[k].bytes > 0 {
			g.Groups = append(g.Groups, Group{Name: names[k], Bytes: peaks[k].bytes, Event: peaks[k].event})
		}
	}
	for i, k := range keys {
		g.of[i] = rank[k]
	}
	return g
}

// keys gives each block the number of its group, in order of first use, and the groups'
// names.
func (d *Device) keys(by string) (keys []uint32, names []string) {
	number := map[string]uint32{}
	intern := func(name string) uint32 {
		k, ok := number[name]
		if !ok {
			k = uint32(len(names))
			number[name] = k
			names = append(names, name)
		}
		return k
	}
	of := d.nameOf(by)
	keys = make([]uint32, d.TL.NumBlocks())
	for i := range keys {
		keys[i] = intern(of(i))
	}
	return keys, names
}

// nameOf returns the function that names the group of a block.
func (d *Device) nameOf(by string) func(i int) string {
	switch by {
	case "category":
		return func(i int) string { return d.Categories().Of(i).String() }
	case "stream":
		return func(i int) string { return streamText(d.Rec, d.TL.Block(i).Stream) }
	}
	name := d.Sites.Display
	if by == "module" {
		name = d.Sites.Module
	}
	known := make([]string, d.Sites.Len())
	return func(i int) string {
		id := d.TL.Stack(i)
		if int(id) >= len(known) {
			return name(0)
		}
		if known[id] == "" {
			known[id] = name(id)
		}
		return known[id]
	}
}

// peakOf is the most that a group held, and when.
type peakOf struct {
	bytes int64
	event int
}

// peaks follows the allocated bytes of each group through all events.
func (d *Device) peaks(keys []uint32, groups int) []peakOf {
	peaks := make([]peakOf, groups)
	now := make([]int64, groups)
	for i := range keys {
		l := d.TL.Life(i)
		if l.Alloc >= 0 {
			break
		}
		now[keys[i]] += l.SizeBytes
	}
	for k := range peaks {
		peaks[k] = peakOf{now[k], -1}
	}
	var b snapshot.Batch
	b.Want = snapshot.WithAction
	e := d.TL.Dev.Events
	for c := range e.Chunks() {
		e.Chunk(c, &b)
		for j := range b.Action {
			d.step(b.First+j, keys, now, peaks)
		}
	}
	return peaks
}

// step takes one event into account.
func (d *Device) step(event int, keys []uint32, now []int64, peaks []peakOf) {
	i := d.TL.BlockOf(event)
	if i < 0 {
		return
	}
	l, k := d.TL.Life(i), keys[i]
	switch event {
	case l.Alloc:
		now[k] += l.SizeBytes
		if now[k] > peaks[k].bytes {
			peaks[k] = peakOf{now[k], event}
		}
	case l.FreeRequested:
		now[k] -= l.SizeBytes
	}
}

// groupingJSON is one way to group blocks.
type groupingJSON struct {
	By     string      `json:"by"`
	Groups []groupJSON `json:"groups"`
	Others int         `json:"others"` // groups that are not named
}

type groupJSON struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Event int    `json:"event"`
	Of    string `json:"of,omitempty"` // a site's category
}

// groupings returns the groups of all kinds.
func (d *Device) groupings() []groupingJSON {
	var list []groupingJSON
	for _, by := range groupings {
		g := d.Grouping(by)
		j := groupingJSON{By: by, Groups: []groupJSON{}, Others: max(len(g.Groups)-maxNamed, 0)}
		for n, x := range g.Groups[:min(len(g.Groups), maxNamed)] {
			j.Groups = append(j.Groups, groupJSON{ID: n, Name: x.Name, Bytes: x.Bytes, Event: x.Event})
		}
		if by == "site" {
			d.nameCategories(g, j.Groups)
		}
		list = append(list, j)
	}
	return list
}

// nameCategories says what most of each named site's bytes are for, over all of its blocks.
func (d *Device) nameCategories(g *Grouping, named []groupJSON) {
	bytes := make([]map[analyze.Category]int64, len(named))
	for i := range g.of {
		n := g.Of(i)
		if n < 0 || n >= len(named) {
			continue
		}
		if bytes[n] == nil {
			bytes[n] = map[analyze.Category]int64{}
		}
		bytes[n][d.Categories().Of(i)] += d.TL.Life(i).SizeBytes
	}
	for n, of := range bytes {
		most := analyze.Unknown
		for c, b := range of {
			if b > of[most] || b == of[most] && c < most {
				most = c
			}
		}
		named[n].Of = most.String()
	}
}
