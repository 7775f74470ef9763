// Package units parses and prints amounts of memory, spans of time and counts, the same
// way in every command.
//
// # Bytes
//
// Printing uses binary units with two decimals, as PyTorch does: 20.00 MiB.
//
// Reading takes what people type and what programs print:
//
//	80GiB  80Gi  80g  80G   80 × 2^30   (a bare letter is binary, as in Slurm and Docker)
//	80GB                    80 × 10^9   (the two-letter units are the decimal ones of SI)
//	1.5 GiB  20.00 MiB      fractions, rounded to the nearest byte
//	512  512B  512 bytes    bytes
//
// with K, M, G, T, P and E in either case. Note that a card sold as 80 GB holds 80 GiB,
// less some: 80GB is the smaller of the two, so it errs on the safe side as a limit.
package units

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strings"
)

// Binary units, in bytes.
const (
	KiB int64 = 1 << (10 * (iota + 1))
	MiB
	GiB
	TiB
	PiB
	EiB
)

var binaryNames = [...]string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// FormatBytes prints n in the largest binary unit that is not larger than n, with two
// decimals, rounded to nearest; below 1 KiB as whole bytes.
func FormatBytes(n int64) string {
	if n < 0 {
		return "-" + formatMagnitude(uint64(-n)) // right for the smallest int64 too
	}
	return formatMagnitude(uint64(n))
}

// FormatBytesDelta prints n as FormatBytes does, with a sign always: a difference.
func FormatBytesDelta(n int64) string {
	if n > 0 {
		return "+" + FormatBytes(n)
	}
	return FormatBytes(n)
}

func formatMagnitude(n uint64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	i := (bits.Len64(n) - 1) / 10 // 1: KiB … 6: EiB
	h := hundredths(n, i)
	if h == 1024*100 && i < len(binaryNames) { // 1023.995 KiB and more is 1.00 MiB
		i, h = i+1, 100
	}
	return fmt.Sprintf("%d.%02d %s", h/100, h%100, binaryNames[i-1])
}

// hundredths returns n in hundredths of 1024^i, rounded half up.
func hundredths(n uint64, i int) uint64 {
	unit := uint64(1) << (10 * i)
	hi, lo := bits.Mul64(n, 100)
	lo, carry := bits.Add64(lo, unit/2, 0)
	q, _ := bits.Div64(hi+carry, lo, unit) // hi < 100 < unit: no overflow
	return q
}

// maxNumberLen bounds the digits of a number: enough for every int64 with 12 decimals.
const maxNumberLen = 32

// ParseBytes reads an amount of memory; see the package comment for the forms. Amounts
// are whole and not negative, and fit an int64.
func ParseBytes(s string) (int64, error) {
	text := strings.TrimSpace(s)
	if strings.HasPrefix(text, "-") {
		return 0, fmt.Errorf("%.40q is not an amount of memory: it is negative", s)
	}
	number, unit := splitNumber(text)
	if number == "" || len(number) > maxNumberLen {
		return 0, fmt.Errorf("%.40q is not an amount of memory: want a number and a unit, as in 80GiB or 512MB", s)
	}
	if strings.ContainsAny(unit, "0123456789") {
		return 0, fmt.Errorf("%.40q is not an amount of memory: want one number, without an exponent or commas, and a unit, as in 80GiB or 512MB", s)
	}
	factor, ok := byteUnit(unit)
	if !ok {
		return 0, fmt.Errorf("%.40q is not an amount of memory: %.20q is no unit; want B, KiB, MiB, GiB, TiB, KB, MB, GB or TB", s, unit)
	}
	value, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, fmt.Errorf("%.40q is not an amount of memory: %q is no number", s, number)
	}
	if factor.IsInt64() && factor.Int64() == 1 && !value.IsInt() {
		return 0, fmt.Errorf("%.40q is not an amount of memory: there is no part of a byte", s)
	}
	return roundToInt64(s, value.Mul(value, new(big.Rat).SetInt(factor)))
}

// splitNumber cuts the leading digits and dots from what follows them.
func splitNumber(s string) (number, rest string) {
	end := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		return s, ""
	}
	return s[:end], strings.TrimLeft(s[end:], " \t")
}

// byteUnit returns the bytes in a unit, in either case.
func byteUnit(unit string) (*big.Int, bool) {
	u := strings.ToLower(unit)
	switch u {
	case "", "b", "byte", "bytes":
		return big.NewInt(1), true
	}
	power := strings.IndexByte("kmgtpe", u[0]) + 1
	if power == 0 {
		return nil, false
	}
	switch u[1:] {
	case "", "i", "ib":
		return new(big.Int).Lsh(big.NewInt(1), uint(10*power)), true
	case "b":
		return new(big.Int).Exp(big.NewInt(1000), big.NewInt(int64(power)), nil), true
	}
	return nil, false
}

// roundToInt64 rounds half up. s is the text, for the error.
func roundToInt64(s string, v *big.Rat) (int64, error) {
	v.Add(v, big.NewRat(1, 2))
	n := new(big.Int).Quo(v.Num(), v.Denom())
	if !n.IsInt64() {
		return 0, fmt.Errorf("%.40q is more than the largest amount, %s", s, FormatBytes(math.MaxInt64))
	}
	return n.Int64(), nil
}
