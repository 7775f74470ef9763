package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// list, dict and tuple are what rapid draws; sharing a pointer is sharing an object.
type (
	list  struct{ items []any }
	dict  struct{ items []any } // keys and values in turn
	tuple struct{ items []any }
)

// writer pickles drawn values in one of the ways in which pickles are written.
type writer struct {
	out      []byte
	memo     map[any]int
	memoize  bool // MEMOIZE, else BINPUT
	batch    int  // elements a batch, 0 for one batch
	single   bool // APPEND and SETITEM for a batch of one
	frames   int  // a FRAME before every nth opcode, 0 for none
	longInts bool // LONG1 of 8 bytes, as torch's C++ pickler has it
	ops      int
}

func (w *writer) op(b ...byte) {
	w.ops++
	if w.frames > 0 && w.ops%w.frames == 0 {
		w.out = append(w.out, opFrame, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	w.out = append(w.out, b...)
}

func (w *writer) put(v any) {
	n := len(w.memo)
	w.memo[v] = n
	switch {
	case w.memoize:
		w.op(opMemoize)
	case n < 256:
		w.op(opBinPut, byte(n))
	default:
		w.op(binary.LittleEndian.AppendUint32([]byte{opLongBinPut}, uint32(n))...)
	}
}

func (w *writer) get(v any) bool {
	n, ok := w.memo[v]
	switch {
	case !ok:
	case n < 256:
		w.op(opBinGet, byte(n))
	default:
		w.op(binary.LittleEndian.AppendUint32([]byte{opLongBinGet}, uint32(n))...)
	}
	return ok
}

func (w *writer) write(v any) {
	switch v := v.(type) {
	case nil:
		w.op(opNone)
	case bool:
		w.op(map[bool]byte{true: opNewTrue, false: opNewFalse}[v])
	case int64:
		w.int(v)
	case float64:
		w.op(binary.BigEndian.AppendUint64([]byte{opBinFloat}, math.Float64bits(v))...)
	case string:
		if !w.get(v) {
			if w.memoize {
				w.op(append([]byte{opShortBinUnicode, byte(len(v))}, v...)...)
			} else {
				w.op(append(binary.LittleEndian.AppendUint32([]byte{opBinUnicode}, uint32(len(v))), v...)...)
			}
			w.put(v)
		}
	case *list:
		if !w.get(v) {
			w.op(opEmptyList)
			w.put(v)
			w.batches(v.items, 1, opAppend, opAppends)
		}
	case *dict:
		if !w.get(v) {
			w.op(opEmptyDict)
			w.put(v)
			w.batches(v.items, 2, opSetItem, opSetItems)
		}
	case *tuple:
		w.tuple(v)
	}
}

func (w *writer) int(v int64) {
	switch {
	case w.longInts:
		w.op(binary.LittleEndian.AppendUint64([]byte{opLong1, 8}, uint64(v))...)
	case v >= 0 && v < 256:
		w.op(opBinInt1, byte(v))
	case v >= 0 && v < 65536:
		w.op(binary.LittleEndian.AppendUint16([]byte{opBinInt2}, uint16(v))...)
	case v == int64(int32(v)):
		w.op(binary.LittleEndian.AppendUint32([]byte{opBinInt}, uint32(v))...)
	default:
		b := binary.LittleEndian.AppendUint64(nil, uint64(v))
		for len(b) > 1 && (b[len(b)-1] == 0 && b[len(b)-2] < 128 || b[len(b)-1] == 255 && b[len(b)-2] >= 128) {
			b = b[:len(b)-1]
		}
		w.op(append([]byte{opLong1, byte(len(b))}, b...)...)
	}
}

func (w *writer) batches(items []any, each int, one, many byte) {
	batch := w.batch * each
	if batch == 0 {
		batch = max(len(items), 1)
	}
	for at := 0; at < len(items); at += batch {
		part := items[at:min(at+batch, len(items))]
		if w.single && len(part) == each {
			for _, v := range part {
				w.write(v)
			}
			w.op(one)
			continue
		}
		w.op(opMark)
		for _, v := range part {
			w.write(v)
		}
		w.op(many)
	}
}

func (w *writer) tuple(v *tuple) {
	if w.get(v) {
		return
	}
	if len(v.items) == 0 {
		w.op(opEmptyTuple)
		return
	}
	if len(v.items) > 3 {
		w.op(opMark)
	}
	for _, x := range v.items {
		w.write(x)
	}
	if w.get(v) {
		return // not drawn: a tuple cannot hold itself
	}
	w.op([]byte{opTuple1, opTuple2, opTuple3, opTuple}[min(len(v.items), 4)-1])
	w.put(v)
}

// text is what treeBuilder makes of v.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case float64:
		return fmt.Sprintf("%.17g", v)
	case string:
		return fmt.Sprintf(`"%x"`, v)
	case *list:
		return texts(v.items)
	case *tuple:
		return texts(v.items)
	case *dict:
		var parts []string
		for i := 0; i < len(v.items); i += 2 {
			parts = append(parts, text(v.items[i])+":"+text(v.items[i+1]))
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return fmt.Sprint(v)
}

func texts(items []any) string {
	parts := make([]string, len(items))
	for i, v := range items {
		parts[i] = text(v)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// drawer draws values that share parts, as recordings do: keys, frames, stacks.
type drawer struct {
	t      *rapid.T
	shared []any
}

func (d *drawer) scalar() any {
	switch d.n("scalar", 6) {
	case 0:
		return nil
	case 1:
		return d.n("bool", 2) == 0
	case 2:
		return float64(d.n("float", 100)) / 8
	case 3:
		return rapid.SampledFrom([]string{"N/A", "", "alloc", "a longer text, of more than eight bytes", "ü"}).Draw(d.t, "string")
	}
	return rapid.Int64().Draw(d.t, "int") >> d.n("shift", 64)
}

func (d *drawer) n(label string, below int) int { return rapid.IntRange(0, below-1).Draw(d.t, label) }

func (d *drawer) value(depth int) any {
	if len(d.shared) > 0 && d.n("share", 3) == 0 {
		return d.shared[d.n("which", len(d.shared))]
	}
	if depth == 0 {
		return d.scalar()
	}
	var v any
	switch d.n("kind", 5) {
	case 0:
		v = &list{d.values(depth)}
	case 1:
		v = &tuple{d.values(depth)}
	case 2:
		v = &dict{d.dict(depth, d.n("shape", 3))}
	case 3: // what a stack is: nothing but shared values
		l := &list{}
		for range d.n("stack", 6) {
			if len(d.shared) > 0 {
				l.items = append(l.items, d.shared[d.n("which", len(d.shared))])
			}
		}
		v = l
	default:
		return d.scalar()
	}
	d.shared = append(d.shared, v)
	return v
}

func (d *drawer) values(depth int) []any {
	var items []any
	for range d.n("len", 7) {
		items = append(items, d.value(depth-1))
	}
	return items
}

// dict draws one of a few shapes, so that keys repeat.
func (d *drawer) dict(depth, shape int) []any {
	keys := [][]string{{"action", "addr", "size", "frames"}, {"action", "size", "device_free"}, {"name", "line"}}[shape]
	var items []any
	for _, k := range keys {
		items = append(items, k, d.value(depth-1))
	}
	return items
}

// TestAnyPickle writes drawn values in every manner and reads them back, with and
// without the short cuts; and cut anywhere, it never crashes.
func TestAnyPickle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := &drawer{t: rt}
		root := &list{}
		for range 1 + d.n("roots", 12) {
			root.items = append(root.items, d.value(3))
		}
		w := &writer{
			memo:     map[any]int{},
			memoize:  rapid.Bool().Draw(rt, "memoize"),
			batch:    rapid.SampledFrom([]int{0, 1, 2, 1000}).Draw(rt, "batch"),
			single:   rapid.Bool().Draw(rt, "single"),
			frames:   rapid.SampledFrom([]int{0, 1, 3, 50}).Draw(rt, "frames"),
			longInts: rapid.Bool().Draw(rt, "longInts"),
		}
		w.write(root)
		w.op(opStop)
		want := text(root)
		if len(want) > 1<<20 {
			rt.Skip("too much is shared")
		}
		if got, err := decode(t, w.out, Options{}); err != nil || got != want {
			rt.Fatalf("pickle %x\ngot  %s, %v\nwant %s", w.out, got, err, want)
		}
		cut := rapid.IntRange(0, len(w.out)-1).Draw(rt, "cut")
		if _, err := decodeOnce(w.out[:cut], Options{}); !salvageable(err) {
			rt.Fatalf("pickle %x cut at %d: %v", w.out, cut, err)
		}
	})
}
