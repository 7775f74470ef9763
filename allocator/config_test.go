package allocator

import "testing"

func TestRound(t *testing.T) {
	all := func(d int) (divisions [16]int) {
		for i := range divisions {
			divisions[i] = d
		}
		return divisions
	}
	last := [16]int{15: 2}
	for _, tc := range []struct {
		divisions [16]int
		n, want   int64
	}{
		{all(0), 1, 512},
		{all(0), 512, 512},
		{all(0), 513, 1024},
		{all(0), 5_000_000, 5_000_192},
		{all(1), 5_000_000, 5_000_192},
		{all(4), 2049, 2560},
		{all(4), 3000, 3072},
		{all(4), 1200, 1536}, // not 1280 as documented: requests of at most 4 x 512 bytes are not divided
		{all(4), 2048, 2048},
		{all(4), 5_000_000, 5_242_880},
		{all(2), 300 * mib, 384 * mib},
		{all(16), 300 * mib, 304 * mib},
		{all(8), 256 * mib, 256 * mib},
		{last, 31 << 30, 31 << 30},
		{last, 33 << 30, 48 << 30},
		{last, 200<<30 + 1, 256 << 30}, // the last entry serves all that is larger
	} {
		c := Config{RoundupDivisions: tc.divisions}
		if got := c.Round(tc.n); got != tc.want {
			t.Errorf("Round(%d) with divisions %v is %d, want %d", tc.n, tc.divisions, got, tc.want)
		}
	}
}

func TestSegmentSize(t *testing.T) {
	for _, tc := range []struct{ large, rounded, want int64 }{
		{0, 512, 2 * mib},
		{0, mib, 2 * mib},
		{0, mib + 512, 20 * mib},
		{0, 10*mib - 512, 20 * mib},
		{0, 10 * mib, 10 * mib},
		{0, 10*mib + 512, 12 * mib},
		{0, 300 * mib, 300 * mib},
		{64 * mib, mib + 512, 64 * mib},
		{64 * mib, 10 * mib, 10 * mib},
	} {
		c := Config{LargeSegmentBytes: tc.large}
		if got := c.SegmentSize(tc.rounded); got != tc.want {
			t.Errorf("SegmentSize(%d) with large segments of %d is %d, want %d", tc.rounded, tc.large, got, tc.want)
		}
	}
}
