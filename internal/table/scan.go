package table

import (
	"iter"
	"runtime"
	"sync"
)

// makeOrder passes over the rows of a scope once, in parts side by side where there are many.
func (t *Tables) makeOrder(what What, s scope, src source, tests []test, c *column) *order {
	want, key := t.wants(tests, c)
	rows := src.count(s)
	parts := t.split(what, s, rows)
	makers := make([]orderMaker, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		makers[i] = orderMaker{tests: tests, key: key, keys: newKeyList(), gapless: true}
		wg.Go(func() { src.each(part, want, makers[i].add) })
	}
	wg.Wait()
	o := join(makers)
	o.all = rows
	switch {
	case key != nil && !inOrder(makers):
		o.rows = sorted(makers, o.n)
	case !o.gapless:
		o.rows = rowsOf(makers, o.n)
	}
	return &o.order
}

// wants returns what has to be known of rows to test and to order them, and their key, nil
// where they stay as they stand.
func (t *Tables) wants(tests []test, c *column) (want need, key func(*row) int64) {
	want = needSize
	for i := range tests {
		want |= tests[i].need
	}
	if c == nil {
		return want, nil
	}
	return want | c.need, c.key(t)
}

// From how many rows on a scope is split, and into how many parts at the most: each has
// buffers of a megabyte.
const (
	manyRows = 1 << 18
	maxParts = 8
)

// split cuts a scope of many blocks or events into parts of as many events, in order.
func (t *Tables) split(what What, s scope, rows int) []scope {
	n := min(runtime.GOMAXPROCS(0), maxParts, rows/manyRows)
	if n < 2 || s.isAt || what != Blocks && what != Events {
		return []scope{s}
	}
	return cut(s, t.tl.Dev.Events.Len(), n)
}

// cut cuts a scope into n parts; there are so many events in all.
func cut(s scope, events, n int) []scope {
	from, to := -1, events-1
	if s.isRange {
		from, to = s.from, s.to
	}
	parts := make([]scope, n)
	for i := range parts {
		end := from + int(int64(to-from+1)*int64(i+1)/int64(n)) - 1
		parts[i] = scope{isRange: true, from: from, to: end}
		if i > 0 {
			parts[i].from = parts[i-1].to + 1
		}
	}
	return parts
}

// orderMaker gathers the rows of a part that match.
type orderMaker struct {
	order
	tests   []test
	key     func(*row) int64 // nil: rows stay as they stand
	keys    keyList
	list    pieces[int32] // of rows
	gapless bool          // so far: then there is no list
	top     int           // the highest row
}

func (m *orderMaker) add(r *row) {
	for i := range m.tests {
		if !m.tests[i].ok(r) {
			return
		}
	}
	if m.n == 0 {
		m.first = r.id
	}
	if m.gapless && r.id != m.first+m.n {
		m.write()
	}
	if !m.gapless {
		m.list.add(int32(r.id))
	}
	m.n++
	m.bytes += r.size
	m.top = max(m.top, r.id)
	if m.key != nil {
		m.keys.add(sortKey(m.key(r)))
	}
}

// write makes a list of rows that had no gaps so far.
func (m *orderMaker) write() {
	m.gapless = false
	for k := range m.n {
		m.list.add(int32(m.first + k))
	}
}

// pieces goes over the keys of all rows, and the rows beside them, piece by piece.
func (m *orderMaker) pieces() iter.Seq2[[]uint64, []int32] {
	return func(yield func([]uint64, []int32) bool) {
		listed, next := m.list.all(), m.first
		var run []int32
		for k, keys := range m.keys.all() {
			if m.gapless {
				run = run[:0]
				for range keys {
					run = append(run, int32(next))
					next++
				}
			} else {
				run = listed[k]
			}
			if !yield(keys, run) {
				return
			}
		}
	}
}

// join adds parts up, but for their lists.
func join(parts []orderMaker) *orderMaker {
	o := &orderMaker{gapless: true}
	for i := range parts {
		p := &parts[i]
		if p.n == 0 {
			continue
		}
		if o.n == 0 {
			o.first = p.first
		}
		o.gapless = o.gapless && p.gapless && p.first == o.first+o.n
		o.n += p.n
		o.bytes += p.bytes
	}
	return o
}

// rowsOf puts the rows of parts, n in all, behind each other.
func rowsOf(parts []orderMaker, n int) []int32 {
	rows := make([]int32, 0, n)
	for i := range parts {
		p := &parts[i]
		if p.gapless {
			p.write()
		}
		for _, piece := range p.list.all() {
			rows = append(rows, piece...)
		}
		p.list = pieces[int32]{}
	}
	return rows
}
