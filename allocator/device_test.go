package allocator

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLikeDriverOrder replays the recorded calls to the driver and compares which
// of two live segments of one size lies lower: that is all that the allocator
// sees of addresses.
func TestLikeDriverOrder(t *testing.T) {
	share := func(order AddressOrder) float64 {
		same, all := 0, 0
		for _, name := range traceNames(t) {
			for _, d := range readTrace(t, name).devices {
				s, n := sameOrder(d.events, NewDevice(1<<40, 1<<40, order, 0))
				same += s
				all += n
			}
		}
		return float64(same) / float64(all)
	}
	like, descending := share(LikeDriver), share(Descending)
	if like < 0.95 || like <= descending {
		t.Errorf("%.3f of pairs are in the recorded order, and %.3f if descending; want at least 0.95, and more", like, descending)
	}
}

func sameOrder(events []traceEvent, dev *SimDevice) (same, all int) {
	type segment struct {
		real, simulated uint64
		size            int64
	}
	var live []segment
	for _, e := range events {
		switch e.action {
		case 'g':
			addr, _ := dev.Malloc(e.size)
			for _, o := range live {
				if o.size == e.size {
					all++
					if (e.addr < o.real) == (addr < o.simulated) {
						same++
					}
				}
			}
			live = append(live, segment{e.addr, addr, e.size})
		case 'f':
			i := slices.IndexFunc(live, func(s segment) bool { return s.real == e.addr })
			dev.Release(live[i].simulated, live[i].size)
			live = slices.Delete(live, i, i+1)
		}
	}
	return same, all
}

// TestDeviceAddresses takes and gives back memory in every order: what is live
// never overlaps, stays clear of what was claimed, and the bytes add up.
func TestDeviceAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const total = 64 << 30
		d := NewDevice(total, total, AddressOrder(rapid.IntRange(0, 3).Draw(t, "order")), rapid.Uint64Range(0, 99).Draw(t, "seed"))
		live := []extent{{0x7f00_0000_0000, 64 * mib}, {0x3_0200_0000, 20 * mib}}
		for _, e := range live {
			d.Claim(e.addr, int64(e.size), int64(e.size))
		}
		used := int64(84 * mib)
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			if len(live) > 2 && rapid.Bool().Draw(t, "release") {
				k := rapid.IntRange(2, len(live)-1).Draw(t, "which")
				d.Release(live[k].addr, int64(live[k].size))
				used -= int64(live[k].size)
				live = slices.Delete(live, k, k+1)
			} else {
				size := 2 * mib * rapid.Int64Range(1, 40).Draw(t, "size")
				addr, ok := d.Malloc(size)
				if !ok {
					t.Fatal("no memory, though there is")
				}
				for _, e := range live {
					if addr < e.end() && e.addr < addr+uint64(size) {
						t.Fatalf("%d bytes at %#x overlap %d at %#x", size, addr, e.size, e.addr)
					}
				}
				used += size
				live = append(live, extent{addr, uint64(size)})
			}
			if d.Free() != total-used {
				t.Fatalf("%d bytes free, want %d", d.Free(), total-used)
			}
		}
		for _, e := range live[2:] {
			d.Release(e.addr, int64(e.size))
		}
		if len(d.chunks.begun)+len(d.chunks.gaps) > 0 {
			t.Fatalf("chunks are left after everything was given back: %+v", d.chunks)
		}
	})
}
