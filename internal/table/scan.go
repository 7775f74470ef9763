package table

import (
	"runtime"
	"sync"
)

// makeOrder passes over the rows of a scope once, in parts side by side where there are many.
func (t *Tables) makeOrder(what What, s scope, src source, tests []test, c *column) *order {
	want := needSize
	for i := range tests {
		want |= tests[i].need
	}
	var key func(*row) int64
	if c != nil {
		want |= c.need
		key = c.key(t)
	}
	rows := src.count(s)
	parts := t.split(what, s, rows)
	makers := make([]orderMaker, len(parts))
	var all []uint64 // keys, where it is known beforehand how many there are
	if len(tests) == 0 && key != nil {
		all = make([]uint64, rows)
	}
	rest := all
	var wg sync.WaitGroup
	for i, part := range parts {
		makers[i] = orderMaker{tests: tests, key: key, gapless: len(tests) == 0}
		if all != nil {
			n := src.count(part)
			makers[i].keys, rest = rest[:0:n], rest[n:]
		}
		wg.Go(func() { src.each(part, want, makers[i].add) })
	}
	wg.Wait()
	o := join(makers)
	o.all = rows
	if key != nil {
		if all == nil {
			all = keysOf(makers)
		}
		o.sort(all)
	}
	return o
}

// sort puts the rows in the order of their keys.
func (o *order) sort(keys []uint64) {
	places := sorted(keys)
	for i, p := range places {
		if o.rows == nil {
			places[i] = int32(o.first) + p
		} else {
			places[i] = o.rows[p]
		}
	}
	o.rows = places
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
	keys    []uint64
	gapless bool // so far: then there is no list
}

func (m *orderMaker) add(r *row) {
	for i := range m.tests {
		if !m.tests[i].ok(r) {
			return
		}
	}
	if m.gapless && m.n == 0 {
		m.first = r.id
	}
	if m.gapless && r.id != m.first+m.n {
		m.write()
	}
	m.n++
	m.bytes += r.size
	if m.key != nil {
		m.keys = append(m.keys, sortKey(m.key(r)))
	}
	if !m.gapless {
		m.rows = append(m.rows, int32(r.id))
	}
}

// write makes a list of rows that had no gaps so far.
func (m *orderMaker) write() {
	m.gapless = false
	for k := range m.n {
		m.rows = append(m.rows, int32(m.first+k))
	}
}

// join puts the rows of parts behind each other.
func join(parts []orderMaker) *order {
	o := new(order)
	gapless := true
	for i := range parts {
		p := &parts[i]
		gapless = gapless && p.gapless && (o.n == 0 || p.n == 0 || p.first == o.first+o.n)
		if o.n == 0 {
			o.first = p.first
		}
		o.n += p.n
		o.bytes += p.bytes
	}
	if gapless {
		return o
	}
	o.rows = make([]int32, 0, o.n)
	for i := range parts {
		p := &parts[i]
		if p.gapless {
			p.write()
		}
		o.rows = append(o.rows, p.rows...)
		p.rows = nil
	}
	return o
}

// keysOf puts the keys of parts behind each other.
func keysOf(parts []orderMaker) []uint64 {
	if len(parts) == 1 {
		return parts[0].keys
	}
	var keys []uint64
	for i := range parts {
		keys = append(keys, parts[i].keys...)
		parts[i].keys = nil
	}
	return keys
}
