package cli

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
)

// TestInOrder runs out of order what must come back in order, with at most as many
// calls under way as asked for.
func TestInOrder(t *testing.T) {
	const n = 20
	for _, parallel := range []int{1, 2, 7, 50} {
		var running, most atomic.Int32
		odd := errors.New("odd")
		f := func(i int) (int, error) {
			if now := running.Add(1); now > most.Load() {
				most.Store(now)
			}
			defer running.Add(-1)
			if i == 13 {
				return 0, odd
			}
			return i * i, nil
		}
		var got []int
		for v, err := range inOrder(n, parallel, f) {
			if err != nil {
				v = -1
			}
			got = append(got, v)
		}
		want := make([]int, n)
		for i := range want {
			want[i] = i * i
		}
		want[13] = -1
		if !slices.Equal(got, want) {
			t.Errorf("parallel %d: got %v, want %v", parallel, got, want)
		}
		if int(most.Load()) > parallel+1 {
			t.Errorf("parallel %d: %d calls ran at once", parallel, most.Load())
		}
	}
}

// TestInOrderStopsEarly leaves the loop after the third result: no call is under way
// when the loop has ended.
func TestInOrderStopsEarly(t *testing.T) {
	var running, started atomic.Int32
	f := func(i int) (string, error) {
		started.Add(1)
		running.Add(1)
		defer running.Add(-1)
		return fmt.Sprint(i), nil
	}
	for v := range inOrder(1000, 4, f) {
		if v == "2" {
			break
		}
	}
	if running.Load() != 0 || started.Load() > 8 {
		t.Errorf("%d calls under way after the loop, %d started", running.Load(), started.Load())
	}
}
