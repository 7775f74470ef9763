package table

import (
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
