package table

import (
	"runtime"
	"sync"
)

// makeOrder passes over the rows of a scope once, in parts side by side where there are many.
func (t *Tables) makeOrder(what What, s scope, src source, tests []test, c *column) *order {
	want, key := t.wants(tests, c)
	rows := src.count(s)
	parts := t.split(what, s, rows)
	makers, keys := newMakers(src, parts, tests, key, rows)
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() { src.each(part, want, makers[i].add) })
	}
	wg.Wait()
	o := join(makers)
	o.all = rows
	if key != nil {
		if keys == nil {
			keys = keysOf(makers)
		}
		o.sort(keys)
	}
	return o
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

// newMakers makes what gathers the rows of each part. Where all rows match, it is known how
// many keys there will be, and where each part's stand: then they are returned.
func newMakers(src source, parts []scope, tests []test, key func(*row) int64, rows int) (makers []orderMaker, keys []uint64) {
	makers = make([]orderMaker, len(parts))
	if len(tests) == 0 && key != nil {
		keys = make([]uint64, rows)
	}
	rest := keys
	for i, part := range parts {
		makers[i] = orderMaker{tests: tests, key: key, gapless: len(tests) == 0}
		if keys != nil {
			n := src.count(part)
			makers[i].keys, rest = rest[:0:n], rest[n:]
		}
	}
	return makers, keys
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
