package table

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/timeline"
)

// What names a table.
type What string

// The tables.
const (
	Blocks   What = "blocks"
	Sites    What = "sites"
	Segments What = "segments"
	Events   What = "events"
)

// Input is what tables are made of. All of it is of one device, and does not change.
type Input struct {
	TL         *timeline.Timeline
	Sites      *analyze.Sites
	Lines      *analyze.Places // what sites are
	Modules    *analyze.Places
	Categories *analyze.BlockCategories
	Steps      analyze.Steps
	Leaks      analyze.LeakReport
	Died       int   // event of the failure that ended the run, or -1
	CacheBytes int64 // for the order of rows of recent requests; 0 is 64 MiB

	// SiteID is the number of a line in answers; nil: its place in Lines.
	SiteID func(line int) int
}

// Tables answers requests about one device.
type Tables struct {
	in     Input
	tl     *timeline.Timeline
	stacks *stacks
	orders *orderCache
	held   *heldCache
	pins   pinCache

	growing   stackSet        // stacks of the sites that grow
	growsFrom []int           // by StackID: event of the oldest block that a site left behind
	judgedTo  int             // event up to which sites were judged
	rates     map[int]float64 // by line: bytes that it leaves behind a step

	// Made on first use.
	lives     func() *lives
	segments  func() *segmentIndex
	moves     func() map[int]int // segment events: the segment that they bring or end
	blockPool func() poolFinder
}

// New prepares tables. It costs little: what needs a pass over the recording is made when
// it is first asked for.
func New(in Input) *Tables {
	if in.CacheBytes <= 0 {
		in.CacheBytes = 64 << 20
	}
	if in.SiteID == nil {
		in.SiteID = func(line int) int { return line }
	}
	t := &Tables{in: in, tl: in.TL, stacks: newStacks(in.TL.Rec, in.Sites), orders: newOrderCache(in.CacheBytes), held: new(heldCache)}
	t.lives = sync.OnceValue(func() *lives { return newLives(t.tl) })
	t.segments = sync.OnceValue(func() *segmentIndex { return newSegmentIndex(t.tl.Segments) })
	t.moves = sync.OnceValue(t.segmentMoves)
	t.blockPool = sync.OnceValue(t.findBlockPool)
	t.setGrowing()
	return t
}

// Request asks for rows of a table.
type Request struct {
	What  What
	Query string
	Sort  string // a column, with - before it for falling; "" is the table's own order
	From  int    // the first row
	Count int    // how many; 0 is 100

	At    *int    // only what is live after this event (-1: before the first)
	Range *[2]int // only what lies in these events, both included
}

// MaxCount is how many rows an answer has at the most.
const MaxCount = 1000

// Answer is some of the rows of a table that match a request.
type Answer struct {
	Rows          int      `json:"rows"`           // of the table, in the part of the recording that was asked about
	Matching      int      `json:"matching"`       // of these, those that match the query
	MatchingBytes int64    `json:"matching_bytes"` // sum of their sizes; of sites, of what they hold
	From          int      `json:"from"`           // the first of data
	Columns       []Column `json:"columns"`
	Data          [][]any  `json:"data"`
}

// RequestError tells that a request is not one that can be answered.
type RequestError struct{ Message string }

func (e *RequestError) Error() string { return e.Message }

func requestErrorf(format string, args ...any) error {
	return &RequestError{fmt.Sprintf(format, args...)}
}

// Ask answers a request. An error is a *QueryError or a *RequestError.
func (t *Tables) Ask(q Request) (*Answer, error) {
	s, err := t.scopeOf(q)
	if err != nil {
		return nil, err
	}
	if q.Count == 0 {
		q.Count = 100
	}
	if q.From < 0 || q.Count < 0 || q.Count > MaxCount {
		return nil, requestErrorf("rows %d and %d more: expected a first row of at least 0 and at most %d rows", q.From, q.Count, MaxCount)
	}
	src, err := t.source(q.What, s)
	if err != nil {
		return nil, err
	}
	columns := src.columns()
	sort, down, err := sortBy(columns, q)
	if err != nil {
		return nil, err
	}
	o, err := t.order(q, s, src, sort)
	if err != nil {
		return nil, err
	}
	a := &Answer{Rows: o.all, Matching: o.n, MatchingBytes: o.bytes, From: min(q.From, o.n), Data: [][]any{}}
	for i := range columns {
		a.Columns = append(a.Columns, columns[i].Column)
	}
	for k := a.From; k < min(a.From+q.Count, o.n); k++ {
		r := row{id: o.at(k, down)}
		src.fill(&r)
		a.Data = append(a.Data, t.values(columns, &r))
	}
	return a, nil
}

func (t *Tables) values(columns []column, r *row) []any {
	out := make([]any, len(columns))
	for i := range columns {
		out[i] = columns[i].value(t, r)
	}
	return out
}

// Row returns row id of a table, by the names of its columns: of blocks the number of a
// block, of events an event, of segments the place in Timeline.Segments.
func (t *Tables) Row(what What, id int) map[string]any {
	src, err := t.source(what, scope{})
	if err != nil {
		return nil
	}
	r := row{id: id}
	src.fill(&r)
	out := make(map[string]any)
	for _, c := range src.columns() {
		out[c.Name] = c.value(t, &r)
	}
	return out
}

func (t *Tables) source(what What, s scope) (source, error) {
	switch what {
	case Blocks:
		return blockRows{t, s}, nil
	case Sites:
		return t.siteRows(s), nil
	case Segments:
		return segmentRows{t}, nil
	case Events:
		return eventRows{t}, nil
	}
	return nil, requestErrorf("there is no table %q; expected blocks, sites, segments or events", what)
}

// scopeOf checks the part of the recording that a request is about.
func (t *Tables) scopeOf(q Request) (scope, error) {
	var s scope
	last := t.tl.Dev.Events.Len() - 1
	if q.At != nil {
		s.isAt, s.at = true, *q.At
		if s.at < -1 || s.at > last {
			return s, requestErrorf("there is no event %d: the last is %d", s.at, last)
		}
		if q.What == Events {
			return s, requestErrorf("events are not live after one of them: expected a range")
		}
	}
	if q.Range != nil {
		s.isRange, s.from, s.to = true, q.Range[0], q.Range[1]
		if s.from < -1 || s.to > last || s.from > s.to {
			return s, requestErrorf("there is no range of events %d to %d: the last is %d", s.from, s.to, last)
		}
	}
	return s, nil
}

// sortBy finds the column that a request sorts by; nil is the table's own order.
func sortBy(columns []column, q Request) (c *column, down bool, err error) {
	name, down := strings.CutPrefix(q.Sort, "-")
	if name == "" {
		return nil, down, nil
	}
	i := slices.IndexFunc(columns, func(c column) bool { return c.Name == name })
	if i < 0 {
		names := make([]string, len(columns))
		for i := range columns {
			names[i] = columns[i].Name
		}
		return nil, false, requestErrorf("sort: the table of %s has no column %q; it has %s", q.What, name, strings.Join(names, ", "))
	}
	return &columns[i], down, nil
}
