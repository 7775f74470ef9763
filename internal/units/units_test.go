package units

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseBytes(t *testing.T) {
	tests := []struct {
		in   string
		want int64
	}{
		{"0", 0},
		{"512", 512},
		{"512B", 512},
		{" 512 bytes ", 512},
		{"1 byte", 1},
		{"80GiB", 80 << 30},
		{"80Gi", 80 << 30},
		{"80gib", 80 << 30},
		{"80g", 80 << 30},
		{"80G", 80 << 30},
		{"80GB", 80e9},
		{"80gb", 80e9},
		{"1.5GiB", 3 << 29},
		{".5 KiB", 512},
		{"2.KiB", 2048},
		{"20.00 MiB", 20 << 20},
		{"79.11 GiB", 84943715697}, // 84943715696.64
		{"0.1KiB", 102},            // 102.4
		{"1.0005KB", 1001},         // 1000.5 rounds up
		{"4\tTB", 4e12},
		{"1PiB", 1 << 50},
		{"7EiB", 7 << 60},
		{"9223372036854775807", math.MaxInt64},
		{"007k", 7168},
	}
	for _, tt := range tests {
		got, err := ParseBytes(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", tt.in, got, err, tt.want)
		}
	}
}

func TestParseBytesRefuses(t *testing.T) {
	tests := []struct{ in, says string }{
		{"", "want a number and a unit"},
		{"GiB", "want a number and a unit"},
		{"-1", "negative"},
		{"-1GiB", "negative"},
		{"1.5", "no part of a byte"},
		{"1.5B", "no part of a byte"},
		{"80GX", `"GX" is no unit`},
		{"80Gib s", `"Gib s" is no unit`},
		{"80ZiB", `"ZiB" is no unit`},
		{"1e9", "without an exponent"},
		{"1e99GiB", "without an exponent"},
		{"0x10", "one number"},
		{"1.2.3GiB", "no number"},
		{".", "no number"},
		{"1,024", "or commas"},
		{"NaN", "want a number"},
		{"8EiB", "more than the largest amount"},
		{"9223372036854775808", "more than the largest amount"},
		{strings.Repeat("9", 4000), "want a number"},
	}
	for _, tt := range tests {
		got, err := ParseBytes(tt.in)
		if err == nil {
			t.Errorf("ParseBytes(%q) = %d, want an error", tt.in, got)
		} else if !strings.Contains(err.Error(), tt.says) {
			t.Errorf("ParseBytes(%q): %v; want it to say %q", tt.in, err, tt.says)
		} else if len(err.Error()) > 200 {
			t.Errorf("ParseBytes of %d characters: the error has %d", len(tt.in), len(err.Error()))
		}
	}
}

func TestFormatBytes(t *testing.T) {
	tests := []struct {
		in   int64
		want string
	}{
		{0, "0 B"},
		{1, "1 B"},
		{1023, "1023 B"},
		{1024, "1.00 KiB"},
		{20 << 20, "20.00 MiB"},
		{1<<20 - 1, "1.00 MiB"}, // not 1024.00 KiB
		{1<<20 - 6, "1023.99 KiB"},
		{150109880320, "139.80 GiB"},
		{math.MaxInt64, "8.00 EiB"},
		{-(3 << 29), "-1.50 GiB"},
		{math.MinInt64, "-8.00 EiB"},
	}
	for _, tt := range tests {
		if got := FormatBytes(tt.in); got != tt.want {
			t.Errorf("FormatBytes(%d) = %q, want %q", tt.in, got, tt.want)
		}
	}
	if got := FormatBytesDelta(1 << 30); got != "+1.00 GiB" {
		t.Errorf("FormatBytesDelta = %q", got)
	}
	if got := FormatBytesDelta(0); got != "0 B" {
		t.Errorf("FormatBytesDelta(0) = %q", got)
	}
}

// TestBytesRoundTrip: what is printed is read back to within half of its last digit, and
// printed the same again; whole bytes are read as they are.
func TestBytesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64).Draw(t, "n") >> rapid.IntRange(0, 62).Draw(t, "shift")
		n &^= 1<<rapid.IntRange(0, 62).Draw(t, "zeros") - 1
		whole := fmt.Sprintf("%d bytes", n)
		if got, err := ParseBytes(whole); err != nil || got != n {
			t.Fatalf("ParseBytes(%q) = %d, %v; want %d", whole, got, err, n)
		}
		short := FormatBytes(n)
		if short == "8.00 EiB" {
			return // rounded up past the largest int64
		}
		got, err := ParseBytes(short)
		if err != nil {
			t.Fatalf("ParseBytes(%q): %v", short, err)
		}
		if off := math.Abs(float64(got) - float64(n)); off > float64(n)*0.005+1 {
			t.Fatalf("%d prints as %q, which is %d", n, short, got)
		}
		if again := FormatBytes(got); again != short {
			t.Fatalf("%q is %d, which prints as %q", short, got, again)
		}
	})
}

func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"80GiB", "80GB", "80g", "1.5 GiB", "20.00 MiB", "512 bytes", "-1", "1e9", "8EiB", "."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseBytes(s)
		if err != nil {
			return
		}
		if n < 0 {
			t.Fatalf("ParseBytes(%q) = %d", s, n)
		}
		// Half of the last of two decimals, in the largest unit that fits: 0.5 %.
		if back, err := ParseBytes(FormatBytes(n)); err == nil && math.Abs(float64(back)-float64(n)) > float64(n)*0.005+1 {
			t.Fatalf("%q is %d, which prints as %q, which is %d", s, n, FormatBytes(n), back)
		}
	})
}

func TestFormatDuration(t *testing.T) {
	tests := []struct {
		in   time.Duration
		want string
	}{
		{0, "0 ns"},
		{999, "999 ns"},
		{850 * time.Microsecond, "850.00 µs"},
		{12500 * time.Millisecond, "12.50 s"},
		{999_999, "1.00 ms"}, // not 1000.00 µs
		{59_996 * time.Millisecond, "1 min 00 s"},
		{184 * time.Second, "3 min 04 s"},
		{time.Hour - time.Millisecond, "1 h 00 min"},
		{62 * time.Minute, "1 h 02 min"},
		{49 * time.Hour, "49 h 00 min"},
		{-time.Second, "-1.00 s"},
		{math.MinInt64, "-2562047 h 47 min"},
	}
	for _, tt := range tests {
		if got := FormatDuration(tt.in); got != tt.want {
			t.Errorf("FormatDuration(%d) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"12.5s": 12500 * time.Millisecond, "850 µs": 850 * time.Microsecond, "3 min 04 s": 184 * time.Second,
		"1h30m": 90 * time.Minute, "5ms": 5 * time.Millisecond, "0": 0,
		"30d": 720 * time.Hour, "1 d 12 h": 36 * time.Hour, "0d": 0, "106751d": LongestDuration,
	} {
		if got, err := ParseDuration(in); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "12", "12.5 seconds", "-1s", "s", strings.Repeat("9", 100) + "s", "d", "-1d", "1d-1h", "1.5d", "1d1d", "65535d2562047h"} {
		if got, err := ParseDuration(in); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", in, got)
		}
	}
}

// TestParseDurationTooLong: a span that is one, and too long, is told from what is none.
func TestParseDurationTooLong(t *testing.T) {
	for _, in := range []string{"999999d", "106752d", "106751d23h48m", strings.Repeat("9", 100) + "d", "9999999h", "1d9999999h", strings.Repeat("9", 100) + "s", "1.5h9999999999 min"} {
		if _, err := ParseDuration(in); !errors.Is(err, ErrTooLong) || !strings.HasSuffix(err.Error(), "too long: a span of time has at most 106751d") {
			t.Errorf("ParseDuration(%q): %v", in, err)
		}
	}
	for _, in := range []string{"-9999999h", "999999dx", "999999d-1h", "99999999x", "x999999d"} {
		if _, err := ParseDuration(in); err == nil || errors.Is(err, ErrTooLong) {
			t.Errorf("ParseDuration(%q): %v", in, err)
		}
	}
}

// TestDurationRoundTrip: what is printed is read back to within half of its last digit.
func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(10_000*time.Hour)).Draw(t, "d") >> rapid.IntRange(0, 40).Draw(t, "shift"))
		got, err := ParseDuration(FormatDuration(d))
		if err != nil {
			t.Fatal(err)
		}
		if off := (got - d).Abs(); off > d/100 {
			t.Fatalf("%v prints as %q, which is %v", d, FormatDuration(d), got)
		}
	})
}

func TestFormatCount(t *testing.T) {
	for in, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", 5212345: "5,212,345", -100: "-100",
		math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := FormatCount(in); got != want {
			t.Errorf("FormatCount(%d) = %q, want %q", in, got, want)
		}
	}
}

func TestFormatShare(t *testing.T) {
	tests := []struct {
		part, whole int64
		want        string
	}{
		{1, 3, "33.3 %"},
		{0, 3, "0.0 %"},
		{1, 1_000_000, "<0.1 %"},
		{999_999, 1_000_000, ">99.9 %"},
		{5, 5, "100.0 %"},
		{5, 0, "-"},
		{3, 2, "150.0 %"},
	}
	for _, tt := range tests {
		if got := FormatShare(tt.part, tt.whole); got != tt.want {
			t.Errorf("FormatShare(%d, %d) = %q, want %q", tt.part, tt.whole, got, tt.want)
		}
	}
}

func TestFormatPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 events", 1: "1 event", 2: "2 events", 5212: "5,212 events"} {
		if got := FormatPlural(n, "event", "events"); got != want {
			t.Errorf("FormatPlural(%d) = %q, want %q", n, got, want)
		}
	}
}
