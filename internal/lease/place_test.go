package lease

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestPlaceIsBest compares with all subsets of the devices, rated by the rule of place in its plainest
// form.
func TestPlaceIsBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { placeTrial(t, drawn{t}) })
	for seed := range uint64(2000) {
		placeTrial(t, newSeeded(seed))
	}
}

func placeTrial(t tester, d dice) {
	n := 1 + d.intn(7)
	devices, links := make([]Device, n), make([][]int, n)
	for i := range devices {
		devices[i] = Device{UUID: fmt.Sprint("G", i), CapacityBytes: int64(20+10*d.intn(4)) * gib}
		links[i] = make([]int, n)
	}
	for i := range links {
		for j := range i {
			links[i][j] = pick(d, 1, 2, 18)
			links[j][i] = links[i][j]
		}
	}
	b := New()
	must(b.SetDevices(1, "root", devices, links))
	for _, dev := range devices {
		must(b.SetForeign(1, dev.UUID, int64(d.intn(25))*gib))
		if d.intn(4) == 0 {
			must(b.Cordon(1, "root", dev.UUID, true))
		}
	}
	r := Request{User: "u", MemoryBytes: int64(1+d.intn(25)) * gib, Devices: 1 + d.intn(n), Exclusive: d.intn(5) == 0}
	var got []string
	for _, s := range b.place(&r, nil) {
		got = append(got, s.Device)
	}
	if diff := cmp.Diff(bestSet(b, &r, links), got); diff != "" {
		t.Fatalf("%+v on %+v with %v (-brute force +place):\n%s", r, b.Devices(), links, diff)
	}
}

// bestSet tries every subset, as bits of a number.
func bestSet(b *Book, r *Request, links [][]int) (best []string) {
	all := b.Devices()
	var bestSlow, bestSum int
	var bestLeft int64
	var bestBits uint
	for set := range uint(1) << len(all) {
		if bits.OnesCount(set) != r.Devices {
			continue
		}
		slow, sum, left, ok := 1<<30, 0, int64(0), true
		for i, d := range all {
			if set>>i&1 == 0 {
				continue
			}
			room := d.CapacityBytes - d.ForeignBytes
			need := r.MemoryBytes
			if r.Exclusive {
				need = max(need, d.CapacityBytes)
			}
			ok = ok && !d.Cordoned && room >= need
			left += room - need
			for j := range i {
				if set>>j&1 == 1 {
					slow, sum = min(slow, links[i][j]), sum+links[i][j]
				}
			}
		}
		better := slow > bestSlow || slow == bestSlow && (sum > bestSum || sum == bestSum && (left < bestLeft || left == bestLeft && bits.Reverse(set) > bits.Reverse(bestBits)))
		if ok && (best == nil || better) {
			bestSlow, bestSum, bestLeft, bestBits = slow, sum, left, set
			best = nil
			for i, d := range all {
				if set>>i&1 == 1 {
					best = append(best, d.UUID)
				}
			}
		}
	}
	return best
}

// TestManyDevices: where there are too many sets to try, the answer is a set that fits, and within
// an island of fast links if there is one.
func TestManyDevices(t *testing.T) {
	var devices []Device
	links := make([][]int, 48)
	for i := range links {
		devices = append(devices, Device{UUID: fmt.Sprint("G", i), CapacityBytes: 80 * gib})
		links[i] = make([]int, len(links))
		for j := range links {
			if links[i][j] = 1; i%3 == j%3 {
				links[i][j] = 18
			}
		}
	}
	b := New()
	must(b.SetDevices(1, "root", devices, links))
	for _, d := range devices {
		must(b.SetForeign(1, d.UUID, 0))
	}
	shares := b.place(&Request{User: "u", MemoryBytes: gib, Devices: 8}, nil)
	if len(shares) != 8 {
		t.Fatalf("%d devices", len(shares))
	}
	for _, x := range shares {
		for _, y := range shares {
			if x != y && b.links[[2]string{x.Device, y.Device}] != 18 {
				t.Errorf("%s and %s are far apart", x.Device, y.Device)
			}
		}
	}
}

// TestSums compares the set of bits with a map.
func TestSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 300).Draw(t, "limit")
		got, want := newSums(limit), map[int64]bool{0: true}
		for _, n := range rapid.SliceOfN(rapid.Int64Range(0, 200), 0, 8).Draw(t, "n") {
			got.or(got, n)
			for _, s := range keysOf(want) {
				if s+n <= limit {
					want[s+n] = true
				}
			}
		}
		most := int64(0)
		for s := range limit + 1 {
			if has := got.words[s/64]>>(s%64)&1 == 1; has != want[s] {
				t.Fatalf("%d: %v", s, has)
			}
			if want[s] {
				most = s
			}
		}
		if got.highest() != most {
			t.Fatalf("highest is %d, want %d", got.highest(), most)
		}
	})
}

func keysOf(m map[int64]bool) (keys []int64) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}
