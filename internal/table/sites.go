package table

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// site is a row of the table of sites: a line of code, as Holders groups by it.
type site struct {
	id        int
	stacks    []snapshot.StackID
	category  analyze.Category // that most of what it holds has; of one that holds nothing, of what it allocated
	operators []string

	heldBytes  int64 // at the moment that the table is about
	heldBlocks int
	allocBytes int64 // in its range of events
	allocs     int
	first      int // of these
	last       int
}

// siteRows is the table of sites. What each holds is taken after one event: that which
// the request names, else the one with the most allocated of its range. A row's id is its
// place among rows.
type siteRows struct {
	t    *Tables
	rows []*site
}

// siteRows makes the rows of a scope, or takes those of the request before.
func (t *Tables) siteRows(s scope) siteRows {
	return siteRows{t, t.held.get(s, func() []*site { return t.makeSites(s) })}
}

// heldCache keeps the sites of the last few scopes: paging and typing a query ask for the
// same ones again.
type heldCache struct {
	mu      sync.Mutex
	entries []heldEntry // the latest last
}

type heldEntry struct {
	scope scope
	rows  []*site
}

const heldEntries = 4

func (c *heldCache) get(s scope, rows func() []*site) []*site {
	c.mu.Lock()
	i := slices.IndexFunc(c.entries, func(e heldEntry) bool { return e.scope == s })
	if i >= 0 {
		e := c.entries[i]
		c.mu.Unlock()
		return e.rows
	}
	c.mu.Unlock()
	e := heldEntry{s, rows()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) == heldEntries {
		c.entries = slices.Delete(c.entries, 0, 1)
	}
	c.entries = append(c.entries, e)
	return e.rows
}

// moment is the event after which the sites of a scope are looked at.
func (t *Tables) moment(s scope) int {
	switch {
	case s.isAt:
		return s.at
	case s.isRange:
		return t.tl.PeakIn(s.from, s.to+1).Allocated.Event
	}
	return t.tl.Peak.Allocated.Event
}

// makeSites gathers the sites of a scope: with a moment those that hold something then,
// else all that allocated in its range or held something before.
func (t *Tables) makeSites(s scope) []*site {
	g := siteGatherer{t: t, of: make([]*site, t.in.Lines.Len()), seen: make(map[snapshot.StackID]bool)}
	g.allocated(s)
	for _, h := range analyze.NewHeld(t.tl, t.in.Sites, t.moment(s)).Groups(analyze.HolderOptions{By: analyze.ByLine, Top: -1}) {
		if id, ok := t.in.Lines.ID(h.Name); ok {
			v := g.site(id)
			v.heldBytes, v.heldBlocks, v.category, v.operators = h.Bytes, h.Blocks, h.Category, h.Operators
		}
	}
	var rows []*site
	for _, v := range g.of {
		if v != nil && (!s.isAt || v.heldBlocks > 0) {
			rows = append(rows, v)
		}
	}
	slices.SortStableFunc(rows, func(a, b *site) int {
		return cmp.Or(cmp.Compare(b.heldBytes, a.heldBytes), cmp.Compare(b.allocBytes, a.allocBytes))
	})
	return rows
}

// siteGatherer adds up what sites allocate.
type siteGatherer struct {
	t    *Tables
	of   []*site // by line
	seen map[snapshot.StackID]bool
}

func (g *siteGatherer) site(id int) *site {
	if g.of[id] == nil {
		g.of[id] = &site{id: id, first: timeline.Never, last: -1}
	}
	return g.of[id]
}

// allocated passes over the blocks of a scope's range. At a moment that is all that were
// allocated up to it.
func (g *siteGatherer) allocated(s scope) {
	if s.isAt && !s.isRange {
		s.isRange, s.from, s.to = true, -1, s.at
	}
	s.isAt = false
	n := len(analyze.CategoryNames())
	bytes := make([]int64, len(g.of)*n) // by line and category
	blockRows{g.t, s}.each(s, needStack, func(r *row) {
		id := g.t.lineOf(r)
		v := g.site(id)
		v.allocBytes += r.size
		v.allocs++
		v.first, v.last = min(v.first, r.from), max(v.last, r.from)
		bytes[id*n+int(g.t.in.Categories.Of(r.block))] += r.size
		if stack := g.t.stacks.id(r.stack); !g.seen[stack] {
			g.seen[stack] = true
			v.stacks = append(v.stacks, stack)
		}
	})
	for id, v := range g.of {
		if v != nil {
			v.category = most(bytes[id*n : (id+1)*n])
			v.operators = g.operators(v)
		}
	}
}

// most returns the category with the most bytes.
func most(bytes []int64) analyze.Category {
	best := 0
	for c, n := range bytes {
		if n > bytes[best] {
			best = c
		}
	}
	return analyze.Category(best)
}

// operators returns what a site calls, the first few by name.
func (g *siteGatherer) operators(v *site) []string {
	var names []string
	for _, id := range v.stacks {
		if op := g.t.stacks.ops()[id]; op != "" && !slices.Contains(names, op) {
			names = append(names, op)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), 3)]
}

func (s siteRows) count(scope) int { return len(s.rows) }

func (s siteRows) each(_ scope, _ need, f func(*row)) {
	for i := range s.rows {
		r := row{id: i}
		s.fill(&r)
		f(&r)
	}
}

func (s siteRows) fill(r *row) {
	v := s.rows[r.id]
	*r = row{id: r.id, site: v, size: v.heldBytes, from: v.first, freed: v.last, to: v.last, block: none}
}

func (s siteRows) columns() []column {
	number := func(name, kind, title string, f func(*site) int64) column {
		return column{Column{name, kind, title}, 0, by(func(r *row) int64 { return f(r.site) }), func(_ *Tables, r *row) any { return f(r.site) }}
	}
	event := func(name, title string, f func(*site) int) column {
		return column{Column{name, "event", title}, 0, by(func(r *row) int64 { return int64(f(r.site)) }), func(_ *Tables, r *row) any {
			if r.site.allocs == 0 {
				return nil
			}
			return f(r.site)
		}}
	}
	return []column{
		siteIDColumn, siteColumn,
		{Column{"category", "text", "category"}, 0, func(*Tables) func(*row) int64 {
			rank := ranks(analyze.CategoryNames())
			return func(r *row) int64 { return int64(rank[r.site.category]) }
		}, func(_ *Tables, r *row) any { return r.site.category.String() }},
		{Column{"op", "text", "operators"}, 0, func(t *Tables) func(*row) int64 {
			names := make([]string, len(s.rows))
			for i, v := range s.rows {
				names[i] = strings.Join(v.operators, ", ")
			}
			rank := ranks(names)
			return func(r *row) int64 { return int64(rank[r.id]) }
		}, func(_ *Tables, r *row) any { return strings.Join(r.site.operators, ", ") }},
		number("held_bytes", "bytes", "holds", func(v *site) int64 { return v.heldBytes }),
		number("held_blocks", "count", "blocks held", func(v *site) int64 { return int64(v.heldBlocks) }),
		number("allocated_bytes", "bytes", "allocated in all", func(v *site) int64 { return v.allocBytes }),
		number("allocations", "count", "allocations", func(v *site) int64 { return int64(v.allocs) }),
		event("first_event", "first at", func(v *site) int { return v.first }),
		event("last_event", "last at", func(v *site) int { return v.last }),
		{Column{"grows_bytes_per_step", "rate", "grows a step"}, 0, func(t *Tables) func(*row) int64 {
			return func(r *row) int64 { return int64(t.rates[r.site.id]) }
		}, func(t *Tables, r *row) any {
			if n, ok := t.rates[r.site.id]; ok {
				return int64(n)
			}
			return nil
		}},
	}
}

// setGrowing notes which stacks leave memory behind step by step, and how much.
func (t *Tables) setGrowing() {
	t.growing = make(stackSet, t.in.Sites.Len())
	t.growsFrom = make([]int, t.in.Sites.Len())
	t.rates = make(map[int]float64)
	of := make(map[snapshot.StackID]int) // by Site.Same: the oldest block that it left behind
	for _, g := range t.in.Leaks.Growing {
		t.rates[t.in.Lines.Of(g.Stack, 0)] += g.BytesPerStep
		for i, id := range g.Stacks {
			of[t.in.Sites.At(id).Same] = g.FirstEvents[i]
		}
	}
	for id := range t.growing {
		t.growsFrom[id], t.growing[id] = of[t.in.Sites.At(snapshot.StackID(id)).Same]
	}
	t.judgedTo = -1
	for _, b := range t.in.Steps.Bounds {
		if t.in.Died < 0 || b <= t.in.Died {
			t.judgedTo = b
		}
	}
}

// leaked tells whether a block is one of those that a growing site left behind: allocated
// since it began to, and still there when its steps end.
func (t *Tables) leaked(r *row) bool {
	return t.growing.has(r.stack) && t.growsFrom[r.stack] <= r.from && r.from < t.judgedTo && r.freed >= t.judgedTo
}
