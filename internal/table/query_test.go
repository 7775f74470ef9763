package table

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/timeline"
)

func TestParseQuery(t *testing.T) {
	for _, tt := range []struct {
		query string
		want  []word
	}{
		{"", nil},
		{" \t\n ", nil},
		{"linear", []word{{value: "linear"}}},
		{"file:train.py size>64MiB", []word{{key: "file", op: ":", value: "train.py"}, {key: "size", op: ">", value: "64MiB"}}},
		{"-category:activations step:3..5", []word{{not: true, key: "category", op: ":", value: "activations"}, {key: "step", op: ":", value: "3..5"}}},
		{"size>=1 size<=2 size=3 size<4", []word{{key: "size", op: ">=", value: "1"}, {key: "size", op: "<=", value: "2"}, {key: "size", op: "=", value: "3"}, {key: "size", op: "<", value: "4"}}},
		{`file:"my code.py" "two words"`, []word{{key: "file", op: ":", value: "my code.py"}, {value: "two words"}}},
		{`"size>2"`, []word{{value: "size>2"}}},
		{"train.py:166 at::native std::vector", []word{{value: "train.py:166"}, {value: "at::native"}, {value: "std::vector"}}},
		{"<lambda> __init__ -", []word{{value: "<lambda>"}, {value: "__init__"}, {value: "-"}}},
		{"leak: -leak:", []word{{key: "leak", op: ":"}, {not: true, key: "leak", op: ":"}}},
	} {
		got, err := parseQuery(tt.query)
		if err != nil {
			t.Errorf("%q: %v", tt.query, err)
			continue
		}
		for i := range got {
			if part := tt.query[got[i].at : got[i].at+len(got[i].text)]; part != got[i].text {
				t.Errorf("%q: word %d is said to be %q, and stands at %q", tt.query, i, got[i].text, part)
			}
			got[i].text, got[i].at, got[i].source = "", 0, nil
		}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(word{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.query, diff)
		}
	}
}

// TestQueryErrors: a word that is not understood is named, with its place as JavaScript
// counts it.
func TestQueryErrors(t *testing.T) {
	tables := tablesOf(t, "resnet50")
	for _, tt := range []struct {
		query      string
		what       What
		at, length int
		want       string
	}{
		{"foo:bar", Blocks, 0, 7, "there is no foo:; expected one of action:, addr:,"},
		{"linear sice>3", Blocks, 7, 6, "there is no sice>"},
		{"é𝔘 size>x", Blocks, 4, 6, "size>x: "},
		{"size>", Blocks, 0, 5, "expected a size, as 64MiB behind it"},
		{"size:5GiB..1GiB", Blocks, 0, 15, "nothing is between 5GiB and 1GiB"},
		{"file>3", Blocks, 0, 6, "expected file:, it has no greater and smaller"},
		{`a "b c`, Blocks, 2, 4, "the quote is not closed"},
		{`a ""`, Blocks, 2, 2, "expected a text between the quotes"},
		{"leak:yes", Blocks, 0, 8, "it takes no value"},
		{"state:dead", Blocks, 0, 10, "expected state:live"},
		{"state:leaked", Segments, 0, 12, "expected state:live"},
		{"action:malloc", Events, 0, 13, "there is no such action; there are alloc, free_requested"},
		{"category:food", Blocks, 0, 13, "no category is called so; there are unknown, parameters"},
		{"stream:x", Blocks, 0, 8, "expected a stream's handle"},
		{"addr:x", Blocks, 0, 6, "expected an address"},
		{"pin:", Blocks, 0, 4, "expected an event to be live after"},
		{"pin:yes", Blocks, 0, 7, "it takes no value"},
		{"site:x", Blocks, 0, 6, "expected a site's number"},
		{"block:-1", Events, 0, 8, "expected a block's number"},
		{"event:-1", Blocks, 0, 8, "expected an event"},
		{"step:99999", Blocks, 0, 10, "the recording has steps 0 to"},
		{"life>5", Blocks, 0, 6, "expected a time, as 10ms, or events, as 500e"},
		{"life:5ms..10e", Blocks, 0, 13, "expected two times or two numbers of events"},
		{"life>1s", Events, 0, 7, "the table of events has no life"},
		{strings.Repeat("a ", 51), Blocks, 100, 1, "more than 50 words"},
		{strings.Repeat("a", 2001), Blocks, 0, 2001, "the query has 2001 bytes"},
	} {
		_, err := tables.Ask(Request{What: tt.what, Query: tt.query})
		var q *QueryError
		if !errors.As(err, &q) || q.At != tt.at || q.Length != tt.length || !strings.Contains(q.Message, tt.want) {
			t.Errorf("%q: error %+v, want one of %d units at %d with %q", tt.query, err, tt.length, tt.at, tt.want)
		}
	}
}

// TestQueries: what a query finds is what a look at every row finds, by rules that are
// written down a second time.
func TestQueries(t *testing.T) {
	tables := tablesOf(t, "leak_eval_outputs-oom")
	tl, in := tables.tl, &tables.in
	block := tl.Block
	steps := in.Steps
	for _, tt := range []struct {
		query string
		fits  func(i int) bool
	}{
		{"size>1MiB", func(i int) bool { return block(i).SizeBytes > 1<<20 }},
		{"size>=1MiB size<8MiB", func(i int) bool { b := block(i); return b.SizeBytes >= 1<<20 && b.SizeBytes < 8<<20 }},
		{"size:..2MiB", func(i int) bool { return block(i).SizeBytes <= 2<<20 }},
		{"-requested:1MiB..", func(i int) bool { return block(i).RequestedBytes < 1<<20 }},
		{"event<e500", func(i int) bool { return block(i).Alloc < 500 }},
		{"step:2..3", func(i int) bool { k := steps.Of(block(i).Alloc); return k == 2 || k == 3 }},
		{"step>1", func(i int) bool { k := steps.Of(block(i).Alloc); return k > 1 && k < steps.Len() }},
		{"state:live", func(i int) bool { return block(i).FreeRequested == timeline.Never }},
		{"state:freed", func(i int) bool { return block(i).FreeCompleted != timeline.Never }},
		{"life<=10e", func(i int) bool {
			b := block(i)
			return b.Alloc >= 0 && b.FreeRequested != timeline.Never && b.FreeRequested-b.Alloc <= 10
		}},
		{"category:activations", func(i int) bool { return in.Categories.Of(i).String() == "activations" }},
		{"leak:", func(i int) bool {
			for _, g := range in.Leaks.Growing {
				for _, id := range g.Stacks {
					if in.Sites.At(id).Same == in.Sites.At(block(i).Stack).Same {
						return true
					}
				}
			}
			return false
		}},
		{"op:linear", func(i int) bool { return strings.Contains(in.Sites.Op(block(i).Stack), "linear") }},
		{"func:STEP", func(i int) bool {
			for _, f := range in.Sites.Frames(block(i).Stack) {
				if strings.Contains(strings.ToLower(f.Name), "step") {
					return true
				}
			}
			return false
		}},
		{"block:77", func(i int) bool { return i == 77 }},
		{"site:1 -block:77", func(i int) bool { return i != 77 && in.Lines.OfBlock(tl, i) == 1 }},
		{"stream:0 pool:0.0", func(i int) bool { return block(i).Stream == 0 }},
	} {
		var want []int
		for i := range tl.NumBlocks() {
			if tt.fits(i) {
				want = append(want, i)
			}
		}
		var got []int
		for _, row := range all(t, tables, Request{What: Blocks, Query: tt.query}) {
			got = append(got, row[0].(int))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %d blocks, want %d", tt.query, len(got), len(want))
		}
		if len(want) == 0 || len(want) == tl.NumBlocks() && tt.query != "stream:0 pool:0.0" {
			t.Errorf("%q: %d of %d blocks: this test shows nothing", tt.query, len(want), tl.NumBlocks())
		}
	}
}

// TestDocumentedQueries: the queries of the command's page are understood, and every word
// that there is stands in the description of the API.
func TestDocumentedQueries(t *testing.T) {
	tables := tablesOf(t, "leak_eval_outputs-oom")
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "view.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Searching the tables")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| `(.+?)` \\|").FindAllStringSubmatch(section, -1)
	for _, row := range rows {
		if _, err := tables.Ask(Request{What: Blocks, Query: row[1]}); err != nil {
			t.Errorf("%s: %v", row[1], err)
		}
	}
	if len(rows) < 5 {
		t.Errorf("docs/view.md has %d queries", len(rows))
	}
	api, err := os.ReadFile(filepath.Join("..", "..", "docs", "formats", "view-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range keys {
		if !k.ordered {
			name += ":"
		}
		if !strings.Contains(string(api), "`"+name) {
			t.Errorf("docs/formats/view-api.md does not have %s", name)
		}
	}
}

// TestDocumentedColumns: the description of the API has the columns of every table.
func TestDocumentedColumns(t *testing.T) {
	tables := tablesOf(t, "resnet50")
	api, err := os.ReadFile(filepath.Join("..", "..", "docs", "formats", "view-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range everywhere {
		_, row, _ := strings.Cut(string(api), "\n| `"+string(what)+"` |")
		row, _, _ = strings.Cut(row, "\n")
		for _, c := range ask(t, tables, Request{What: what}).Columns {
			if !strings.Contains(row, "`"+c.Name+"`") {
				t.Errorf("the table of %s in docs/formats/view-api.md has no column %s", what, c.Name)
			}
		}
	}
}

// TestNot: a word and its opposite share the rows between them, in every table.
func TestNot(t *testing.T) {
	tables := tablesOf(t, "bert_varlen-ring")
	words := []string{"size>1MiB", "linear", "file:torch", "op:linear", "module:bert", "func:forward", "stream:0", "pool:0.0", "state:live", "category:act", "action:alloc", "step:3..9", "event>5000", "leak:", "life>1ms", "requested<1MiB", "addr:0x0", "before", "site:4", "block:9"}
	rapid.Check(t, func(t *rapid.T) {
		what := rapid.SampledFrom(everywhere).Draw(t, "table")
		word := rapid.SampledFrom(words).Draw(t, "word")
		one, err := tables.Ask(Request{What: what, Query: word})
		if err != nil {
			t.Skip("not a word for this table")
		}
		other, err := tables.Ask(Request{What: what, Query: "-" + word})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := tables.Ask(Request{What: what})
		if err != nil {
			t.Fatal(err)
		}
		if one.Matching+other.Matching != whole.Rows || one.MatchingBytes+other.MatchingBytes != whole.MatchingBytes {
			t.Fatalf("%s: %q has %d rows, its opposite %d, of %d", what, word, one.Matching, other.Matching, whole.Rows)
		}
	})
}

// FuzzQuery: no query panics, and an error names a place within it.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"", "size>64MiB file:train.py", `-file:"a b"`, "step:3..5 leak:", "life>10ms life<5e", "a::b c:d", "\xff\"", "é𝔘:1", "size>9223372036854775807", "addr:0xffffffffffffffff pool:1.2 stream:-1"} {
		f.Add(q)
	}
	tables := tablesOf(f, "leak_eval_outputs-oom")
	f.Fuzz(func(t *testing.T, query string) {
		for _, what := range everywhere {
			a, err := tables.Ask(Request{What: what, Query: query, Count: 3})
			var q *QueryError
			switch {
			case err == nil && a.Matching > a.Rows:
				t.Fatalf("%q: %d of %d rows match", query, a.Matching, a.Rows)
			case err == nil:
			case !errors.As(err, &q):
				t.Fatalf("%q: %v is no error about the query", query, err)
			case q.At < 0 || q.Length <= 0 || q.At+q.Length > utf16Len(query):
				t.Fatalf("%q: %v is said to be %d units at %d", query, err, q.Length, q.At)
			}
		}
	})
}
