package pickle

import (
	"encoding/binary"
	"slices"

	"github.com/ullage-dev/ullage/internal/value"
)

// Dicts of one kind come by the million with the same keys in the same order, and the
// keys are GETs of the memo: the same bytes each time. A template holds the bytes of
// the keys, so that a dict like an earlier one is read without putting its keys on
// the stack. Whatever does not fit is spilled to the stack and read as usual.

// template is a dict's keys as bytes, and as items with room for the values.
type template struct {
	keys  []rawKey
	items []value.Value
}

// rawKey is a GET: w&mask == bits for the next eight bytes w of the input.
type rawKey struct {
	bits, mask uint64
	n          int
}

const (
	maxTemplates    = 16
	maxTemplateKeys = 32
)

// templates holds the templates, the one used last first.
type templates struct{ all []*template }

func (t *templates) reset() { t.all = nil }

// begin returns the template whose first key is w.
func (t *templates) begin(w uint64) *template {
	for i, x := range t.all {
		if w&x.keys[0].mask == x.keys[0].bits {
			if i > 0 {
				copy(t.all[1:i+1], t.all[:i])
				t.all[0] = x
			}
			return x
		}
	}
	return nil
}

// branch returns a template with the keys of x before i, and w as key i. It gets the
// values that x has by then.
func (t *templates) branch(x *template, i int, w uint64) *template {
	for _, y := range t.all {
		if i < len(y.keys) && w&y.keys[i].mask == y.keys[i].bits && slices.Equal(x.keys[:i], y.keys[:i]) {
			copy(y.items, x.items[:2*i])
			return y
		}
	}
	return nil
}

func (t *templates) add(x *template) {
	if len(t.all) == maxTemplates {
		t.all = t.all[:0]
	}
	t.all = append(t.all, x)
}

// emptyDict is EMPTY_DICT, together with all that follows up to SETITEMS where the
// dict is like an earlier one.
func (d *decoder) emptyDict() error {
	p, slot := d.putArg(d.pos)
	if d.plain || d.buf[p] != opMark || slot >= 0 && d.memo.get(uint32(slot)) != value.Nothing || !d.memo.roomFor(uint32(max(slot, 0))) {
		d.push(false)
		return nil
	}
	p++
	t := d.templates.begin(binary.LittleEndian.Uint64(d.buf[p:]))
	if t == nil {
		t = d.learn(p)
	}
	if t == nil {
		d.push(false)
		return nil
	}
	return d.fill(t, p, slot)
}

// reserved stands in the memo for a dict that a template is being filled for.
var reserved = value.Of(value.KindReader, 1<<28)

// fill reads the keys and values of a dict from p on, by template t. It is long
// because it is the innermost loop over events: 8 values each, of which none may cost
// a call.
func (d *decoder) fill(t *template, p, slot int) error {
	if slot >= 0 {
		d.memo.set(uint32(slot), reserved)
	}
	first := p
	buf := d.buf
	for i := 0; ; i++ {
		if p > d.lim {
			return d.spill(t.items[:2*i], p, slot)
		}
		if i == len(t.keys) {
			if buf[p] == opSetItems {
				break
			}
			return d.spillNew(t, i, p, first, slot)
		}
		if w := binary.LittleEndian.Uint64(buf[p:]); w&t.keys[i].mask != t.keys[i].bits {
			next := d.templates.branch(t, i, w)
			if next == nil {
				return d.spillNew(t, i, p, first, slot)
			}
			t = next
		}
		at := p
		p += t.keys[i].n
		var v value.Value
		switch op := buf[p]; op {
		case opBinGet:
			v = d.memo.get(uint32(buf[p+1]))
			p += 2
		case opLongBinGet:
			v = d.memo.get(binary.LittleEndian.Uint32(buf[p+1:]))
			p += 5
		case opBinInt1:
			v = value.SmallInt(int64(buf[p+1]))
			p += 2
			if buf[p] == opBinInt1 && buf[p+2] == opTuple2 { // a pool's id
				second := value.SmallInt(int64(buf[p+1]))
				pair, err := d.b.Tuple([]value.Value{v, second})
				if err != nil {
					return err
				}
				if v, p = d.putAfter(pair, p+3); v == value.Nothing {
					return d.spill(t.items[:2*i], at, slot)
				}
			}
		case opBinInt2:
			v = value.SmallInt(int64(binary.LittleEndian.Uint16(buf[p+1:])))
			p += 3
		case opBinInt:
			v = value.SmallInt(int64(int32(binary.LittleEndian.Uint32(buf[p+1:]))))
			p += 5
		case opLong1:
			n := int(buf[p+1])
			if n == 0 || n > 8 {
				return d.spill(t.items[:2*i], at, slot)
			}
			shift := uint(64-8*n) & 63
			v = d.pool.Int(int64(binary.LittleEndian.Uint64(buf[p+2:])<<shift) >> shift)
			p += 2 + n
		case opShortBinUnicode, opBinUnicode:
			from, end := stringAt(buf, p)
			if end > d.lim {
				return d.spill(t.items[:2*i], at, slot)
			}
			if v, p = d.putAfter(d.pool.String(buf[from:end]), end); v == value.Nothing {
				return d.spill(t.items[:2*i], at, slot)
			}
		case opEmptyList:
			var err error
			if v, p, err = d.listValue(t, i, p+1); err != nil {
				return err
			}
		case opNewTrue:
			v = value.True
			p++
		case opNewFalse:
			v = value.False
			p++
		case opNone:
			v = value.None
			p++
		}
		if v == value.Nothing || v.Kind() == value.KindReader {
			return d.spill(t.items[:2*i], at, slot) // from before the key
		}
		t.items[2*i+1] = v
	}
	d.pos = p + 1
	if !completesDict[d.next()] {
		return d.spill(t.items, p, slot)
	}
	v, err := d.b.Dict(d.place(len(d.stack)), t.items)
	if err != nil {
		return err
	}
	if slot >= 0 {
		d.memo.set(uint32(slot), v)
	}
	d.stack = append(d.stack, v)
	return nil
}

// stringAt returns where the text of a string opcode at p begins and ends.
func stringAt(buf []byte, p int) (from, end int) {
	if buf[p] == opShortBinUnicode {
		return p + 2, p + 2 + int(buf[p+1])
	}
	n := binary.LittleEndian.Uint32(buf[p+1:])
	return p + 5, p + 5 + int(min(n, windowBytes)) // a longer one lies beyond the window in any case
}

// putArg looks for a PUT at p. It returns where it ends, and the slot, -1 for none.
func (d *decoder) putArg(p int) (end, slot int) {
	switch d.buf[p] {
	case opMemoize:
		return p + 1, d.memo.used
	case opBinPut:
		return p + 2, int(d.buf[p+1])
	case opLongBinPut:
		return p + 5, int(binary.LittleEndian.Uint32(d.buf[p+1:]))
	}
	return p, -1
}

// putAfter executes a PUT of v at p, if there is one. It returns Nothing where the slot
// must be looked at more closely.
func (d *decoder) putAfter(v value.Value, p int) (value.Value, int) {
	if d.buf[p] == opMemoize {
		d.memo.set(uint32(d.memo.used), v)
		return v, p + 1
	}
	end, slot := d.putArg(p)
	if slot < 0 {
		return v, p
	}
	if old := d.memo.get(uint32(slot)); old != value.Nothing || !d.memo.roomFor(uint32(slot)) {
		return value.Nothing, p
	}
	d.memo.set(uint32(slot), v)
	return v, end
}

// listValue reads a list that is the value of key i: an empty one, or one that is
// nothing but GETs. p is behind EMPTY_LIST. It returns Nothing, and leaves all as it
// was, where the list is anything else or may get more elements.
func (d *decoder) listValue(t *template, i, p int) (value.Value, int, error) {
	q, slot := d.putArg(p)
	if slot >= 0 && (d.memo.get(uint32(slot)) != value.Nothing || !d.memo.roomFor(uint32(slot))) {
		return value.Nothing, p, nil
	}
	var v value.Value
	if d.endsValue(t, i, q) {
		var err error
		if v, err = d.b.List(value.Nothing, nil); err != nil {
			return v, p, err
		}
	} else {
		known, err := d.knownAt(q)
		if known == nil {
			return value.Nothing, p, err
		}
		if q += len(known.raw); q > d.lim || !d.endsValue(t, i, q) {
			return value.Nothing, p, nil
		}
		v = known.v
	}
	if slot >= 0 {
		d.memo.set(uint32(slot), v)
	}
	return v, q, nil
}

// endsValue tells whether the list that is the value of key i is complete before p:
// the next key follows, and not as the last element of the list; or the dict ends.
func (d *decoder) endsValue(t *template, i, p int) bool {
	if i+1 == len(t.keys) {
		return d.buf[p] == opSetItems
	}
	k := &t.keys[i+1]
	return binary.LittleEndian.Uint64(d.buf[p:])&k.mask == k.bits && d.buf[p+k.n] != opAppend
}

// spill puts a dict that is partly read on the stack, as the opcodes up to p would have.
func (d *decoder) spill(items []value.Value, p, slot int) error {
	if len(d.marks) >= d.opt.MaxDepth {
		return d.tooDeep()
	}
	d.push(false)
	if slot >= 0 {
		d.memo.set(uint32(slot), d.stack[len(d.stack)-1])
		d.open[len(d.open)-1].slot = uint32(slot) + 1
	}
	d.marks = append(d.marks, mark{at: len(d.stack), open: len(d.open)})
	d.stack = append(d.stack, items...)
	d.pos = p
	return nil
}

// spillNew is spill for a dict whose keys differ from the template's from key i on.
// A template is made for the next dict like it.
func (d *decoder) spillNew(t *template, i, p, first, slot int) error {
	items := slices.Clone(t.items[:2*i])
	d.learn(first)
	return d.spill(items, p, slot)
}

// learn makes a template of the dict whose first key is at p, if it is one of simple
// values and wholly in the window.
func (d *decoder) learn(p int) *template {
	t := &template{}
	for d.buf[p] != opSetItems {
		n := getBytes(d.buf[p])
		if n == 0 || p > d.lim || len(t.keys) == maxTemplateKeys {
			return nil
		}
		key := d.memo.get(getIndex(d.buf[p:]))
		if !key.IsString() {
			return nil
		}
		mask := uint64(1)<<(8*n) - 1
		t.keys = append(t.keys, rawKey{binary.LittleEndian.Uint64(d.buf[p:]) & mask, mask, n})
		t.items = append(t.items, key, value.Nothing)
		if p = d.skipValue(p + n); p < 0 {
			return nil
		}
	}
	if len(t.keys) == 0 {
		return nil
	}
	d.templates.add(t)
	return t
}

// getBytes returns the length of a GET, 0 for other opcodes.
func getBytes(op byte) int {
	switch op {
	case opBinGet:
		return 2
	case opLongBinGet:
		return 5
	}
	return 0
}

func getIndex(b []byte) uint32 {
	if b[0] == opBinGet {
		return uint32(b[1])
	}
	return binary.LittleEndian.Uint32(b[1:])
}

// skipValue returns where the value at p ends, -1 where it is none that fill reads.
func (d *decoder) skipValue(p int) int {
	if p > d.lim {
		return -1
	}
	switch op := d.buf[p]; op {
	case opBinInt1:
		if d.buf[p+2] == opBinInt1 && d.buf[p+4] == opTuple2 {
			end, _ := d.putArg(p + 5)
			return end
		}
		return p + 2
	case opBinGet, opLongBinGet, opBinInt2, opBinInt, opNewTrue, opNewFalse, opNone:
		return p + 1 + int(fixedArg[op])
	case opLong1:
		return p + 2 + int(d.buf[p+1])
	case opShortBinUnicode, opBinUnicode:
		_, p = stringAt(d.buf, p)
		if p > d.lim {
			return -1
		}
		end, _ := d.putArg(p)
		return end
	case opEmptyList:
		q, _ := d.putArg(p + 1)
		if d.buf[q] == opMark || getBytes(d.buf[q]) > 0 {
			return q + scan(d.buf[q:d.end])
		}
		return q
	}
	return -1
}
