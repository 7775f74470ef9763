package allocator

import (
	"errors"
	"testing"
)

// TestPrivatePools keeps a pool's memory until its last user is gone, and does
// not release anything during a capture.
func TestPrivatePools(t *testing.T) {
	pool := PoolID{1, 0}
	s := NewSimulator(Config{}, NewDevice(64*mib, 64*mib, Ascending, 0))
	s.RetainPool(pool)
	s.EnterPool(pool, true)
	b, err := s.Malloc(40*mib, 0, pool)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Free(b); err != nil {
		t.Fatal(err)
	}
	var oom *OOMError
	if _, err := s.Malloc(50*mib, 0, PoolID{}); !errors.As(err, &oom) || s.Stats().Retries != 0 {
		t.Fatalf("in a capture: %v after %d retries, want out of memory without", err, s.Stats().Retries)
	}
	s.LeavePool(pool)
	if _, err := s.Malloc(50*mib, 0, PoolID{}); !errors.As(err, &oom) || s.Stats().Retries != 1 {
		t.Fatalf("with the graph alive: %v after %d retries, want out of memory after one", err, s.Stats().Retries)
	}
	s.ReleasePool(pool)
	if _, err := s.Malloc(50*mib, 0, PoolID{}); err != nil {
		t.Fatalf("with the graph gone: %v", err)
	}
}

// TestUseOnOOM takes from another pool rather than fail: from 2.10 on before
// cached memory is released, in 2.8 and 2.9 after.
func TestUseOnOOM(t *testing.T) {
	pool := PoolID{0, 1}
	for _, tc := range []struct {
		torch   Version
		retries int
	}{{Version{2, 9}, 1}, {Version{2, 10}, 0}} {
		s := NewSimulator(Config{Behavior: tc.torch.Behavior()}, NewDevice(64*mib, 64*mib, Ascending, 0))
		s.SetPool(pool, PoolOptions{UseOnOOM: true})
		b, err := s.Malloc(40*mib, 0, pool)
		if err != nil {
			t.Fatal(err)
		}
		at := s.Addr(b)
		if err := s.Free(b); err != nil {
			t.Fatal(err)
		}
		if got := mustMalloc(t, s, 30*mib); s.Addr(got) != at {
			t.Errorf("torch %v: the block is at %#x, want %#x in the other pool", tc.torch, s.Addr(got), at)
		}
		if got := s.Stats().Retries; got != tc.retries {
			t.Errorf("torch %v: %d retries, want %d", tc.torch, got, tc.retries)
		}
	}
}

// TestUseMemPool shows what releases do in use_mem_pool: up to 2.12 a request
// releases nothing, in 2.6 and 2.7 neither does empty_cache.
func TestUseMemPool(t *testing.T) {
	for _, tc := range []struct {
		torch         Version
		retries, left int64
	}{
		{Version{2, 5}, 0, 0}, {Version{2, 7}, 0, 40}, {Version{2, 12}, 0, 0}, {Version{2, 13}, 1, 0},
	} {
		s := NewSimulator(Config{Behavior: tc.torch.Behavior()}, NewDevice(64*mib, 64*mib, Ascending, 0))
		if err := s.Free(mustMalloc(t, s, 40*mib)); err != nil {
			t.Fatal(err)
		}
		s.EnterPool(PoolID{0, 1}, false)
		_, err := s.Malloc(50*mib, 0, PoolID{})
		if st := s.Stats(); st.Retries != int(tc.retries) || (err == nil) != (tc.retries > 0) {
			t.Errorf("torch %v: %v after %d retries, want %d", tc.torch, err, st.Retries, tc.retries)
		}
		if err != nil {
			s.EmptyCache()
			if got := s.Stats().Reserved / mib; got != tc.left {
				t.Errorf("torch %v: empty_cache leaves %d MiB, want %d", tc.torch, got, tc.left)
			}
		}
	}
}

// TestPoolOptions makes pools that are never split, and such that never expand.
func TestPoolOptions(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options PoolOptions
		blocks  int // in the segment of 20 MiB for a request of 4
		native  bool
	}{
		{"plain", PoolOptions{}, 2, false},
		{"no_split", PoolOptions{NoSplit: true, CustomAllocator: true}, 1, true},
		{"custom allocator", PoolOptions{CustomAllocator: true}, 2, true},
	} {
		s := NewSimulator(Config{Expandable: true}, NewDevice(1<<30, 1<<30, Ascending, 0))
		s.SetPool(PoolID{0, 1}, tc.options)
		if _, err := s.Malloc(4*mib, 0, PoolID{0, 1}); err != nil {
			t.Fatal(err)
		}
		if seg := s.Segments()[0]; len(seg.Blocks) != tc.blocks || seg.Expandable == tc.native {
			t.Errorf("%s: %+v", tc.name, seg)
		}
	}
}

func TestNativePrivatePools(t *testing.T) {
	for _, tc := range []struct {
		torch Version
		want  bool
	}{{Version{2, 4}, false}, {Version{2, 6}, true}} {
		s := NewSimulator(Config{Expandable: true, Behavior: tc.torch.Behavior()}, NewDevice(1<<30, 1<<30, Ascending, 0))
		if _, err := s.Malloc(30*mib, 0, PoolID{1}); err != nil {
			t.Fatal(err)
		}
		if got := s.Segments()[0].Expandable; got != tc.want {
			t.Errorf("torch %v: a private pool has expandable segments: %v, want %v", tc.torch, got, tc.want)
		}
	}
}
