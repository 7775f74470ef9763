package table

import (
	"cmp"
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/made"
	"github.com/ullage-dev/ullage/snapshot"
)

// TestSortRows: both ways of sorting do what a stable sort does, whatever the keys.
func TestSortRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3), rapid.Just(int64(math.MaxInt64)), rapid.Int64Range(1<<40, 1<<40+5000))
		keys := rapid.SliceOfN(key, 0, 300).Draw(t, "keys")
		var rows, want []int32
		for i := range keys {
			rows, want = append(rows, int32(7*i)), append(want, int32(7*i))
		}
		slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(keys[a/7], keys[b/7]) })
		sortRows(rows, keys)
		if !slices.Equal(rows, want) {
			t.Fatalf("keys %v: %v, want %v", keys, rows, want)
		}
	})
}

// TestOrderCache: the cache forgets the oldest, keeps to its size, and always keeps the latest.
func TestOrderCache(t *testing.T) {
	c := newOrderCache(3000)
	key := func(query string) orderKey { return orderKey{what: Blocks, query: query} }
	for _, q := range []string{"a", "b", "c"} {
		c.put(key(q), &order{rows: make([]int32, 200)})
	}
	if c.get(key("a")) != nil || c.get(key("b")) == nil || c.get(key("c")) == nil {
		t.Error("of three orders of 1,000 bytes the oldest should be gone")
	}
	c.put(key("large"), &order{rows: make([]int32, 5000)})
	if len(c.entries) != 1 || c.get(key("large")) == nil {
		t.Errorf("an order larger than the cache should be all that is left, there are %d", len(c.entries))
	}
}

// madeTables are the tables of a made run. The bench that lists rows needs no leaks.
func madeTables(b *testing.B, events int) *Tables {
	r, w := io.Pipe()
	go func() {
		_, err := (made.Run{Events: events}).WritePickle(w)
		w.CloseWithError(err)
	}()
	rec, err := snapshot.Read(r, snapshot.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return newTables(rec)
}

// BenchmarkFirstAnswer asks for the first page of requests that were not asked before, of
// a run of 5.2 million events and 1.7 million blocks. Budget, on one core of an AMD EPYC at
// about 3 GHz: 150 ms each; and 10 ms for a next page.
func BenchmarkFirstAnswer(b *testing.B) {
	t := madeTables(b, 5_200_000)
	at := 3_000_000
	for _, q := range []Request{
		{What: Events},
		{What: Events, Sort: "-size_bytes"},
		{What: Events, Sort: "address"},
		{What: Events, Query: "action:alloc size>1MiB"},
		{What: Events, Query: "linear"},
		{What: Events, Query: "file:train -step:3", Sort: "site"},
		{What: Blocks},
		{What: Blocks, Sort: "-size_bytes"},
		{What: Blocks, Sort: "-life_events"},
		{What: Blocks, Sort: "category", Query: "size>64KiB"},
		{What: Blocks, Query: "pool:0.0 life<1000e"},
		{What: Blocks, At: &at, Sort: "-size_bytes"},
		{What: Segments, Sort: "-size_bytes"},
		{What: Sites},
		{What: Sites, At: &at},
	} {
		name := string(q.What) + " " + q.Query + " by " + q.Sort
		if q.At != nil {
			name += " at a moment"
		}
		q.Count = 200
		b.Run(name, func(b *testing.B) {
			var next time.Duration
			for b.Loop() {
				t.orders, t.held = newOrderCache(t.in.CacheBytes), new(heldCache)
				ask(b, t, q)
				began := time.Now()
				second := q
				second.From = 200
				ask(b, t, second)
				next += time.Since(began)
			}
			b.ReportMetric(float64(next.Microseconds())/float64(b.N)/1000, "ms/next")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/first")
		})
	}
}
