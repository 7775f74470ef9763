package fit

import (
	"slices"
	"testing"
)

// TestSearchBuffers: what cudnn.benchmark asked for while it tried all kernels, for 281 convolutions of
// models and of odd forms. docs/accuracy.md has the figures.
func TestSearchBuffers(t *testing.T) {
	var n, close2, above, aboveTwice float64
	var times []float64
	measuredIn(t, "../../testdata/gpu/operators-h200-odd.jsonl.xz", func(row measuredRow) {
		if row.kind != "search" {
			return
		}
		v, d, _ := oddConv(row)
		end := slices.Index(row.events, 0) // the cache is given back at the end of a search
		if end < 2 || v.ownKernel() {
			return
		}
		w := measuredConvs().estimate(v, convDir(d))
		likely, high := v.searchBuffer()
		likely, high = max(likely, w.bytes), max(high, w.high)
		measured := slices.Max(row.events[1:end])
		n++
		close2 += truth(max(likely, measured) <= 2*min(likely, measured))
		above += truth(high < measured)
		aboveTwice += truth(2*high < measured)
		times = append(times, float64(high)/float64(max(measured, 1<<20)))
	})
	slices.Sort(times)
	t.Logf("%.0f searches: %.2f within twice, %.3f above the bound, %.3f above twice the bound, which is %.1f times what was measured in the median, %.1f in nine of ten",
		n, close2/n, above/n, aboveTwice/n, times[len(times)/2], times[len(times)*9/10])
	if n < 200 || close2/n < 0.5 || above/n > 0.1 {
		t.Error("searches are predicted worse than they were")
	}
}

// TestTransforms: workspaces of kernels that transform, as heuristic mode and searches showed them.
func TestTransforms(t *testing.T) {
	square := func(mode convMode, n, c, h, k, r, pad int64) convShape {
		return convShape{mode: mode, n: n, c: c, h: h, w: h, k: k, r: r, s: r, stride: 1, pad: pad, dilation: 1, groups: 1}
	}
	for _, tt := range []struct {
		v        convShape
		measured int64
	}{
		{square(convF32, 1, 512, 28, 512, 3, 1), 2295595008},
		{square(convTF32, 3, 136, 35, 359, 1, 0), 1663843040},
		{square(convTF32, 1, 38, 27, 27, 9, 4), 36287120},
		{square(convF32, 4, 258, 13, 32, 3, 1), 21696768},
	} {
		if got := tt.v.fft(); got < tt.measured*97/100 || got > tt.measured*103/100 {
			t.Errorf("%+v: computed %d, measured %d", tt.v, got, tt.measured)
		}
		if !tt.v.transforms(tt.measured) || tt.v.transforms(tt.v.copies()) {
			t.Errorf("%+v: is not known by its workspace", tt.v)
		}
	}
	strided := square(convTF32, 1, 38, 27, 27, 9, 4)
	strided.stride = 2
	large := square(convTF32, 1, 38, 300, 27, 9, 4)
	half := square(convBF16, 1, 38, 27, 27, 9, 4)
	for _, v := range []convShape{strided, large, half} {
		if v.fft() != 0 {
			t.Errorf("%+v: no kernel that transforms can run", v)
		}
	}
}
