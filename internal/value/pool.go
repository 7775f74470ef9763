package value

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Pool keeps what does not fit into a Value. The zero Pool is ready for use.
type Pool struct {
	strings []string
	index   map[string]uint32
	recent  [1024]Value // the last string of each hash: most strings are repeated soon

	numbers []number
}

// number is a float, or an integer of more than 61 bits. Integers of more than 64
// bits saturate: they are no address and no size.
type number struct {
	float    float64
	mag      uint64 // magnitude of an integer
	neg      bool
	integer  bool
	overflow bool
}

// String returns the Value of a string; equal strings have equal Values. Its bytes
// are copied.
func (p *Pool) String(b []byte) Value { return p.intern(b, KindString) }

// Bytes returns the Value of a byte string.
func (p *Pool) Bytes(b []byte) Value { return p.intern(b, KindBytes) }

func (p *Pool) intern(b []byte, k Kind) Value {
	h := hash(b) % uint64(len(p.recent))
	if v := p.recent[h]; v != Nothing && p.strings[v] == string(b) {
		return Of(k, uint64(v))
	}
	id, ok := p.index[string(b)]
	if !ok {
		if p.index == nil {
			p.index = make(map[string]uint32)
			p.strings = append(p.strings, "") // so that no string has id 0 and recent needs no flag
		}
		id = uint32(len(p.strings))
		s := string(b)
		p.strings = append(p.strings, s)
		p.index[s] = id
	}
	p.recent[h] = Value(id)
	return Of(k, uint64(id))
}

// hash mixes the length, the first and the last eight bytes: enough to find a
// recent string, which is then compared.
func hash(b []byte) uint64 {
	n := len(b)
	var first, last uint64
	switch {
	case n >= 8:
		first, last = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case cap(b) >= 8:
		first = binary.LittleEndian.Uint64(b[:8]) & (1<<(8*n) - 1)
	default:
		for i, c := range b {
			first |= uint64(c) << (8 * i)
		}
	}
	hi, lo := bits.Mul64(first^0x9e3779b97f4a7c15, last^0xd6e8feb86659fd93^uint64(n))
	return hi ^ lo
}

// Text returns the text of a string or of bytes, "" of anything else.
func (p *Pool) Text(v Value) string {
	if k := v.Kind(); k != KindString && k != KindBytes {
		return ""
	}
	return p.strings[v.Payload()]
}

// Int returns the Value of i.
func (p *Pool) Int(i int64) Value {
	if i >= minInline && i <= maxInline {
		return SmallInt(i)
	}
	if i < 0 {
		return p.add(number{mag: -uint64(i), neg: true, integer: true})
	}
	return p.add(number{mag: uint64(i), integer: true})
}

// Uint returns the Value of u.
func (p *Pool) Uint(u uint64) Value {
	if u <= maxInline {
		return SmallInt(int64(u))
	}
	return p.add(number{mag: u, integer: true})
}

// Float returns the Value of f.
func (p *Pool) Float(f float64) Value { return p.add(number{float: f}) }

// LittleEndian returns the Value of a two's complement integer of any length,
// least significant byte first, as pickles hold it.
func (p *Pool) LittleEndian(b []byte) Value {
	if len(b) == 0 {
		return SmallInt(0)
	}
	neg := b[len(b)-1]&0x80 != 0
	ext := byte(0)
	if neg {
		ext = 0xff
	}
	var word [8]byte
	for i := range word {
		word[i] = ext
		if i < len(b) {
			word[i] = b[i]
		}
	}
	u := binary.LittleEndian.Uint64(word[:])
	for _, c := range b[min(8, len(b)):] {
		if c != ext {
			return p.add(number{mag: math.MaxUint64, neg: neg, integer: true, overflow: true})
		}
	}
	if !neg {
		return p.Uint(u)
	}
	if int64(u) < 0 {
		return p.Int(int64(u))
	}
	return p.add(number{mag: -u, neg: true, integer: true, overflow: u == 0})
}

// Decimal returns the Value of a number in decimal notation, as JSON has it, and
// whether s is one.
func (p *Pool) Decimal(s string) (Value, bool) {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return p.Int(i), true
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return p.Uint(u), true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !strings.Contains(err.Error(), "out of range") {
		return Nothing, false
	}
	return p.Float(f), true
}

func (p *Pool) add(n number) Value {
	p.numbers = append(p.numbers, n)
	return Of(KindNumber, uint64(len(p.numbers)-1))
}

// Exact tells how well an integer was had from a Value.
type Exact uint8

// Degrees of exactness.
const (
	NotInteger  Exact = iota // the value is no number at all
	Whole                    // it was an integer
	FromFloat                // a float, rounded toward zero
	FromText                 // a string of digits
	OutOfBounds              // a number beyond the range, taken as the nearest that is in it
)

// Int64 returns v as a signed integer.
func (p *Pool) Int64(v Value) (int64, Exact) {
	if v.Kind() == KindInt {
		return v.Small(), Whole
	}
	n, exact := p.number(v)
	switch {
	case exact == NotInteger:
		return 0, exact
	case n.neg && n.mag > 1<<63:
		return math.MinInt64, OutOfBounds
	case n.neg:
		return -int64(n.mag), exact
	case n.mag > math.MaxInt64:
		return math.MaxInt64, OutOfBounds
	}
	return int64(n.mag), exact
}

// Uint64 returns v as an unsigned integer. A negative integer becomes its two's
// complement: writers that keep pointers as signed integers mean that.
func (p *Pool) Uint64(v Value) (uint64, Exact) {
	if v.Kind() == KindInt {
		return uint64(v.Small()), Whole
	}
	n, exact := p.number(v)
	if n.neg {
		return -n.mag, exact
	}
	return n.mag, exact
}

// Float64 returns v as a float, and whether it is a number.
func (p *Pool) Float64(v Value) (float64, bool) {
	switch v.Kind() {
	case KindInt:
		return float64(v.Small()), true
	case KindNumber:
		n := p.numbers[v.Payload()]
		switch {
		case !n.integer:
			return n.float, true
		case n.neg:
			return -float64(n.mag), true
		}
		return float64(n.mag), true
	}
	return 0, false
}

// number returns v as an integer in sign and magnitude.
func (p *Pool) number(v Value) (number, Exact) {
	switch v.Kind() {
	case KindConst:
		if v == True {
			return number{mag: 1, integer: true}, Whole
		}
		if v == False {
			return number{integer: true}, Whole
		}
	case KindNumber:
		n := p.numbers[v.Payload()]
		if n.overflow {
			return n, OutOfBounds
		}
		if n.integer {
			return n, Whole
		}
		return fromFloat(n.float)
	case KindString:
		return fromText(p.strings[v.Payload()])
	}
	return number{}, NotInteger
}

func fromFloat(f float64) (number, Exact) {
	n := number{integer: true, neg: f < 0}
	switch f = math.Trunc(math.Abs(f)); {
	case math.IsNaN(f):
		return number{}, NotInteger
	case f >= 1<<64:
		n.mag = math.MaxUint64
		return n, OutOfBounds
	}
	n.mag = uint64(f)
	return n, FromFloat
}

// fromText takes the decimal and 0x forms in which JSON files keep 64-bit addresses.
func fromText(s string) (number, Exact) {
	digits, neg := strings.CutPrefix(s, "-")
	u, err := strconv.ParseUint(digits, 0, 64)
	if err != nil {
		return number{}, NotInteger
	}
	return number{mag: u, neg: neg, integer: true}, FromText
}
