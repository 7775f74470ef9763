package value

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLittleEndian compares integers of any length with math/big.
func TestLittleEndian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x7f, 0x80, 0xff, 0x55}), 0, 12).Draw(t, "bytes")
		want := signed(b)
		var p Pool
		v := p.LittleEndian(b)
		i, exact := p.Int64(v)
		switch {
		case want.IsInt64() && (exact != Whole || i != want.Int64()):
			t.Errorf("%x: Int64 = %d, %d; want %s", b, i, exact, want)
		case !want.IsInt64() && (exact != OutOfBounds || i != map[int]int64{1: math.MaxInt64, -1: math.MinInt64}[want.Sign()]):
			t.Errorf("%x: Int64 = %d, %d; want the bound nearest to %s", b, i, exact, want)
		}
		u, exact := p.Uint64(v)
		if want.IsUint64() && (exact != Whole || u != want.Uint64()) {
			t.Errorf("%x: Uint64 = %d, %d; want %s", b, u, exact, want)
		}
		if want.BitLen() > 64 && exact != OutOfBounds {
			t.Errorf("%x: Uint64 = %d, %d; want it out of bounds", b, u, exact)
		}
	})
}

// signed is the two's complement integer of b.
func signed(b []byte) *big.Int {
	be := slices.Clone(b)
	slices.Reverse(be)
	n := new(big.Int).SetBytes(be)
	if len(b) > 0 && b[len(b)-1]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// TestInts pins that integers come back, from the handle and from the pool.
func TestInts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Pool
		i := rapid.Int64().Draw(t, "int") >> rapid.IntRange(0, 63).Draw(t, "shift")
		if got, exact := p.Int64(p.Int(i)); got != i || exact != Whole {
			t.Errorf("Int(%d) gives %d, %d", i, got, exact)
		}
		u := rapid.Uint64().Draw(t, "uint") >> rapid.IntRange(0, 63).Draw(t, "shift")
		if got, exact := p.Uint64(p.Uint(u)); got != u || exact != Whole {
			t.Errorf("Uint(%d) gives %d, %d", u, got, exact)
		}
		if v, ok := p.Decimal(fmt.Sprint(i)); !ok || p.show(v) != fmt.Sprint(i) {
			t.Errorf("Decimal(%d) gives %s, %v", i, p.show(v), ok)
		}
	})
}

func (p *Pool) show(v Value) string {
	i, _ := p.Int64(v)
	return fmt.Sprint(i)
}

// TestConversions pins what values of other kinds are as integers and floats.
func TestConversions(t *testing.T) {
	var p Pool
	decimal := func(s string) Value { v, _ := p.Decimal(s); return v }
	tests := []struct {
		name  string
		v     Value
		i     int64
		exact Exact
		f     float64
		float bool
	}{
		{"true", True, 1, Whole, 0, false},
		{"false", False, 0, Whole, 0, false},
		{"none", None, 0, NotInteger, 0, false},
		{"nothing", Nothing, 0, NotInteger, 0, false},
		{"fraction", p.Float(-2.75), -2, FromFloat, -2.75, true},
		{"huge float", p.Float(1e300), math.MaxInt64, OutOfBounds, 1e300, true},
		{"negative infinity", p.Float(math.Inf(-1)), math.MinInt64, OutOfBounds, math.Inf(-1), true},
		{"2^63", p.Uint(1 << 63), math.MaxInt64, OutOfBounds, 1 << 63, true},
		{"-2^63", p.Int(math.MinInt64), math.MinInt64, Whole, -1 << 63, true},
		{"small", p.Int(7), 7, Whole, 7, true},
		{"digits", p.String([]byte("42")), 42, FromText, 0, false},
		{"hex", p.String([]byte("-0x10")), -16, FromText, 0, false},
		{"word", p.String([]byte("many")), 0, NotInteger, 0, false},
		{"bytes", p.Bytes([]byte("42")), 0, NotInteger, 0, false},
		{"object", Of(KindObject, 42), 0, NotInteger, 0, false},
		{"decimal", decimal("12345678901234567890"), math.MaxInt64, OutOfBounds, 12345678901234567890, true},
		{"exponent", decimal("1e3"), 1000, FromFloat, 1000, true},
		{"beyond float", decimal("1e999"), math.MaxInt64, OutOfBounds, math.Inf(1), true},
	}
	for _, tt := range tests {
		if i, exact := p.Int64(tt.v); i != tt.i || exact != tt.exact {
			t.Errorf("%s: Int64 = %d, %d; want %d, %d", tt.name, i, exact, tt.i, tt.exact)
		}
		if f, ok := p.Float64(tt.v); f != tt.f || ok != tt.float {
			t.Errorf("%s: Float64 = %g, %v; want %g, %v", tt.name, f, ok, tt.f, tt.float)
		}
	}
	if i, exact := p.Int64(p.Float(math.NaN())); i != 0 || exact != NotInteger {
		t.Errorf("NaN: Int64 = %d, %d", i, exact)
	}
	if _, ok := p.Decimal("12x"); ok {
		t.Error("12x is no number")
	}
}

// TestStrings pins that strings are kept once, whatever lies behind their bytes.
func TestStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Pool
		seen := map[string]Value{}
		for range rapid.IntRange(0, 50).Draw(t, "n") {
			s := rapid.SampledFrom([]string{"", "a", "b", "N/A", "alloc", "addr", "12345678", "123456789", "a long name, of many bytes", "a long name, of more bytes"}).Draw(t, "s")
			b := []byte(s + rapid.SampledFrom([]string{"", "x", "0123456789"}).Draw(t, "behind"))[:len(s)]
			v := p.String(b)
			clear(b[:cap(b)])
			if old, ok := seen[s]; ok && old != v || p.Text(v) != s || !v.IsString() {
				t.Fatalf("String(%q) = %v, %q; before %v", s, v, p.Text(v), old)
			}
			seen[s] = v
			if raw := p.Bytes([]byte(s)); p.Text(raw) != s || raw.Kind() != KindBytes || raw == v {
				t.Fatalf("Bytes(%q) = %v", s, raw)
			}
		}
		for s, v := range seen {
			for other, w := range seen {
				if (s == other) != (v == w) {
					t.Fatalf("%q is %v, %q is %v", s, v, other, w)
				}
			}
		}
	})
}

// BenchmarkString has the string that every event of a recording has. Budget: 8 ns.
func BenchmarkString(b *testing.B) {
	var p Pool
	s := []byte("N/A")
	for b.Loop() {
		p.String(s)
	}
}
