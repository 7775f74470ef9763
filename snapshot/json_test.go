package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/value"
)

// treeBuilder is a value.Builder that makes plain Go values: what a reader decoded, to
// be compared. A dict that was cut has the key "(cut)".
type treeBuilder struct {
	pool  value.Pool
	nodes []any
}

func (b *treeBuilder) Pool() *value.Pool { return &b.pool }

func (b *treeBuilder) Dict(in value.Place, items []value.Value) (value.Value, error) {
	m := map[string]any{}
	for i := 0; i < len(items); i += 2 {
		m[b.pool.Text(items[i])] = b.get(items[i+1])
	}
	return b.add(m), nil
}

func (b *treeBuilder) CutDict(items []value.Value) value.Value {
	v, _ := b.Dict(0, items)
	b.nodes[v.Payload()].(map[string]any)["(cut)"] = true
	return v
}

func (b *treeBuilder) List(list value.Value, items []value.Value) (value.Value, error) {
	if list == value.Nothing {
		list = b.add([]any{})
	}
	l := b.nodes[list.Payload()].([]any)
	for _, v := range items {
		l = append(l, b.get(v))
	}
	b.nodes[list.Payload()] = l
	return list, nil
}

func (b *treeBuilder) Tuple(items []value.Value) (value.Value, error) {
	return b.List(value.Nothing, items)
}

func (b *treeBuilder) add(x any) value.Value {
	b.nodes = append(b.nodes, x)
	return value.Of(value.KindObject, uint64(len(b.nodes)-1))
}

func (b *treeBuilder) get(v value.Value) any {
	switch v.Kind() {
	case value.KindObject:
		return b.nodes[v.Payload()]
	case value.KindString, value.KindBytes:
		return b.pool.Text(v)
	case value.KindConst:
		return map[value.Value]any{value.None: nil, value.True: true, value.False: false, value.Nothing: "(nothing)"}[v]
	}
	if u, exact := b.pool.Uint64(v); exact == value.Whole {
		return u
	}
	f, _ := b.pool.Float64(v)
	return f
}

func decodeTree(r io.Reader) (any, *Truncation, error) {
	b := &treeBuilder{}
	v, cut, err := decodeJSON(r, b)
	return b.get(v), cut, err
}

func TestJSONValues(t *testing.T) {
	tests := []struct {
		in   string
		want any
	}{
		{`{}`, map[string]any{}},
		{`[]`, []any{}},
		{`[[], {}, [[]]]`, []any{[]any{}, map[string]any{}, []any{[]any{}}}},
		{"\xef\xbb\xbf {\"a\" : 1 ,\r\n\t\"b\":[2,3]}", map[string]any{"a": uint64(1), "b": []any{uint64(2), uint64(3)}}},
		{`[true,false,null]`, []any{true, false, nil}},
		{`[9007199254740993, 18446744073709551615, 140462612021248]`, []any{uint64(9007199254740993), uint64(math.MaxUint64), uint64(140462612021248)}},
		{`[-1]`, []any{uint64(math.MaxUint64)}},
		{`[0.75, 1e3, -2.5E-1]`, []any{0.75, 1000.0, -0.25}},
		{`[Infinity, -Infinity, 1e999]`, []any{math.Inf(1), math.Inf(-1), math.Inf(1)}},
		{`["", "a\"b\\c\/d\b\f\n\r\t", "\u00e9\u4e2d"]`, []any{"", "a\"b\\c/d\b\f\n\r\t", "é中"}},
		{`["\ud83d\ude00", "\ud83d", "\udc80x", "\ud83d\n", "\ud83d\ud83d\ude00"]`, []any{"😀", "\ufffd", "\ufffdx", "\ufffd\n", "\ufffd😀"}},
		{"[\"tab\there\"]", []any{"tab\there"}},
	}
	for _, tt := range tests {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(tt.in), "by byte": iotest.OneByteReader(strings.NewReader(tt.in))} {
			got, cut, err := decodeTree(r)
			if err != nil || cut != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s, %s: got %#v, %v, %v", tt.in, name, got, cut, err)
			}
		}
	}
	if got, _, _ := decodeTree(strings.NewReader("[NaN]")); !math.IsNaN(got.([]any)[0].(float64)) {
		t.Errorf("NaN became %v", got)
	}
}

func TestJSONLongList(t *testing.T) {
	var b bytes.Buffer
	b.WriteByte('[')
	for i := range 3*jsonBatch + 1 {
		fmt.Fprintf(&b, "%d,", i)
	}
	b.WriteString("7]")
	got, cut, err := decodeTree(&b)
	if list := got.([]any); err != nil || cut != nil || len(list) != 3*jsonBatch+2 || list[3*jsonBatch] != uint64(3*jsonBatch) {
		t.Errorf("%d elements, %v, %v", len(list), cut, err)
	}
}

// TestJSONBreaksOff pins what is left of input that ends or goes wrong.
func TestJSONBreaksOff(t *testing.T) {
	type m = map[string]any
	tests := []struct {
		in, reason string
		offset     int64
		want       any
	}{
		{`{"a":[1,{"b":2,"c":3`, `the value of "c"`, 20, m{"(cut)": true, "a": []any{uint64(1)}}},
		{`{"a":[1,{"b":2,"c"`, `the value of "c"`, 18, m{"(cut)": true, "a": []any{uint64(1)}}},
		{`{"a":[1,{"b":2,`, "a dict, at depth 3", 15, m{"(cut)": true, "a": []any{uint64(1)}}},
		{`{"a":{"b":2,"c":[3,`, "a list, at depth 3", 19, m{"(cut)": true, "a": m{"(cut)": true, "b": uint64(2), "c": []any{uint64(3)}}}},
		{`{"a":1`, `the value of "a"`, 6, m{"(cut)": true}}, // 1 may be the beginning of 10
		{`{"a":1,"b":"xy`, `the value of "b"`, 14, m{"(cut)": true, "a": uint64(1)}},
		{`{"a":1,"b":"x\u12`, `the value of "b"`, 17, m{"(cut)": true, "a": uint64(1)}},
		{`[1,2,tru`, "a list, at depth 1", 8, []any{uint64(1), uint64(2)}},
		{`["a",`, "a list", 5, []any{"a"}},
		{`[1 2]`, `found the number 2, expected a comma or ]`, 4, []any{uint64(1)}},
		{`{"a" 1}`, "expected a colon", 6, m{"(cut)": true}},
		{`{1:2}`, "found the number 1, expected a key", 2, m{"(cut)": true}},
		{`[1,]`, "found ], expected a value", 4, []any{uint64(1)}},
		{`["\x"]`, "expected an escape", 3, []any{}},
		{`[1.2.3]`, `found "1.2.3", expected a number`, 6, []any{}},
		{"[1,\x00]", "found \"\\x00\", expected a value", 3, []any{uint64(1)}},
		{``, "before its first value", 0, "(nothing)"},
	}
	for _, tt := range tests {
		got, cut, err := decodeTree(strings.NewReader(tt.in))
		if err != nil || cut == nil {
			t.Errorf("%s: cut %v, error %v", tt.in, cut, err)
			continue
		}
		if !strings.Contains(cut.Reason, tt.reason) || cut.Offset != tt.offset || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %#v, offset %d, reason %q;\nwant %#v, %d, %q", tt.in, got, cut.Offset, cut.Reason, tt.want, tt.offset, tt.reason)
		}
	}
}

func TestJSONLimits(t *testing.T) {
	tests := map[string]io.Reader{
		"nesting":   strings.NewReader(strings.Repeat("[", 1_000_000)),
		"dicts":     strings.NewReader(strings.Repeat(`{"a":`, 1_000_000)),
		"string":    io.MultiReader(strings.NewReader(`["`), io.LimitReader(repeat('a'), maxJSONString+100)),
		"digits":    io.MultiReader(strings.NewReader(`[`), io.LimitReader(repeat('1'), 1<<20)),
		"unpacking": iotest.ErrReader(&TooLargeError{What: "the unpacked file"}),
	}
	for name, r := range tests {
		var large *TooLargeError
		if _, _, err := decodeTree(r); !errors.As(err, &large) {
			t.Errorf("%s: error %v, want a TooLargeError", name, err)
		}
	}
	disk := errors.New("input/output error")
	if _, cut, err := decodeTree(io.MultiReader(strings.NewReader(`{"a":1,`), iotest.ErrReader(disk))); err != disk || cut != nil {
		t.Errorf("failing source: cut %v, error %v; want its own error", cut, err)
	}
	if _, cut, err := decodeTree(io.MultiReader(strings.NewReader(`{"a":1,`), iotest.ErrReader(&DamagedError{Compression: "gzip", Err: io.ErrUnexpectedEOF}))); err != nil || !strings.Contains(cut.Reason, "gzip data breaks off") {
		t.Errorf("damaged gzip: cut %v, error %v", cut, err)
	}
}

// repeat is an endless reader of one byte.
type repeat byte

func (b repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

// TestJSONLikeEncodingJSON compares with the standard library on made values, and
// checks that every beginning of them is read without an error.
func TestJSONLikeEncodingJSON(t *testing.T) {
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Bool(), toAny[bool]), rapid.Map(rapid.String(), toAny[string]), rapid.Map(rapid.Uint64(), toAny[uint64]))
	gen := leaf
	for range 3 {
		gen = rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(gen, 0, 5), toAny[[]any]), rapid.Map(rapid.MapOfN(rapid.String(), gen, 0, 5), toAny[map[string]any]))
	}
	rapid.Check(t, func(t *rapid.T) {
		want := gen.Draw(t, "value")
		text, err := json.Marshal([]any{want})
		if err != nil {
			t.Fatal(err)
		}
		got, cut, err := decodeTree(iotest.HalfReader(bytes.NewReader(text)))
		if err != nil || cut != nil {
			t.Fatalf("%s: cut %v, error %v", text, cut, err)
		}
		if diff := cmp.Diff([]any{want}, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", text, diff)
		}
		n := rapid.IntRange(0, len(text)-1).Draw(t, "cut")
		if _, cut, err := decodeTree(bytes.NewReader(text[:n])); err != nil || cut == nil || cut.Offset != int64(n) {
			t.Fatalf("%s: cut %v, error %v", text[:n], cut, err)
		}
	})
}

func toAny[T any](v T) any { return v }

// FuzzJSON: no input makes the reader fail otherwise than by its own errors, and
// what encoding/json accepts is accepted, to its end.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"segments":[{"address":"0x7f0000000000","blocks":[]}]}`, `[1,-2.5e3,NaN,-Infinity,"\ud83d\ude00"]`, `{"a":{"b":[`, "\xef\xbb\xbf[]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, cut, err := decodeTree(bytes.NewReader(in))
		var large *TooLargeError
		if err != nil && !errors.As(err, &large) {
			t.Fatalf("error %v", err)
		}
		if !json.Valid(in) || err != nil {
			return
		}
		if cut != nil {
			if trimmed := bytes.TrimSpace(in); len(trimmed) > 0 && (trimmed[0] == '-' || trimmed[0] >= '0' && trimmed[0] <= '9') {
				return // a number alone: there is no telling whether it goes on
			}
			t.Fatalf("valid JSON is cut: %+v", cut)
		}
		again, err := json.Marshal(got)
		if err != nil {
			return // an infinite number
		}
		if !json.Valid(again) {
			t.Fatalf("%q", again)
		}
	})
}

// BenchmarkJSON reads what json.dump makes of events. Budget: 100 MB/s on one
// core of 2020, so that a dump of a million events, 300 MB, takes three seconds.
func BenchmarkJSON(b *testing.B) {
	var doc bytes.Buffer
	doc.WriteString(`{"segments": [], "device_traces": [[`)
	for i := range 50_000 {
		if i > 0 {
			doc.WriteString(", ")
		}
		fmt.Fprintf(&doc, `{"action": "alloc", "addr": %d, "size": %d, "stream": 0, "time_us": %d, "compile_context": "N/A", "frames": [{"filename": "/workspace/train/train.py", "line": %d, "name": "step"}, {"filename": "/usr/lib/python3/torch/nn/modules/module.py", "line": 1779, "name": "_call_impl"}]}`,
			0x7f0000000000+512*i, 512*(i%100), 1_700_000_000_000_000+i, i%50)
	}
	doc.WriteString("]]}")
	b.SetBytes(int64(doc.Len()))
	for b.Loop() {
		if _, cut, err := decodeJSON(bytes.NewReader(doc.Bytes()), nullBuilder{new(value.Pool)}); err != nil || cut != nil {
			b.Fatal(cut, err)
		}
	}
}

// nullBuilder keeps nothing.
type nullBuilder struct{ pool *value.Pool }

func (b nullBuilder) Pool() *value.Pool                                  { return b.pool }
func (nullBuilder) Dict(value.Place, []value.Value) (value.Value, error) { return value.None, nil }
func (nullBuilder) List(value.Value, []value.Value) (value.Value, error) { return value.None, nil }
func (nullBuilder) Tuple([]value.Value) (value.Value, error)             { return value.None, nil }
func (nullBuilder) CutDict([]value.Value) value.Value                    { return value.None }
