package viewer

import (
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/column"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// groupingNames are the ways in which blocks are put into groups.
var groupingNames = [...]string{"category", "module", siteGrouping: "site", "stream"}

// siteGrouping is the place of the grouping by site.
const siteGrouping = 2

// Grouping puts every block of a device into a group. Groups are numbered from 0 in falling
// order of the most that each held at once.
type Grouping struct {
	By     string
	Groups []Group

	key    func(block int) int // of its group, in order of first use
	number []uint32            // by key
}

// Group is what some blocks have in common.
type Group struct {
	Name  string
	Bytes int64 // the most that it held at once
	Event int   // the first event after which it did; -1 for the beginning
}

// maxNamed is how many groups of a grouping the page is told by name.
const maxNamed = 64

// Of returns the number of a block's group.
func (g *Grouping) Of(block int) int { return int(g.number[g.key(block)]) }

// Named returns the number of a block's group if the page knows it by name, else -1.
func (g *Grouping) Named(block int) int {
	if n := g.Of(block); n < maxNamed {
		return n
	}
	return -1
}

// Grouping returns one of the ways to group blocks: category, module, site or stream.
func (d *Device) Grouping(by string) *Grouping {
	for _, g := range d.groupings() {
		if g.By == by {
			return g
		}
	}
	return nil
}

// newGroupings groups the blocks in all ways at once: what takes time is to follow them
// through all events, some 100 ns an event.
func newGroupings(d *Device) []*Grouping {
	tallies := []*tally{
		tallyCategories(d), tallyPlaces(d, d.made.modules()), tallyPlaces(d, d.made.lines()), tallyStreams(d),
	}
	followBlocks(d.TL, func(event, block int, bytes int64) {
		for _, t := range tallies {
			t.add(event, t.key(block), bytes)
		}
	})
	var list []*Grouping
	for i, t := range tallies {
		list = append(list, t.grouping(groupingNames[i]))
	}
	return list
}

// followBlocks calls add for every block that is allocated or let go of, in the order of
// events.
func followBlocks(tl *timeline.Timeline, add func(event, block int, bytes int64)) {
	for b := 0; b < tl.NumBlocks() && tl.Life(b).Alloc < 0; b++ {
		add(-1, b, tl.Life(b).SizeBytes)
	}
	for event := range tl.Dev.Events.Len() {
		b := tl.BlockOf(event)
		if b < 0 {
			continue
		}
		switch l := tl.Life(b); event {
		case l.Alloc:
			add(event, b, l.SizeBytes)
		case l.FreeRequested:
			add(event, b, -l.SizeBytes)
		}
	}
}

// tally follows what groups hold.
type tally struct {
	key    func(block int) int
	groups []tallied // by key
}

type tallied struct {
	Group
	now int64
}

func (t *tally) add(event, key int, bytes int64) {
	g := &t.groups[key]
	if g.now += bytes; g.now > g.Bytes {
		g.Bytes, g.Event = g.now, event
	}
}

// grouping numbers the groups that ever held anything by what each held at most.
func (t *tally) grouping(by string) *Grouping {
	order := make([]int, len(t.groups))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.groups[b].Bytes, t.groups[a].Bytes) })
	g := &Grouping{By: by, key: t.key, number: make([]uint32, len(order))}
	for n, k := range order {
		g.number[k] = uint32(n)
		if t.groups[k].Bytes > 0 {
			g.Groups = append(g.Groups, t.groups[k].Group)
		}
	}
	return g
}

// names numbers names in order of first use.
type names struct {
	key    map[string]int
	groups []tallied
}

func (n *names) of(name string) int {
	k, ok := n.key[name]
	if !ok {
		k = len(n.groups)
		n.key[name] = k
		n.groups = append(n.groups, tallied{Group: Group{Name: name, Event: -1}})
	}
	return k
}

func newNames() *names { return &names{key: map[string]int{}} }

func tallyCategories(d *Device) *tally {
	n := newNames()
	keys := map[analyze.Category]int{}
	of := make([]uint8, d.TL.NumBlocks())
	for b := range of {
		c := d.Categories().Of(b)
		k, ok := keys[c]
		if !ok {
			k = n.of(c.String())
			keys[c] = k
		}
		of[b] = uint8(k)
	}
	return &tally{key: func(b int) int { return int(of[b]) }, groups: n.groups}
}

// tallyPlaces groups blocks by the place in the code that allocated them, as explain's
// holders are.
func tallyPlaces(d *Device, p *analyze.Places) *tally {
	t := &tally{groups: make([]tallied, p.Len()), key: func(b int) int { return p.OfBlock(d.TL, b) }}
	for k := range t.groups {
		t.groups[k].Group = Group{Name: p.Name(k), Event: -1}
	}
	return t
}

func tallyStreams(d *Device) *tally {
	n := newNames()
	keys := map[snapshot.StreamID]int{}
	of := new(column.Column)
	eachStream(d.TL, func(id snapshot.StreamID) {
		k, ok := keys[id]
		if !ok {
			k = n.of(streamText(d.Rec, id))
			keys[id] = k
		}
		of.Append(uint64(k))
	})
	of.Trim()
	return &tally{key: func(b int) int { return int(of.At(b)) }, groups: n.groups}
}

// eachStream calls f with the stream of every block, in order.
func eachStream(tl *timeline.Timeline, f func(snapshot.StreamID)) {
	b := 0
	for ; b < tl.NumBlocks() && tl.Life(b).Alloc < 0; b++ {
		f(tl.Block(b).Stream)
	}
	batch := snapshot.Batch{Want: snapshot.WithStream}
	for k := range tl.Dev.Events.Chunks() {
		tl.Dev.Events.Chunk(k, &batch)
		for ; b < tl.NumBlocks() && tl.Life(b).Alloc < batch.First+len(batch.Stream); b++ {
			f(snapshot.StreamID(batch.Stream[tl.Life(b).Alloc-batch.First]))
		}
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

// groupingsJSON returns the groups of all kinds that the page knows by name.
func (d *Device) groupingsJSON() []groupingJSON {
	list := []groupingJSON{}
	for _, g := range d.groupings() {
		j := groupingJSON{By: g.By, Groups: []groupJSON{}, Others: max(len(g.Groups)-maxNamed, 0)}
		for n, x := range g.Groups[:len(g.Groups)-j.Others] {
			j.Groups = append(j.Groups, groupJSON{ID: n, Name: x.Name, Bytes: x.Bytes, Event: x.Event})
		}
		if g.By == "site" {
			for n, c := range d.siteCategories(g, len(j.Groups)) {
				j.Groups[n].Of = c
			}
		}
		list = append(list, j)
	}
	return list
}

// siteCategories says of the first n sites what most of the bytes of their blocks are for.
func (d *Device) siteCategories(sites *Grouping, n int) []string {
	categories := d.Grouping("category")
	bytes := make([][]int64, n)
	for k := range bytes {
		bytes[k] = make([]int64, len(categories.Groups)+1)
	}
	for b := range d.TL.NumBlocks() {
		if k := sites.Of(b); k < n {
			bytes[k][min(categories.Of(b), len(categories.Groups))] += d.TL.Life(b).SizeBytes
		}
	}
	most := make([]string, n)
	for k := range bytes {
		c := slices.Index(bytes[k], slices.Max(bytes[k]))
		most[k] = categories.Groups[c].Name
	}
	return most
}
