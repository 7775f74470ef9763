package fit

import (
	"math/rand/v2"
	"testing"
)

// heldOutLayer is what a layer is known by at every size of image and batch, in every type.
type heldOutLayer struct{ c, k, r, stride, groups int64 }

func (v *convShape) layer() heldOutLayer { return heldOutLayer{v.c, v.k, v.r, v.stride, v.groups} }

// without returns the table without a share of its layers, and these.
func (t *convTable) without(rng *rand.Rand, oneIn int) (*convTable, []convLayer) {
	out := map[heldOutLayer]bool{}
	var kept, held []convLayer
	for i := range t.layers {
		l := &t.layers[i]
		gone, met := out[l.layer()]
		if !met {
			gone = rng.IntN(oneIn) == 0
			out[l.layer()] = gone
		}
		if gone {
			held = append(held, *l)
		} else {
			kept = append(kept, *l)
		}
	}
	return newConvTable(kept), held
}

// oddLayers are those in the table that were drawn at random: odd channels, dilations, large
// kernels, one to three dimensions.
func oddLayers(t *testing.T) map[convKey]bool {
	odd := map[convKey]bool{}
	measuredIn(t, "../../testdata/gpu/operators-h200-odd.jsonl.xz", func(row measuredRow) {
		if v, _, _, ok := measuredConv(row); ok {
			odd[v.key()] = true
		}
	})
	return odd
}

// TestEstimatesOfHeldOutConvolutions: a tenth of the layers is left out of the table, at every size and
// in every type, and estimated from the rest. Of workspaces of 4 MiB and more, how many come
// out right, and how many lie above the bound? docs/accuracy.md has the figures.
func TestEstimatesOfHeldOutConvolutions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rest, held := measuredConvs().without(rng, 10)
	odd := oddLayers(t)
	for _, tt := range []struct {
		name           string
		odd            bool
		close10, above float64
	}{{"of models", false, 0.7, 0.05}, {"odd", true, 0.55, 0.05}} {
		var n, close2, close10, above float64
		for i := range held {
			l := &held[i]
			if odd[l.key()] != tt.odd || rng.IntN(3) > 0 {
				continue
			}
			for _, c := range l.cases {
				for d, measured := range c.workspace {
					w := rest.estimate(l.at(c.n), convDir(d))
					larger := max(measured, w.bytes)
					if measured < 0 || larger < 4<<20 {
						continue
					}
					off := larger - min(measured, w.bytes)
					n++
					close2 += truth(off*50 < larger)
					close10 += truth(off*10 < larger)
					above += truth(w.high < measured*98/100)
				}
			}
		}
		t.Logf("%s: %.0f workspaces: %.2f within 2 %%, %.2f within 10 %%, %.3f above the bound", tt.name, n, close2/n, close10/n, above/n)
		if n < 300 || close10/n < tt.close10 || above/n > tt.above {
			t.Errorf("%s: estimates are worse than they were", tt.name)
		}
	}
}

// TestEstimateOfMeasured: what was measured is what is estimated, exactly.
func TestEstimateOfMeasured(t *testing.T) {
	table := measuredConvs()
	for i := 0; i < len(table.layers); i += 97 {
		l := &table.layers[i]
		for _, c := range l.cases {
			for d, measured := range c.workspace {
				if measured < 0 {
					continue
				}
				if w := table.estimate(l.at(c.n), convDir(d)); !w.exact || w.bytes != measured || w.high != measured {
					t.Fatalf("%+v, batch %d: %+v, measured %d", l.convShape, c.n, w, measured)
				}
			}
		}
	}
}

// BenchmarkEstimate: one convolution that was not measured. Budget: 2 ms.
func BenchmarkEstimate(b *testing.B) {
	table := measuredConvs()
	v := convShape{mode: convTF32, n: 37, c: 88, h: 51, w: 51, k: 152, r: 3, s: 3, stride: 1, pad: 1, dilation: 1, groups: 1}
	for b.Loop() {
		table.estimate(v, convWeight)
	}
}
