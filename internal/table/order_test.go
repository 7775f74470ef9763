package table

import (
	"cmp"
	"io"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/made"
	"github.com/ullage-dev/ullage/snapshot"
)

// TestSorted: both ways of sorting do what a stable sort does, whatever the keys, which rows
// match, and how they are parted.
func TestSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3), rapid.SampledFrom([]int64{absent, unending}), rapid.Int64Range(1<<40, 1<<40+5000))
		list := rapid.SliceOfN(key, 0, 1500).Draw(t, "keys")
		every := rapid.IntRange(1, 3).Draw(t, "every")
		parts := make([]orderMaker, rapid.IntRange(1, 3).Draw(t, "parts"))
		for i := range parts {
			parts[i] = orderMaker{key: func(r *row) int64 { return list[r.id] }, keys: newKeyList(), gapless: true}
		}
		want := []int32{}
		for i := 0; i < len(list); i += every {
			parts[i*len(parts)/len(list)].add(&row{id: i})
			want = append(want, int32(i))
		}
		asTheyStand := slices.Clone(want)
		slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(list[a], list[b]) })
		if inOrder(parts) != slices.Equal(want, asTheyStand) {
			t.Fatalf("keys %v: in order is %v", list, inOrder(parts))
		}
		if got := sorted(parts, join(parts).n); !slices.Equal(got, want) {
			t.Fatalf("keys %v: %v, want %v", list, got, want)
		}
	})
}

// TestParts: rows that are looked at in parts are those that are looked at in one go.
func TestParts(t *testing.T) {
	tables := tablesOf(t, "bert_varlen-ring")
	n := tables.tl.Dev.Events.Len()
	rapid.Check(t, func(t *rapid.T) {
		what := rapid.SampledFrom([]What{Blocks, Events}).Draw(t, "table")
		s := scope{}
		if rapid.Bool().Draw(t, "part of it") {
			s = scope{isRange: true, from: rapid.IntRange(-1, n-1).Draw(t, "from")}
			s.to = rapid.IntRange(s.from, n-1).Draw(t, "to")
		}
		src, err := tables.source(what, s)
		if err != nil {
			t.Fatal(err)
		}
		var whole, parts []int
		src.each(s, 0, func(r *row) { whole = append(whole, r.id) })
		for _, p := range cut(s, n, rapid.IntRange(1, 9).Draw(t, "parts")) {
			before := len(parts)
			src.each(p, 0, func(r *row) { parts = append(parts, r.id) })
			if got := len(parts) - before; got != src.count(p) {
				t.Fatalf("%+v: %d rows are said to be %d", p, got, src.count(p))
			}
		}
		if !slices.Equal(whole, parts) {
			t.Fatalf("%s %+v: %v in parts, want %v", what, s, parts, whole)
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

// madeTables are the tables of a made run.
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
// a run of 5.2 million events and 1.7 million blocks. Budget, on two cores of an AMD EPYC at
// about 3 GHz that do nothing else: 150 ms each; and 10 ms for a next page.
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
