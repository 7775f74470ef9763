package table

import (
	"slices"
	"strconv"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// Column describes a column of an answer.
type Column struct {
	Name  string `json:"name"`
	Type  string `json:"type"` // bytes, count, us, rate, event, block, site, step, address, text
	Title string `json:"title"`
}

// column is a column of a table: how to order rows by it, and what to show.
type column struct {
	Column
	need  need
	key   keyMaker // natural where rows are in that order as they stand
	value func(*Tables, *row) any
}

// keyMaker makes the function that orders rows: by its value, ascending.
type keyMaker func(*Tables) func(*row) int64

// natural orders rows as they stand.
var natural keyMaker

func by(f func(*row) int64) keyMaker {
	return func(*Tables) func(*row) int64 { return f }
}

// byText orders rows by names, of which f gives the number.
func byText(names []string, f func(*row) int) keyMaker {
	return func(*Tables) func(*row) int64 {
		rank := ranks(names)
		return func(r *row) int64 {
			if i := f(r); i >= 0 {
				return int64(rank[i])
			}
			return absent
		}
	}
}

// ranks returns the place of each name among all of them in order. Equal names have
// equal places.
func ranks(names []string) []int32 {
	sorted := slices.Compact(slices.Sorted(slices.Values(names)))
	rank := make([]int32, len(names))
	for i, name := range names {
		k, _ := slices.BinarySearch(sorted, name)
		rank[i] = int32(k)
	}
	return rank
}

// addrKey orders by address. All 64 bits of it fit a key: no two differ in the last one only.
func addrKey(r *row) int64 { return int64(r.addr >> 1) }

// Address is an address as answers give it.
func Address(addr uint64) string { return "0x" + strconv.FormatUint(addr, 16) }

var (
	addressColumn = column{Column{"address", "address", "address"}, needAddr, by(addrKey), func(_ *Tables, r *row) any { return Address(r.addr) }}
	sizeColumn    = column{Column{"size_bytes", "bytes", "size"}, needSize, by(func(r *row) int64 { return r.size }), func(_ *Tables, r *row) any { return r.size }}
	streamColumn  = column{Column{"stream", "text", "stream"}, needStream, by(func(r *row) int64 { return int64(r.stream) }), func(t *Tables, r *row) any { return t.StreamName(r.stream) }}
	stateColumn   = column{Column{"state", "text", "state at the end"}, needStack, func(t *Tables) func(*row) int64 { return func(r *row) int64 { return int64(t.stateOf(r)) } }, func(t *Tables, r *row) any { return states[t.stateOf(r)] }}

	categoryColumn = column{Column{"category", "text", "category"}, needBlock, (*Tables).categoryKey, func(t *Tables, r *row) any {
		if r.block == none {
			return nil
		}
		return t.in.Categories.Of(r.block).String()
	}}
	siteColumn   = column{Column{"site", "text", "site"}, needStack, (*Tables).siteKey, func(t *Tables, r *row) any { return t.in.Lines.Name(t.lineOf(r)) }}
	siteIDColumn = column{Column{"site_id", "site", "site's number"}, needStack, func(t *Tables) func(*row) int64 { return func(r *row) int64 { return int64(t.in.SiteID(t.lineOf(r))) } }, func(t *Tables, r *row) any { return t.in.SiteID(t.lineOf(r)) }}
	opColumn     = column{Column{"op", "text", "operator"}, needStack, (*Tables).opKey, func(t *Tables, r *row) any { return t.in.Sites.Op(r.stack) }}
	moduleColumn = column{Column{"module", "text", "module"}, needStack, (*Tables).moduleKey, func(t *Tables, r *row) any { return t.in.Modules.Name(t.in.Modules.Of(r.stack, r.from)) }}
	stepColumn   = column{Column{"step", "step", "step"}, 0, natural, func(t *Tables, r *row) any { return t.Step(r.from) }}
)

// state is what became of a block or a segment by the end of the recording.
type state uint8

const (
	freed   state = iota
	pending       // let go of, and not free yet
	live
	leaked // live, and of a place that leaves some behind step by step
)

var states = [...]string{freed: "freed", pending: "pending", live: "live", leaked: "leaked"}

func (t *Tables) stateOf(r *row) state {
	switch {
	case r.block != none && t.leaked(r):
		return leaked
	case r.freed == timeline.Never:
		return live
	case r.to == timeline.Never:
		return pending
	}
	return freed
}

// StreamName is a stream's raw handle.
func (t *Tables) StreamName(id snapshot.StreamID) string {
	var raw uint64
	if int(id) < len(t.tl.Rec.Streams) {
		raw = t.tl.Rec.Streams[id]
	}
	return Address(raw)
}

// Step is the step that an event falls into, or null.
func (t *Tables) Step(event int) any {
	if k := t.in.Steps.Of(event); k >= 0 && k < t.in.Steps.Len() {
		return k
	}
	return nil
}

// lineOf is the number of the line that a row is charged to.
func (t *Tables) lineOf(r *row) int {
	if r.site != nil {
		return r.site.id
	}
	return t.in.Lines.Of(r.stack, r.from)
}

func (t *Tables) siteKey() func(*row) int64 {
	rank := ranks(t.lineNames())
	return func(r *row) int64 { return int64(rank[t.lineOf(r)]) }
}

func (t *Tables) lineNames() []string {
	names := make([]string, t.in.Lines.Len())
	for i := range names {
		names[i] = t.in.Lines.Name(i)
	}
	return names
}

func (t *Tables) moduleKey() func(*row) int64 {
	names := make([]string, t.in.Modules.Len())
	for i := range names {
		names[i] = t.in.Modules.Name(i)
	}
	rank := ranks(names)
	return func(r *row) int64 { return int64(rank[t.in.Modules.Of(r.stack, r.from)]) }
}

func (t *Tables) opKey() func(*row) int64 {
	rank := ranks(t.stacks.ops())
	return func(r *row) int64 { return int64(rank[t.stacks.id(r.stack)]) }
}

func (t *Tables) categoryKey() func(*row) int64 {
	names := analyze.CategoryNames()
	rank := ranks(names)
	return func(r *row) int64 {
		if r.block == none {
			return absent
		}
		return int64(rank[t.in.Categories.Of(r.block)])
	}
}

// sinceFirst is the time of an event in microseconds since the first, or null.
func (t *Tables) sinceFirst(r *row) any {
	e := t.tl.Dev.Events
	if !e.HasTimes || r.timeUS == 0 {
		return nil
	}
	return r.timeUS - e.At(0).TimeUS
}
