package allocator

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLost names the live blocks whose memory a call takes, whatever the state they
// are in, and only those.
func TestLost(t *testing.T) {
	native := func(a *Allocator) error { return a.SegmentAlloc(1<<40, 20*mib, 0, PoolID{}) }
	pages := func(a *Allocator) error { return a.SegmentMap(1<<40, 20*mib, 0, PoolID{}) }
	for _, tc := range []struct {
		name       string
		grow, take func(a *Allocator) error
		lost       []int64 // requested bytes
		err        error
	}{
		{"freed", native, func(a *Allocator) error { return a.SegmentFree(1 << 40) }, []int64{2 * mib, 3 * mib}, ErrOverlap},
		{"replaced", native, native, []int64{2 * mib, 3 * mib}, ErrOverlap},
		{"replaced in part", native, func(a *Allocator) error { return a.SegmentMap(1<<40+18*mib, 20*mib, 0, PoolID{}) }, []int64{2 * mib, 3 * mib}, ErrOverlap},
		{"unmapped in part", pages, func(a *Allocator) error { return a.SegmentUnmap(1<<40, 2*mib) }, []int64{2 * mib}, ErrOverlap},
		{"mapped again in part", pages, func(a *Allocator) error { return a.SegmentMap(1<<40+4*mib, 2*mib, 0, PoolID{}) }, []int64{3 * mib}, ErrOverlap},
		{"unmapped where it is free", pages, func(a *Allocator) error { return a.SegmentUnmap(1<<40+10*mib, 10*mib) }, nil, nil},
		{"another segment", native, func(a *Allocator) error { return a.SegmentAlloc(1<<41, 20*mib, 0, PoolID{}) }, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := New(Config{})
			if err := tc.grow(a); err != nil {
				t.Fatal(err)
			}
			first, _, _ := a.AllocAt(1<<40, 2*mib, 0, PoolID{})
			if _, _, err := a.AllocAt(1<<40+2*mib, 3*mib, 0, PoolID{}); err != nil {
				t.Fatal(err)
			}
			if err := a.FreeRequested(first); err != nil {
				t.Fatal(err)
			}
			if err := tc.take(a); !errors.Is(err, tc.err) {
				t.Errorf("error %v, want %v", err, tc.err)
			}
			var lost []int64
			for _, b := range a.Lost() {
				lost = append(lost, b.RequestedBytes)
			}
			if diff := cmp.Diff(tc.lost, lost); diff != "" {
				t.Errorf("lost (-want +got):\n%s", diff)
			}
			check(t, a)
		})
	}
}
