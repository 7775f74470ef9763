package pickle

// The loop over opcodes. It is one long function because its state has to stay in
// registers: handing the position and the stack to a function for each opcode
// costs twice the time (185 million opcodes in a recording of 587 MB).

import (
	"encoding/binary"
	"math"

	"github.com/ullage-dev/ullage/internal/value"
)

// run executes opcodes up to STOP and returns the value on top of the stack.
func (d *decoder) run() (value.Value, error) {
	buf, p, st := d.buf, d.pos, d.stack
	for {
		if p > d.lim {
			d.pos = p
			if err := d.ready(); err != nil {
				d.stack = st
				return value.Nothing, err
			}
			buf, p = d.buf, d.pos
		}
		if len(st) == cap(st) {
			d.pos, d.stack = p, st
			if err := d.grow(); err != nil {
				return value.Nothing, err
			}
			st = d.stack
		}
		op := buf[p]
		p++
		var err error
		switch op {
		case opBinGet:
			v := d.memo.get(uint32(buf[p]))
			p++
			st = append(st, v)
			if k := v.Kind(); k == value.KindConst || k == value.KindReader {
				d.pos = p
				err = d.checkGet(uint32(buf[p-1]), v)
			}
		case opLongBinGet:
			i := binary.LittleEndian.Uint32(buf[p:])
			v := d.memo.get(i)
			p += 4
			st = append(st, v)
			if k := v.Kind(); k == value.KindConst || k == value.KindReader {
				d.pos = p
				err = d.checkGet(i, v)
			}
		case opBinInt1:
			st = append(st, value.SmallInt(int64(buf[p])))
			p++
		case opBinInt2:
			st = append(st, value.SmallInt(int64(binary.LittleEndian.Uint16(buf[p:]))))
			p += 2
		case opBinInt:
			st = append(st, value.SmallInt(int64(int32(binary.LittleEndian.Uint32(buf[p:])))))
			p += 4
		case opLong1:
			n := int(buf[p])
			if n == 0 || n > 8 {
				d.pos, d.stack = p+1, st
				err = d.long(int64(n))
				buf, p, st = d.buf, d.pos, d.stack
				break
			}
			// Sign-extend the n bytes that follow the length.
			u := binary.LittleEndian.Uint64(buf[p+1:])
			shift := uint(64-8*n) & 63
			st = append(st, d.pool.Int(int64(u<<shift)>>shift))
			p += 1 + n
		case opShortBinUnicode:
			n := int(buf[p])
			if p+1+n > d.end {
				d.pos, d.stack = p+1, st
				err = d.str(int64(n), value.KindString)
				buf, p, st = d.buf, d.pos, d.stack
				break
			}
			st = append(st, d.pool.String(buf[p+1:p+1+n]))
			p += 1 + n
		case opMark:
			if len(d.marks) >= d.opt.MaxDepth {
				d.pos, d.stack = p, st
				return value.Nothing, d.tooDeep()
			}
			d.marks = append(d.marks, mark{at: len(st), open: len(d.open)})
		case opMemoize:
			d.pos, d.stack = p, st
			err = d.put(uint32(d.memo.used))
		case opEmptyDict:
			d.pos, d.stack = p, st
			err = d.emptyDict()
			buf, p, st = d.buf, d.pos, d.stack
		case opEmptyList:
			d.pos, d.stack = p, st
			err = d.emptyList()
			buf, p, st = d.buf, d.pos, d.stack
		case opSetItems:
			d.pos, d.stack = p, st
			err = d.setItems()
			buf, p, st = d.buf, d.pos, d.stack
		case opAppends, opAddItems:
			d.pos, d.stack = p, st
			err = d.appendItems()
			buf, p, st = d.buf, d.pos, d.stack
		case opNone:
			st = append(st, value.None)
		case opNewTrue:
			st = append(st, value.True)
		case opNewFalse:
			st = append(st, value.False)
		case opBinFloat:
			st = append(st, d.pool.Float(math.Float64frombits(binary.BigEndian.Uint64(buf[p:]))))
			p += 8
		case opStop:
			d.pos, d.stack = p, st
			return d.stop()
		default:
			d.pos, d.stack = p, st
			err = d.rare(op)
			buf, p, st = d.buf, d.pos, d.stack
		}
		if err != nil {
			if n := len(st); n > 0 && st[n-1] == value.Nothing {
				st = st[:n-1] // of a GET that failed
			}
			d.pos, d.stack = p, st
			return value.Nothing, err
		}
	}
}
