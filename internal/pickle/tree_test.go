package pickle

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ullage-dev/ullage/internal/value"
)

// treeBuilder keeps everything as text, as testdata/make.py prints it: enough to compare.
// A dict that was cut ends in an exclamation mark.
type treeBuilder struct {
	pool  value.Pool
	texts []string
	grown map[value.Value]bool // lists that were extended: they must not be extended from an older state
}

func (b *treeBuilder) Pool() *value.Pool { return &b.pool }

func (b *treeBuilder) add(s string) value.Value {
	b.texts = append(b.texts, s)
	return value.Of(value.KindObject, uint64(len(b.texts)-1))
}

func (b *treeBuilder) dict(items []value.Value, end string) value.Value {
	var out strings.Builder
	out.WriteString("{")
	for i := 0; i < len(items); i += 2 {
		if i > 0 {
			out.WriteString(" ")
		}
		out.WriteString(b.show(items[i]) + ":" + b.show(items[i+1]))
	}
	return b.add(out.String() + end)
}

func (b *treeBuilder) Dict(_ value.Place, items []value.Value) (value.Value, error) {
	return b.dict(items, "}"), nil
}

func (b *treeBuilder) CutDict(items []value.Value) value.Value { return b.dict(items, "!}") }

func (b *treeBuilder) Tuple(items []value.Value) (value.Value, error) {
	return b.List(value.Nothing, items)
}

func (b *treeBuilder) List(list value.Value, items []value.Value) (value.Value, error) {
	var out strings.Builder
	out.WriteString("[")
	if list != value.Nothing {
		if b.grown[list] {
			return value.Nothing, fmt.Errorf("list %s is extended twice", b.show(list))
		}
		if b.grown == nil {
			b.grown = map[value.Value]bool{}
		}
		b.grown[list] = true
		out.WriteString(strings.TrimSuffix(b.show(list)[1:], "]"))
	}
	for _, v := range items {
		if out.Len() > 1 {
			out.WriteString(" ")
		}
		out.WriteString(b.show(v))
	}
	return b.add(out.String() + "]"), nil
}

func (b *treeBuilder) show(v value.Value) string {
	switch v {
	case value.Nothing:
		return "nothing"
	case value.None:
		return "None"
	case value.True:
		return "True"
	case value.False:
		return "False"
	}
	switch v.Kind() {
	case value.KindString:
		return fmt.Sprintf(`"%x"`, b.pool.Text(v))
	case value.KindBytes:
		return fmt.Sprintf("b%x", b.pool.Text(v))
	case value.KindObject:
		return b.texts[v.Payload()]
	case value.KindReader:
		return "unfinished"
	}
	return b.showNumber(v)
}

func (b *treeBuilder) showNumber(v value.Value) string {
	f, _ := b.pool.Float64(v)
	i, exact := b.pool.Int64(v)
	if exact == value.Whole {
		return fmt.Sprint(i)
	}
	if u, exact := b.pool.Uint64(v); exact == value.Whole && f > 0 {
		return fmt.Sprint(u)
	}
	if exact == value.OutOfBounds && math.Abs(f) <= 1<<64 { // what saturates; the floats of the tests lie further out
		return strings.TrimPrefix(fmt.Sprintf("%chuge", map[bool]rune{true: '-', false: '+'}[f < 0]), "+")
	}
	return strings.TrimPrefix(strings.ToLower(fmt.Sprintf("%.17g", f)), "+")
}

// decode reads data whole and, to see every edge of the window, a byte at a time; and
// once more without the short cuts for dicts and lists that were seen before.
func decode(t testing.TB, data []byte, opt Options) (string, error) {
	t.Helper()
	b := &treeBuilder{}
	res, err := Decode(bytes.NewReader(data), b, opt)
	slow := &treeBuilder{}
	slowRes, slowErr := Decode(iotest.OneByteReader(bytes.NewReader(data)), slow, opt)
	if fmt.Sprint(err) != fmt.Sprint(slowErr) || b.show(res.Root) != slow.show(slowRes.Root) {
		t.Errorf("%.80x\nread whole:          %.300s, %v\nread byte by byte: %.300s, %v", data, b.show(res.Root), err, slow.show(slowRes.Root), slowErr)
	}
	plain := &treeBuilder{}
	d := newDecoder(bytes.NewReader(data), plain, opt)
	d.plain = true
	if root, plainErr := d.run(); (err == nil) != (plainErr == nil) || err == nil && b.show(res.Root) != plain.show(root) {
		t.Errorf("%.80x\nread:                   %.300s, %v\nread without short cuts: %.300s, %v", data, b.show(res.Root), err, plain.show(root), plainErr)
	}
	return b.show(res.Root), err
}
