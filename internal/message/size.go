package message

import (
	"bytes"
	"math"
	"math/bits"
)

// Size is a number of bytes as a text prints it: rounded. The exact value lies in
// [Low, High].
type Size struct {
	Text  string // as printed: "12.34 GiB"
	Bytes int64  // the printed number itself
	Low   int64
	High  int64 // -1 where the text prints a number for "not available"
}

// Known reports whether the text gives the size.
func (s Size) Known() bool { return s.Text != "" && s.High >= 0 }

// units maps a unit to its factor. PyTorch means powers of 1024 by "GB" too: MPS
// printed it so until 2.6, memory_summary until 2.0.
var units = []struct {
	name   string
	factor uint64
}{
	{"bytes", 1},
	{"byte", 1},
	{"B", 1},
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"PiB", 1 << 50},
	{"KB", 1 << 10},
	{"kB", 1 << 10},
	{"MB", 1 << 20},
	{"GB", 1 << 30},
	{"TB", 1 << 40},
}

// rounding is how the printed digits came about.
type rounding int

const (
	nearest rounding = iota // half a unit of the last digit either way
	floor                   // integer division
)

// parseSize reads a size at the start of text that has no white space. n is its
// length; 0 means that no size starts there.
func parseSize(b []byte, how rounding) (s Size, n int) {
	mantissa, decimals, n := parseNumber(b)
	if n == 0 {
		return Size{}, 0
	}
	for _, u := range units {
		if bytes.HasPrefix(b[n:], []byte(u.name)) {
			text := string(b[:n]) + " " + u.name
			return newSize(text, mantissa, decimals, u.factor, how), n + len(u.name)
		}
	}
	return Size{}, 0
}

// parseNumber reads digits with an optional fraction. It gives up on more digits
// than any size has.
func parseNumber(b []byte) (mantissa uint64, decimals, n int) {
	dot := -1
	for ; n < len(b); n++ {
		c := b[n]
		if c == '.' && dot < 0 && n+1 < len(b) && isDigit(b[n+1]) && n > 0 {
			dot = n
			continue
		}
		if !isDigit(c) {
			break
		}
		if n > 17 {
			return 0, 0, 0
		}
		mantissa = mantissa*10 + uint64(c-'0')
	}
	if n > 0 && dot >= 0 {
		decimals = n - dot - 1
	}
	return mantissa, decimals, n
}

// newSize works in tenths of the last digit, so that half of it is a whole number.
func newSize(text string, mantissa uint64, decimals int, factor uint64, how rounding) Size {
	scale := uint64(1)
	for range decimals {
		scale *= 10
	}
	exact := factor == 1 && decimals == 0
	low, high := mantissa*10, mantissa*10
	switch {
	case exact:
	case how == floor:
		high += 10
	default:
		low, high = max(low, 5)-5, high+5
	}
	middle, ok := mulDiv(mantissa, factor, scale)
	lowBytes, ok1 := mulDiv(low, factor, scale*10)
	highBytes, ok2 := mulDiv(high, factor, scale*10)
	if !ok || !ok1 || !ok2 {
		return Size{Text: text, High: -1} // 2^64-1, printed as 17179869184.00 GiB, means "not available"
	}
	if how == floor && !exact {
		highBytes--
	}
	return Size{Text: text, Bytes: middle, Low: lowBytes, High: highBytes}
}

// mulDiv returns a*b/c, and whether it is a sensible number of bytes.
func mulDiv(a, b, c uint64) (int64, bool) {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, c)
	if q > math.MaxInt64 {
		return 0, false
	}
	return int64(q), true
}

// exactSize is a size that a text gives in a unit without rounding.
func exactSize(text string, n int64) Size { return Size{Text: text, Bytes: n, Low: n, High: n} }

// sub returns the difference; it may be negative. Unlike a Size that was read, its
// High may be below zero, so Known does not apply: the second result tells.
func (s Size) sub(t Size) (Size, bool) {
	if !s.Known() || !t.Known() {
		return Size{}, false
	}
	return Size{Text: "difference", Bytes: s.Bytes - t.Bytes, Low: s.Low - t.High, High: s.High - t.Low}, true
}

func isDigit(c byte) bool { return c-'0' < 10 }
