package fit

import "testing"

// TestSweep: the largest value is found whatever the need looks like, in few tries where it is a line.
func TestSweep(t *testing.T) {
	const room = 1000
	for _, tt := range []struct {
		name      string
		need      func(n int64) int64
		low, high int
		tries     int
	}{
		{"line", func(n int64) int64 { return 100 + 7*n }, 1, 512, 5},
		{"all fit", func(n int64) int64 { return 5 + n }, 8, 512, 2},
		{"none fits", func(n int64) int64 { return 2000 + n }, 8, 512, 1},
		{"one value", func(n int64) int64 { return n }, 8, 8, 1},
		{"steps", func(n int64) int64 { return 100 + 7*n/64*64 }, 1, 512, maxSweep},
		{"square", func(n int64) int64 { return n * n / 20 }, 1, 4096, maxSweep},
		{"flat, then steep", func(n int64) int64 { return 900 + max(0, n-300)*1000 }, 1, 512, maxSweep},
	} {
		s := Sweep{Low: tt.low, High: tt.high}
		for n, more := s.Next(); more; n, more = s.Next() {
			if n < tt.low || n > tt.high {
				t.Fatalf("%s: tries %d", tt.name, n)
			}
			s.Tried = append(s.Tried, SweepPoint{Value: n, NeedBytes: tt.need(int64(n)), RoomBytes: room})
		}
		if len(s.Tried) > tt.tries {
			t.Errorf("%s: %d tries: %v", tt.name, len(s.Tried), s.Tried)
		}
		want := tt.low - 1
		for n := tt.low; n <= tt.high && tt.need(int64(n)) <= room; n++ {
			want = n
		}
		best, ok := s.Best()
		if ok != (want >= tt.low) || ok && (best > want || want-best > max(1, want/100)) {
			t.Errorf("%s: found %d (%v), the largest is %d; tried %v", tt.name, best, ok, want, s.Tried)
		}
	}
}
