package table

import (
	"cmp"
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
	tests, err := t.tests(q.Query, about{q.What, s})
	if err != nil {
		return nil, err
	}
	if k.sort == "" {
		c = nil
	}
	o := t.makeOrder(q.What, s, src, tests, c)
	t.orders.put(k, o)
	return o, nil
}

// tests compiles a query; the cheap ones come first.
func (t *Tables) tests(query string, in about) ([]test, error) {
	words, err := parseQuery(query)
	if err != nil {
		return nil, err
	}
	var tests []test
	for i := range words {
		c, err := t.compile(&words[i], in)
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

// Keys at the ends of all others: of what is not there, and of an end that is not in the
// recording.
const (
	absent   = math.MinInt64
	unending = math.MaxInt64
)

// sortKey is a key as a number without sign, in the same order.
func sortKey(k int64) uint64 { return uint64(k) ^ 1<<63 }

// Sort keys of absent and unending.
const (
	firstKey = 0
	lastKey  = math.MaxUint64
)

// sorted returns the places of keys in ascending order of them; equal keys keep their
// order. Keys are packed with their places into 64 bits where they fit, as they nearly
// always do: five million take 0.1 s by radix then, a second by comparisons. It makes
// use of the memory of keys.
func sorted(keys []uint64) []int32 {
	places := make([]int32, len(keys))
	for i := range places {
		places[i] = int32(i)
	}
	if slices.IsSorted(keys) {
		return places
	}
	v := rangeOf(keys)
	placeBits, keyBits := bits.Len(uint(len(keys)-1)), bits.Len64(v.span)
	if keyBits+placeBits > 64 {
		slices.SortStableFunc(places, func(a, b int32) int { return cmp.Compare(keys[a], keys[b]) })
		return places
	}
	for i, k := range keys {
		keys[i] = v.pack(k)<<placeBits | uint64(i)
	}
	for i, p := range radixSort(keys, placeBits, placeBits+keyBits) {
		places[i] = int32(p & (1<<placeBits - 1))
	}
	return places
}

// keyRange is what keys have in common: the first key becomes 0, the least of the others 1,
// and the last key one above all others. Zeros that all have at their end are left out,
// nine of an address.
type keyRange struct {
	low   uint64
	zeros int
	span  uint64 // of packed keys
}

func rangeOf(keys []uint64) keyRange {
	v := keyRange{low: lastKey}
	high := uint64(firstKey)
	for _, k := range keys {
		if k != firstKey && k != lastKey {
			v.low, high = min(v.low, k), max(high, k)
		}
	}
	if high < v.low {
		v.span = 1 // there are no others
		return v
	}
	var set uint64
	for _, k := range keys {
		if k != firstKey && k != lastKey {
			set |= k - v.low
		}
	}
	v.zeros = bits.TrailingZeros64(set) & 63
	v.span = (high-v.low)>>v.zeros + 2
	if v.span < 2 {
		v.span = math.MaxUint64 // it does not fit
	}
	return v
}

func (v *keyRange) pack(k uint64) uint64 {
	switch k {
	case firstKey:
		return 0
	case lastKey:
		return v.span
	}
	return (k-v.low)>>v.zeros + 1
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
