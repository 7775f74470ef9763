package message

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		text           string
		how            rounding
		low, mid, high int64
	}{
		{"0bytes", nearest, 0, 0, 0},
		{"512bytes", nearest, 512, 512, 512},
		{"1.00KiB", nearest, 1018, 1024, 1029},
		{"20.00MiB", nearest, 20966277, 20971520, 20976762},
		{"1024.00GiB", nearest, 1099506259066, 1099511627776, 1099516996485},
		{"1062MB", floor, 1062 << 20, 1062 << 20, 1063<<20 - 1},
		{"0KiB", floor, 0, 0, 1023},
		{"17179869184.00GiB", nearest, 0, 0, -1},
		{"24449MiB", nearest, 24449<<20 - 512<<10, 24449 << 20, 24449<<20 + 512<<10},
	} {
		s, n := parseSize([]byte(c.text), c.how)
		if n != len(c.text) || s.Low != c.low || s.Bytes != c.mid || s.High != c.high {
			t.Errorf("%s: [%d %d %d] of %d bytes, want [%d %d %d]", c.text, s.Low, s.Bytes, s.High, n, c.low, c.mid, c.high)
		}
	}
	for _, text := range []string{"", "GiB", "12", "12.GiB", ".5GiB", "-1GiB", "123456789012345678901GiB", "12XB"} {
		if s, n := parseSize([]byte(text), nearest); n != 0 {
			t.Errorf("%q was read as %+v", text, s)
		}
	}
}

// formatSize prints as PyTorch's allocator does.
func formatSize(n int64) string {
	switch {
	case n <= 1024:
		return fmt.Sprintf("%d bytes", n)
	case n <= 1<<20:
		return fmt.Sprintf("%.2f KiB", float64(n)/1024)
	case n <= 1<<30:
		return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}

// TestSizeHoldsWhatWasPrinted: the interval always has the number that was printed.
func TestSizeHoldsWhatWasPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<50).Draw(t, "n") >> rapid.IntRange(0, 49).Draw(t, "shift")
		text := string(squeeze(nil, []byte(formatSize(n))))
		s, used := parseSize([]byte(text), nearest)
		if used != len(text) || n < s.Low || n > s.High {
			t.Fatalf("%d was printed as %s and read as [%d, %d]", n, text, s.Low, s.High)
		}
		if width := s.High - s.Low; n > 2048 && width > n/50 {
			t.Fatalf("%s: an interval of %d bytes", text, width)
		}
	})
}
