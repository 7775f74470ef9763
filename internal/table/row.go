package table

import (
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// row is a row of any table, while a request looks at it. A table sets what it has, and of
// that what the request needs.
type row struct {
	id        int
	addr      uint64
	size      int64 // bytes; of a site, what it holds
	requested int64
	stack     snapshot.StackID
	stream    snapshot.StreamID
	action    snapshot.Action
	timeUS    int64

	// Events. Of an event itself all three are its own ordinal; a site's are its first and
	// last allocation.
	from, freed, to int

	block int   // of the table of blocks; -1 for none
	site  *site // of a site
}

// none is the block of a row that has none.
const none = -1

// need is what a request has to know of each row. From, freed, to, and the size of a
// block, are always there.
type need uint16

const (
	needAddr need = 1 << iota
	needRequested
	needStack
	needStream
	needAction
	needTime
	needSize
	needBlock
)

// fromEvents are the columns of events that n asks for.
func (n need) fromEvents() (c snapshot.Columns) {
	for _, p := range [...]struct {
		need   need
		column snapshot.Columns
	}{{needAddr, snapshot.WithAddr}, {needRequested | needSize, snapshot.WithSize}, {needStack, snapshot.WithStack}, {needStream, snapshot.WithStream}, {needAction, snapshot.WithAction}, {needTime, snapshot.WithTime}} {
		if n&p.need != 0 {
			c |= p.column
		}
	}
	return c
}

// scope is the part of a table that a request is about.
type scope struct {
	at       int  // what is live after this event
	isAt     bool // at is set
	from, to int  // events, both included
	isRange  bool // from and to are set; else they are the whole recording
}

// source is one of the tables.
type source interface {
	// count returns how many rows a scope has; each calls f with them, in order.
	count(s scope) int
	each(s scope, n need, f func(*row))
	// fill sets all of r, whose id is set.
	fill(r *row)
	columns() []column
}

// rowReader decodes chunks of events, each once where they are asked for in order.
type rowReader struct {
	events *snapshot.Events
	batch  snapshot.Batch
	chunk  int
}

func newRowReader(tl *timeline.Timeline, want snapshot.Columns) *rowReader {
	return &rowReader{events: tl.Dev.Events, batch: snapshot.Batch{Want: want}, chunk: -1}
}

// read sets of r what event i says. Columns that were not asked for are empty.
func (d *rowReader) read(r *row, i int) {
	k, j := i/snapshot.EventsChunk, i%snapshot.EventsChunk
	if k != d.chunk {
		d.events.Chunk(k, &d.batch)
		d.chunk = k
	}
	b := &d.batch
	if len(b.Addr) > 0 {
		r.addr = b.Addr[j]
	}
	if len(b.Size) > 0 {
		r.requested = int64(b.Size[j])
	}
	if len(b.Stack) > 0 {
		r.stack = snapshot.StackID(b.Stack[j])
	}
	if len(b.Stream) > 0 {
		r.stream = snapshot.StreamID(b.Stream[j])
	}
	if len(b.Action) > 0 {
		r.action = snapshot.Action(b.Action[j])
	}
	if len(b.Time) > 0 {
		r.timeUS = int64(b.Time[j])
	}
}
