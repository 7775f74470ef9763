package pickle

import (
	"bytes"
	"math"
	"math/big"
	"strconv"

	"github.com/ullage-dev/ullage/internal/value"
)

// maxDigits bounds the integers of protocol 0: parsing decimal digits takes more
// than linear time.
const maxDigits = 1000

// textLine reads the rest of a line, the argument of protocol 0's opcodes.
func (d *decoder) textLine() ([]byte, error) {
	b, err := d.line(windowBytes)
	switch {
	case err == errLongLine:
		return nil, &LimitError{What: "line length", Value: windowBytes, Limit: windowBytes - 1, Offset: d.offset()}
	case err != nil:
		return nil, d.truncated("a line")
	}
	return b, nil
}

// index reads a memo index in decimal.
func (d *decoder) index() (uint32, error) {
	b, err := d.textLine()
	if err != nil {
		return 0, err
	}
	i, err := strconv.ParseUint(string(b), 10, 32)
	if err != nil {
		return 0, d.syntax("memo index is not a number")
	}
	return uint32(i), nil
}

// textOp executes the opcodes whose argument is text.
func (d *decoder) textOp(op byte) error {
	b, err := d.textLine()
	if err != nil {
		return err
	}
	var v value.Value
	ok := true
	switch op {
	case opInt, opLong:
		v, ok = d.decimal(op, b)
	case opFloat:
		v, ok = d.float(b)
	case opString:
		v, ok = d.quoted(b)
	case opUnicode:
		v = d.pool.String(unescapeUnicode(b))
	}
	if !ok {
		return d.syntax("malformed number or string")
	}
	d.stack = append(d.stack, v)
	return nil
}

func (d *decoder) decimal(op byte, b []byte) (value.Value, bool) {
	switch s := string(b); {
	case op == opInt && s == "00":
		return value.False, true
	case op == opInt && s == "01":
		return value.True, true
	}
	b = bytes.TrimSuffix(b, []byte("L"))
	if len(b) > maxDigits {
		return value.Nothing, false
	}
	n, ok := new(big.Int).SetString(string(b), 10)
	if !ok {
		return value.Nothing, false
	}
	if n.IsInt64() {
		return d.pool.Int(n.Int64()), true
	}
	if n.IsUint64() {
		return d.pool.Uint(n.Uint64()), true
	}
	huge := make([]byte, 10) // beyond 64 bits the value saturates, so only the sign counts
	huge[9] = 1
	if n.Sign() < 0 {
		huge[9] = 0xff
	}
	return d.pool.LittleEndian(huge), true
}

func (d *decoder) float(b []byte) (value.Value, bool) {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil && !math.IsInf(f, 0) {
		return value.Nothing, false
	}
	return d.pool.Float(f), true
}

// quoted takes a Python 2 string literal.
func (d *decoder) quoted(b []byte) (value.Value, bool) {
	if n := len(b); n < 2 || b[0] != b[n-1] || b[0] != '\'' && b[0] != '"' {
		return value.Nothing, false
	}
	return d.pool.String(unescape(b[1 : len(b)-1])), true
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', '\\': '\\', '\'': '\'', '"': '"', 'a': 7, 'b': 8, 'f': 12, 'v': 11}

// unescape resolves the escapes that repr() writes. What it does not know stays.
func unescape(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			out = append(out, b[i])
			continue
		}
		i++
		if c, ok := escapes[b[i]]; ok {
			out = append(out, c)
			continue
		}
		if b[i] == 'x' && i+2 < len(b) {
			if c, err := strconv.ParseUint(string(b[i+1:i+3]), 16, 8); err == nil {
				out = append(out, byte(c))
				i += 2
				continue
			}
		}
		out = append(out, '\\', b[i])
	}
	return out
}

// unescapeUnicode resolves raw-unicode-escape, in which only \u and \U are escapes and
// other bytes are Latin-1.
func unescapeUnicode(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		digits := 0
		if b[i] == '\\' && i+1 < len(b) {
			switch b[i+1] {
			case 'u':
				digits = 4
			case 'U':
				digits = 8
			}
		}
		if digits > 0 && i+2+digits <= len(b) {
			if r, err := strconv.ParseUint(string(b[i+2:i+2+digits]), 16, 32); err == nil {
				out = appendRune(out, rune(r))
				i += 1 + digits
				continue
			}
		}
		out = appendRune(out, rune(b[i]))
	}
	return out
}
