package table

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// recorded are runs of every kind: ends in a failure, begins in a ring that lost its
// beginning, private pools, ranks with C++ frames, a leak.
var recorded = []string{"bert_varlen-lim16", "bert_varlen-ring", "cudagraph", "ddp-rank0", "fsdp2-rank0", "leak_eval_outputs-oom", "resnet50"}

// tablesOf makes the tables of a recording's busiest device. Names without a folder are of
// testdata/recordings.
func tablesOf(tb testing.TB, name string) *Tables {
	tb.Helper()
	if !strings.Contains(name, "/") {
		name = "recordings/" + name
	}
	file, err := os.Open(filepath.Join("..", "..", "testdata", filepath.FromSlash(name)+".pickle.xz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	rec, err := snapshot.Read(file, snapshot.Options{Name: name})
	if err != nil {
		tb.Fatal(err)
	}
	return newTables(rec)
}

func newTables(rec *snapshot.Recording) *Tables {
	dev := slices.MaxFunc(rec.Devices, func(a, b *snapshot.Device) int { return a.Events.Len() - b.Events.Len() })
	tl, sites := timeline.Build(rec, dev), analyze.NewSites(rec)
	in := Input{
		TL: tl, Sites: sites, Lines: analyze.NewLines(sites), Modules: analyze.NewModules(sites),
		Categories: analyze.CategorizeBlocks(tl, sites), Steps: analyze.FindSteps(tl, sites), Died: -1,
	}
	if f := analyze.FindOOMs(tl, 0).Fatal; f != nil {
		in.Died = f.Event
	}
	in.Leaks = analyze.Leaks(tl, sites, in.Steps, analyze.LeakOptions{DiedAt: in.Died})
	return New(in)
}

// ask answers a request that must be answerable.
func ask(tb testing.TB, t *Tables, q Request) *Answer {
	tb.Helper()
	a, err := t.Ask(q)
	if err != nil {
		tb.Fatalf("%+v: %v", q, err)
	}
	return a
}

// all returns every row that matches, page by page.
func all(tb testing.TB, t *Tables, q Request) [][]any {
	tb.Helper()
	var rows [][]any
	q.Count = MaxCount
	for {
		q.From = len(rows)
		a := ask(tb, t, q)
		if rows = append(rows, a.Data...); len(rows) == a.Matching {
			return rows
		}
		if len(a.Data) == 0 {
			tb.Fatalf("%+v: %d of %d rows, and no more", q, len(rows), a.Matching)
		}
	}
}

// place returns the place of a column.
func place(tb testing.TB, a *Answer, name string) int {
	tb.Helper()
	i := slices.IndexFunc(a.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		tb.Fatalf("there is no column %s in %+v", name, a.Columns)
	}
	return i
}

// TestSumsAtThePeak: blocks and sites that are live at the peak add up to what the replay
// counted there and to what explain says of its holders, segments to what was reserved.
func TestSumsAtThePeak(t *testing.T) {
	for _, name := range recorded {
		t.Run(name, func(t *testing.T) {
			tables := tablesOf(t, name)
			at := tables.tl.Peak.Allocated.Event
			now := tables.tl.TotalsAt(at)
			for what, want := range map[What]int64{Blocks: now.Allocated, Sites: now.Allocated, Segments: now.Reserved} {
				if a := ask(t, tables, Request{What: what, At: &at}); a.MatchingBytes != want {
					t.Errorf("%s at e%d: %d bytes, the replay counted %d", what, at, a.MatchingBytes, want)
				}
			}
			sameAsHolders(t, tables, at)
		})
	}
}

func sameAsHolders(t *testing.T, tables *Tables, at int) {
	t.Helper()
	held := analyze.Holders(tables.tl, tables.in.Sites, at, analyze.HolderOptions{Top: -1})
	want := map[string]string{}
	for _, g := range held.Groups {
		want[g.Name] = fmt.Sprintf("%v %v %v", g.Category, g.Bytes, g.Blocks)
	}
	a := ask(t, tables, Request{What: Sites, At: &at})
	name, category, bytes, blocks := place(t, a, "site"), place(t, a, "category"), place(t, a, "held_bytes"), place(t, a, "held_blocks")
	got := map[string]string{}
	for _, row := range all(t, tables, Request{What: Sites, At: &at}) {
		got[row[name].(string)] = fmt.Sprintf("%v %v %v", row[category], row[bytes], row[blocks])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sites at e%d (-holders +table):\n%s", at, diff)
	}
}

// TestOrders: sorted by any column, in both directions, a table has every row once, in
// order, and nulls together at one end.
func TestOrders(t *testing.T) {
	tables := tablesOf(t, "bert_varlen-ring")
	for _, what := range everywhere {
		first := ask(t, tables, Request{What: what})
		key := map[What]string{Blocks: "block", Sites: "site_id", Segments: "address", Events: "event"}[what]
		if first.Columns[0].Name != key {
			t.Errorf("%s begins with the column %s, want %s", what, first.Columns[0].Name, key)
		}
		for i, c := range first.Columns {
			for _, sort := range []string{c.Name, "-" + c.Name} {
				rows := all(t, tables, Request{What: what, Sort: sort})
				checkOrder(t, rows, i, sort, what)
			}
		}
	}
}

func checkOrder(t *testing.T, rows [][]any, column int, sort string, what What) {
	t.Helper()
	seen := map[string]int{}
	for k, row := range rows {
		seen[fmt.Sprint(row)]++
		if k == 0 || row[column] == nil || rows[k-1][column] == nil {
			continue
		}
		c := compareCells(rows[k-1][column], row[column])
		if strings.HasPrefix(sort, "-") {
			c = -c
		}
		if c > 0 {
			t.Fatalf("%s by %s: row %d is %v, after %v", what, sort, k, row[column], rows[k-1][column])
		}
	}
	if n := nullRuns(rows, column); n > 2 && sort != "time_us" {
		t.Errorf("%s by %s: nulls in %d places", what, sort, n)
	}
	if what != Segments && what != Sites && len(seen) != len(rows) {
		t.Errorf("%s by %s: %d different rows of %d", what, sort, len(seen), len(rows))
	}
}

// nullRuns counts the runs of nulls in a column.
func nullRuns(rows [][]any, column int) int {
	n := 0
	for k, row := range rows {
		if row[column] == nil && (k == 0 || rows[k-1][column] != nil) {
			n++
		}
	}
	return n
}

func compareCells(a, b any) int {
	switch x := a.(type) {
	case int:
		return x - b.(int)
	case int64:
		switch y := b.(int64); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	case bool:
		return bit(x) - bit(b.(bool))
	}
	x, y := a.(string), b.(string)
	if i, k := slices.Index(states[:], x), slices.Index(states[:], y); i >= 0 && k >= 0 {
		return i - k // by what became of them, not by the word
	}
	if strings.HasPrefix(x, "0x") && len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(x, y)
}

// TestPages: any page is that part of the whole.
func TestPages(t *testing.T) {
	tables := tablesOf(t, "cudagraph")
	q := Request{What: Events, Query: "action:alloc -size<1KiB", Sort: "-size_bytes"}
	rows := all(t, tables, q)
	for from := 0; from < len(rows)+10; from += 7 {
		q.From, q.Count = from, 5
		a := ask(t, tables, q)
		want := rows[min(from, len(rows)):min(from+5, len(rows))]
		if len(a.Data) != len(want) || len(want) > 0 && fmt.Sprint(a.Data) != fmt.Sprint(want) {
			t.Fatalf("from %d: %v, want %v", from, a.Data, want)
		}
	}
}

// TestRequestsRefused: what can't be answered is said.
func TestRequestsRefused(t *testing.T) {
	tables := tablesOf(t, "resnet50")
	n, before := tables.tl.Dev.Events.Len(), -2
	for _, tt := range []struct {
		q    Request
		want string
	}{
		{Request{What: "stacks"}, `there is no table "stacks"`},
		{Request{What: Blocks, Sort: "-height"}, `sort: the table of blocks has no column "height"; it has block, address`},
		{Request{What: Blocks, Count: 1001}, "at most 1000 rows"},
		{Request{What: Blocks, From: -1}, "at least 0"},
		{Request{What: Blocks, At: &n}, "there is no event"},
		{Request{What: Blocks, At: &before}, "there is no event -2"},
		{Request{What: Events, At: new(int)}, "expected a range"},
		{Request{What: Events, Range: &[2]int{5, 4}}, "there is no range of events 5 to 4"},
		{Request{What: Events, Range: &[2]int{0, n}}, "there is no range"},
		{Request{What: Blocks, Query: "action:alloc"}, "the table of blocks has no action"},
	} {
		_, err := tables.Ask(tt.q)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want one with %q", tt.q, err, tt.want)
		}
	}
}
