package table

import (
	"math"
	"math/bits"
	"slices"
	"sync"
)

// order is which rows of a table match a request, ascending by its column.
type order struct {
	rows  []int32 // nil where they are the whole scope as it stands: first, first+1, …
	first int
	n     int // that match
	all   int // in the scope
	bytes int64
}

// at returns the id of the k-th row.
func (o *order) at(k int, down bool) int {
	if down {
		k = o.n - 1 - k
	}
	if o.rows == nil {
		return o.first + k
	}
	return int(o.rows[k])
}

// order returns the order of rows of a request, from the cache where it was asked for
// lately. Both directions of a sort are one order.
func (t *Tables) order(q Request, s scope, src source, c *column) (*order, error) {
	k := orderKey{q.What, q.Query, s, ""}
	if c != nil && c.key != nil {
		k.sort = c.Name
	}
	if o := t.orders.get(k); o != nil {
		return o, nil
	}
	tests, err := t.tests(q)
	if err != nil {
		return nil, err
	}
	if k.sort == "" {
		c = nil
	}
	o := t.makeOrder(s, src, tests, c)
	t.orders.put(k, o)
	return o, nil
}

// tests compiles the query of a request; the cheap ones come first.
func (t *Tables) tests(q Request) ([]test, error) {
	words, err := parseQuery(q.Query)
	if err != nil {
		return nil, err
	}
	var tests []test
	for i := range words {
		c, err := t.compile(&words[i], q.What)
		if err != nil {
			return nil, err
		}
		if fits := c.ok; words[i].not {
			c.ok = func(r *row) bool { return !fits(r) }
		}
		tests = append(tests, c)
	}
	slices.SortStableFunc(tests, func(a, b test) int { return a.cost - b.cost })
	return tests, nil
}

// makeOrder passes over the rows of a scope once.
func (t *Tables) makeOrder(s scope, src source, tests []test, c *column) *order {
	m := orderMaker{order: &order{all: src.count(s)}, tests: tests, gapless: len(tests) == 0 && c == nil}
	want := needSize
	for i := range tests {
		want |= tests[i].need
	}
	if c != nil {
		want |= c.need
		m.key = c.key(t)
	}
	if len(tests) == 0 && !m.gapless {
		m.order.rows, m.keys = make([]int32, 0, m.order.all), make([]int64, 0, m.order.all)
	}
	src.each(s, want, m.add)
	if m.key != nil {
		sortRows(m.order.rows, m.keys)
	}
	m.order.rows = slices.Clip(m.order.rows)
	return m.order
}

// orderMaker gathers the rows that match.
type orderMaker struct {
	order   *order
	tests   []test
	key     func(*row) int64 // nil: rows stay as they stand
	keys    []int64
	gapless bool // so far: then there is no list
}

func (m *orderMaker) add(r *row) {
	for i := range m.tests {
		if !m.tests[i].ok(r) {
			return
		}
	}
	o := m.order
	if m.gapless && o.n == 0 {
		o.first = r.id
	}
	if m.gapless && r.id != o.first+o.n {
		m.gapless = false
		for k := range o.n {
			o.rows = append(o.rows, int32(o.first+k))
		}
	}
	o.n++
	o.bytes += r.size
	if m.gapless {
		return
	}
	o.rows = append(o.rows, int32(r.id))
	if m.key != nil {
		m.keys = append(m.keys, m.key(r))
	}
}

// Keys at the ends of all others: of what is not there, and of an end that is not in the
// recording.
const (
	absent   = math.MinInt64
	unending = math.MaxInt64
)

// sortRows sorts rows by their keys, ascending; equal keys keep their order. Keys are
// packed with their places into 64 bits where they fit, as they nearly always do: five
// million rows take 0.1 s by radix then, a second by comparisons.
func sortRows(rows []int32, keys []int64) {
	if slices.IsSorted(keys) {
		return
	}
	v := rangeOf(keys)
	indexBits, keyBits := bits.Len(uint(len(keys)-1)), bits.Len64(v.span)
	if keyBits+indexBits > 64 {
		sortByComparison(rows, keys)
		return
	}
	packed := make([]uint64, len(keys))
	for i, k := range keys {
		packed[i] = v.pack(k)<<indexBits | uint64(i)
	}
	packed = radixSort(packed, indexBits, indexBits+keyBits)
	sorted := make([]int32, len(rows))
	for i, p := range packed {
		sorted[i] = rows[p&(1<<indexBits-1)]
	}
	copy(rows, sorted)
}

// keyRange is what keys have in common: absent becomes 0, the least of the others 1, and
// unending one above all others. Zeros that all have at their end are left out, nine of an
// address.
type keyRange struct {
	low   int64
	zeros int
	span  uint64 // of packed keys
}

func rangeOf(keys []int64) keyRange {
	v := keyRange{low: unending}
	high := int64(absent)
	for _, k := range keys {
		if k != absent && k != unending {
			v.low, high = min(v.low, k), max(high, k)
		}
	}
	if high < v.low {
		v.span = 1 // there are no others
		return v
	}
	var set uint64
	for _, k := range keys {
		if k != absent && k != unending {
			set |= uint64(k) - uint64(v.low)
		}
	}
	v.zeros = bits.TrailingZeros64(set) & 63
	v.span = (uint64(high)-uint64(v.low))>>v.zeros + 2
	if v.span < 2 {
		v.span = math.MaxUint64 // it does not fit
	}
	return v
}

func (v *keyRange) pack(k int64) uint64 {
	switch k {
	case absent:
		return 0
	case unending:
		return v.span
	}
	return (uint64(k)-uint64(v.low))>>v.zeros + 1
}

func sortByComparison(rows []int32, keys []int64) {
	index := make([]int32, len(rows))
	for i := range index {
		index[i] = int32(i)
	}
	slices.SortStableFunc(index, func(a, b int32) int {
		switch {
		case keys[a] < keys[b]:
			return -1
		case keys[a] > keys[b]:
			return 1
		}
		return 0
	})
	sorted := make([]int32, len(rows))
	for i, k := range index {
		sorted[i] = rows[k]
	}
	copy(rows, sorted)
}

// radixBits is how many bits a pass sorts by: its counters stay in the fastest cache.
const radixBits = 11

// radixSort sorts by the bits [from, to), the lowest first. It returns list or a slice as
// long.
func radixSort(list []uint64, from, to int) []uint64 {
	spare := make([]uint64, len(list))
	for shift := from; shift < to; shift += radixBits {
		var count [1<<radixBits + 1]int
		mask := uint64(1)<<min(radixBits, to-shift) - 1
		for _, v := range list {
			count[v>>shift&mask+1]++
		}
		if slices.Contains(count[1:], len(list)) {
			continue // all alike here
		}
		for i := 1; i <= int(mask); i++ {
			count[i] += count[i-1]
		}
		for _, v := range list {
			d := v >> shift & mask
			spare[count[d]] = v
			count[d]++
		}
		list, spare = spare, list
	}
	return list
}

// orderKey is what an order depends on.
type orderKey struct {
	what  What
	query string
	scope scope
	sort  string
}

// orderCache keeps the orders of recent requests, the latest last, up to a number of bytes
// and of entries. The latest is kept whatever its size.
type orderCache struct {
	mu       sync.Mutex
	maxBytes int64
	entries  []orderEntry
}

type orderEntry struct {
	key   orderKey
	order *order
}

const maxOrders = 64

func newOrderCache(maxBytes int64) *orderCache { return &orderCache{maxBytes: maxBytes} }

func (c *orderCache) get(k orderKey) *order {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.entries, func(e orderEntry) bool { return e.key == k })
	if i < 0 {
		return nil
	}
	e := c.entries[i]
	c.entries = append(slices.Delete(c.entries, i, i+1), e)
	return e.order
}

func (c *orderCache) put(k orderKey, o *order) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(slices.DeleteFunc(c.entries, func(e orderEntry) bool { return e.key == k }), orderEntry{k, o})
	var bytes int64
	for _, e := range c.entries {
		bytes += e.sizeBytes()
	}
	for len(c.entries) > 1 && (bytes > c.maxBytes || len(c.entries) > maxOrders) {
		bytes -= c.entries[0].sizeBytes()
		c.entries = slices.Delete(c.entries, 0, 1)
	}
}

func (e *orderEntry) sizeBytes() int64 {
	return 4*int64(cap(e.order.rows)) + int64(len(e.key.query)) + 200
}
