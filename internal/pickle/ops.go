package pickle

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ullage-dev/ullage/internal/value"
)

// stop ends the pickle.
func (d *decoder) stop() (value.Value, error) {
	if len(d.stack) <= d.floor() {
		return value.Nothing, d.syntax("nothing on the stack at the end")
	}
	root := d.stack[len(d.stack)-1:]
	if err := d.resolve(root, nil); err != nil {
		return value.Nothing, err
	}
	return root[0], nil
}

// rare executes the opcodes that recordings seldom have.
func (d *decoder) rare(op byte) error {
	switch op {
	case opTuple1, opTuple2, opTuple3:
		return d.tuple(len(d.stack) - int(op-opTuple1) - 1)
	case opTuple, opFrozenSet:
		return d.markedTuple()
	case opEmptyTuple:
		return d.tuple(len(d.stack))
	case opSetItem:
		return d.setItem()
	case opAppend:
		return d.appendItem()
	case opEmptySet:
		d.push(true)
		return nil
	case opList, opDict:
		return d.marked(op == opList)
	case opPop, opPopMark:
		return d.pop(op)
	case opDup:
		return d.dup()
	case opFrame:
		d.pos += 8 // a hint for readers that read a frame at once
		return nil
	case opProto:
		return d.proto()
	case opBinPut, opLongBinPut, opPut, opGet:
		return d.memoOp(op)
	case opInt, opLong, opFloat, opString, opUnicode:
		return d.textOp(op)
	}
	if name, ok := refused[op]; ok {
		return d.refuse(op, name)
	}
	return d.sized(op)
}

// sized executes the opcodes that begin with a length.
func (d *decoder) sized(op byte) error {
	arg := d.buf[d.pos:]
	switch op {
	case opLong4:
		n := int32(binary.LittleEndian.Uint32(arg))
		d.pos += 4
		return d.long(int64(n))
	case opBinUnicode, opBinString, opBinBytes:
		n := binary.LittleEndian.Uint32(arg)
		d.pos += 4
		return d.str(int64(n), kindOf(op))
	case opShortBinBytes, opShortBinString:
		d.pos++
		return d.str(int64(arg[0]), kindOf(op))
	case opBinUnicode8, opBinBytes8, opByteArray8:
		n := binary.LittleEndian.Uint64(arg)
		d.pos += 8
		return d.str(int64(min(n, math.MaxInt64)), kindOf(op))
	}
	return d.syntax(fmt.Sprintf("unknown opcode 0x%02x", op))
}

// kindOf tells text from bytes. The strings of Python 2 are taken as text.
func kindOf(op byte) value.Kind {
	switch op {
	case opBinBytes, opShortBinBytes, opBinBytes8, opByteArray8:
		return value.KindBytes
	}
	return value.KindString
}

// str pushes a string of n bytes.
func (d *decoder) str(n int64, kind value.Kind) error {
	if n < 0 || n > d.opt.MaxString {
		return &LimitError{What: "string length", Value: n, Limit: d.opt.MaxString, Offset: d.offset()}
	}
	b, ok := d.take(n)
	if !ok {
		return d.truncated(fmt.Sprintf("a string of %d bytes", n))
	}
	if kind == value.KindBytes {
		d.stack = append(d.stack, d.pool.Bytes(b))
	} else {
		d.stack = append(d.stack, d.pool.String(b))
	}
	return nil
}

// long pushes a little-endian integer of n bytes.
func (d *decoder) long(n int64) error {
	if n < 0 || n > d.opt.MaxString {
		return &LimitError{What: "integer length", Value: n, Limit: d.opt.MaxString, Offset: d.offset()}
	}
	b, ok := d.take(n)
	if !ok {
		return d.truncated(fmt.Sprintf("an integer of %d bytes", n))
	}
	d.stack = append(d.stack, d.pool.LittleEndian(b))
	return nil
}

func (d *decoder) proto() error {
	p := int(d.buf[d.pos])
	d.pos++
	if p > 5 {
		return d.syntax(fmt.Sprintf("pickle protocol %d (0 to 5 are known)", p))
	}
	d.protocol = p
	return nil
}

func (d *decoder) tooDeep() error {
	return &LimitError{What: "nesting depth", Value: int64(len(d.marks)) + 1, Limit: int64(d.opt.MaxDepth), Offset: d.offset() - 1}
}

func (d *decoder) pop(op byte) error {
	at := len(d.stack) - 1
	switch n := len(d.marks); {
	case op == opPopMark && n == 0:
		return d.syntax("no mark on the stack")
	case op == opPopMark, at < d.floor() && n > 0: // Python lets POP remove a mark
		at = d.marks[n-1].at
		d.marks = d.marks[:n-1]
	case at < 0:
		return d.syntax("nothing on the stack")
	}
	if err := d.resolve(d.stack[at:], nil); err != nil { // the memo may still have it
		return err
	}
	d.stack = d.stack[:at]
	return nil
}

func (d *decoder) dup() error {
	if len(d.stack) <= d.floor() {
		return d.syntax("nothing on the stack")
	}
	v := d.stack[len(d.stack)-1]
	d.share(v)
	d.stack = append(d.stack, v)
	return nil
}

// put writes the value on top of the stack to memo slot i.
func (d *decoder) put(i uint32) error {
	if len(d.stack) <= d.floor() {
		return d.syntax("nothing on the stack to memoize")
	}
	if !d.memo.roomFor(i) {
		return &LimitError{What: "memo index", Value: int64(i), Limit: 2*int64(d.memo.used) + memoSlack, Offset: d.offset()}
	}
	v := d.stack[len(d.stack)-1]
	old := d.memo.set(i, v)
	if old != value.Nothing && old != v {
		d.lists.reset()
		d.templates.reset()
		if old.Kind() == value.KindReader {
			d.open[old.Payload()].forget(i)
		}
	}
	if v.Kind() == value.KindReader {
		switch c := &d.open[v.Payload()]; {
		case c.closed:
			d.memo.set(i, c.state)
		case c.slot == 0:
			c.slot = i + 1
		case c.slot != i+1:
			c.more = append(c.more, i)
		}
	}
	return nil
}

// fetch pushes memo slot i.
func (d *decoder) fetch(i uint32) error {
	v := d.memo.get(i)
	d.stack = append(d.stack, v)
	return d.checkGet(i, v)
}

// checkGet looks at a value that slot i gave and that may be none.
func (d *decoder) checkGet(i uint32, v value.Value) error {
	if v == value.Nothing {
		return d.syntax(fmt.Sprintf("memo slot %d is read but was never written", i))
	}
	d.share(v)
	return nil
}

// share notes that an open container stands on the stack twice.
func (d *decoder) share(v value.Value) {
	if v.Kind() == value.KindReader {
		d.open[v.Payload()].shared = true
	}
}

// memoOp executes the forms of PUT, and GET of protocol 0.
func (d *decoder) memoOp(op byte) error {
	arg := d.buf[d.pos:]
	switch op {
	case opBinPut:
		d.pos++
		return d.put(uint32(arg[0]))
	case opLongBinPut:
		d.pos += 4
		return d.put(binary.LittleEndian.Uint32(arg))
	}
	i, err := d.index()
	if err != nil {
		return err
	}
	if op == opPut {
		return d.put(i)
	}
	return d.fetch(i)
}

// refuse returns the error for an opcode that is not data, with what it is about.
func (d *decoder) refuse(op byte, name string) error {
	e := &RefusedError{Opcode: name, Offset: d.offset() - 1}
	switch n := len(d.stack); op {
	case opGlobal, opInst:
		module, _ := d.line(maxName)
		e.Global = string(module)
		attr, _ := d.line(maxName)
		e.Global += "." + string(attr)
	case opStackGlobal:
		if n >= 2 {
			e.Global = clip(d.pool.Text(d.stack[n-2])) + "." + clip(d.pool.Text(d.stack[n-1]))
		}
	}
	return e
}

// maxName bounds what an error message quotes.
const maxName = 200

func clip(s string) string { return s[:min(len(s), maxName)] }
