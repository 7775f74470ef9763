package fit

import (
	"testing"

	"github.com/ullage-dev/ullage/allocator"
)

// alike returns the share of the bytes of a that a and b request in the same order: those of
// a longest common subsequence, which Myers's greedy algorithm finds. Where the two
// differ in more than 3,000 places it gives up, with 0.
func alike(a, b []int64) float64 {
	const most = 3000
	var traces [][]int
	v := make([]int, 2*most+2)
	for d := 0; d <= most; d++ {
		traces = append(traces, append([]int(nil), v[most-d:most+d+2]...))
		for k := -d; k <= d; k += 2 {
			x := v[most+k-1] + 1
			if k == -d || k != d && v[most+k-1] < v[most+k+1] {
				x = v[most+k+1]
			}
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			v[most+k] = x
			if x >= len(a) && y >= len(b) {
				return commonBytes(a, b, traces)
			}
		}
	}
	return 0
}

// commonBytes walks the trace of alike back and counts what is common.
func commonBytes(a, b []int64, traces [][]int) float64 {
	var same, all int64
	for _, n := range a {
		all += n
	}
	x, y := len(a), len(b)
	for d := len(traces) - 1; d >= 0; d-- {
		v := func(k int) int { return traces[d][k+d] } // traces[d] begins at diagonal -d
		k := x - y
		from := k - 1
		if k == -d || k != d && v(k-1) < v(k+1) {
			from = k + 1
		}
		startX := 0
		if d > 0 {
			startX = v(from)
			if from == k-1 {
				startX++
			}
		}
		for x > startX && y > startX-k {
			x, y = x-1, y-1
			same += a[x]
		}
		if d > 0 {
			x = v(from)
			y = x - from
		}
	}
	return float64(same) / float64(max(all, 1))
}

func TestAlike(t *testing.T) {
	for _, tt := range []struct {
		a, b []int64
		want float64
	}{
		{[]int64{1, 2, 3, 4}, []int64{1, 2, 3, 4}, 1},
		{[]int64{1, 2, 3, 4}, []int64{1, 3, 4}, 0.8},
		{[]int64{1, 2, 3, 4}, []int64{9, 1, 2, 9, 3, 4, 9}, 1},
		{[]int64{5, 5}, []int64{7}, 0},
		{[]int64{4, 3, 2, 1}, []int64{4, 3, 9, 9}, 0.7},
	} {
		if got := alike(tt.a, tt.b); got < tt.want-1e-9 || got > tt.want+1e-9 {
			t.Errorf("alike(%v, %v) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

func mustConfig(t testing.TB, conf string) allocator.Config {
	t.Helper()
	s, err := allocator.ParseConfig(allocator.Version{Major: 2, Minor: 11}, conf)
	if err != nil {
		t.Fatal(err)
	}
	return s.ForDevice(1 << 37)
}
