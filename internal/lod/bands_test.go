package lod

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// bySize groups blocks by the number of bits of their size, every third apart.
func bySize(d *Device) func(int) uint32 {
	return func(b int) uint32 { return uint32(classOf(d.TL.Life(b).SizeBytes))%7 + uint32(b%3) }
}

// heldBy returns what each group has allocated after every event.
func heldBy(d *Device, of func(int) uint32, groups int) [][]int64 {
	all := make([][]int64, groups)
	for g := range all {
		all[g] = make([]int64, d.Events)
	}
	for b := range d.TL.NumBlocks() {
		l := d.TL.Life(b)
		for i := max(l.Alloc, 0); i < min(l.FreeRequested, d.Events); i++ {
			all[of(b)][i] += l.SizeBytes
		}
	}
	return all
}

// TestBands: each band has what its group has, and the bands of a bucket add up to what
// is allocated.
func TestBands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDevice(t)
		g := d.Group(bySize(d))
		held := heldBy(d, bySize(d), g.Groups)
		edge := drawEdges(t, d.Events)
		groups := rapid.SliceOfNDistinct(rapid.Uint32Range(0, uint32(g.Groups+1)), 0, 5, rapid.ID).Draw(t, "groups")
		b := g.Bands(edge, groups)
		_, highest := d.Counters.peaks(edge)
		for j := range len(edge) - 1 {
			var peak int64
			var mean float64
			for k, group := range b.Groups {
				peak += b.Peak[k][j]
				mean += b.Mean[k][j]
				if group < uint32(g.Groups) {
					checkBand(t, d, b, held[group], k, j)
				}
			}
			if peak != highest[j] {
				t.Fatalf("bucket %d: bands add up to %d, allocated is %d at most", j, peak, highest[j])
			}
			if want := naiveMean(held, edge[j], edge[j+1]); edge[j] < edge[j+1] && math.Abs(mean-want) > 1e-6*(want+1) {
				t.Fatalf("bucket %d: means add up to %f, allocated is %f", j, mean, want)
			}
		}
	})
}

func checkBand(t *rapid.T, d *Device, b *Bands, held []int64, k, j int) {
	from, to := b.Edge[j], b.Edge[j+1]
	peak, mean := b.Peak[k][j], b.Mean[k][j]
	var wantPeak int64
	switch {
	case from < to:
		wantPeak = held[b.At[j]]
	case from > 0:
		wantPeak = held[from-1]
	default:
		return // before the first event; TestLive has that
	}
	want := float64(wantPeak)
	if from < to {
		want = naiveMean([][]int64{held}, from, to)
	}
	if peak != wantPeak || math.Abs(mean-want) > 1e-6*(want+1) {
		t.Fatalf("bucket %d, events [%d, %d) of %d, group %d: %d and %f, not %d and %f", j, from, to, d.Events, b.Groups[k], wantPeak, want, peak, mean)
	}
}

func naiveMean(held [][]int64, from, to int) float64 {
	var sum int64
	for _, h := range held {
		for _, v := range h[from:to] {
			sum += v
		}
	}
	return float64(sum) / float64(to-from)
}

// largest returns the k groups that have the most allocated at any event, the most first.
func largest(d *Device, g *Grouping, k int) (groups []uint32) {
	held, peaks := make([]int64, g.Groups), make([]int64, g.Groups)
	add := func(change uint32) {
		_, bytes := d.change(change)
		group := g.Of(int(change >> 1))
		held[group] += bytes
		peaks[group] = max(peaks[group], held[group])
	}
	for _, b := range d.LiveAt(-1) {
		add(b << 1)
	}
	d.eachChange(0, d.Events, add)
	for group, bytes := range peaks {
		if bytes > 0 {
			groups = append(groups, uint32(group))
		}
	}
	slices.SortStableFunc(groups, func(a, b uint32) int { return cmp.Compare(peaks[b], peaks[a]) })
	return groups[:min(k, len(groups))]
}
