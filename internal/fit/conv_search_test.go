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
