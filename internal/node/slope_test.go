package node

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/units"
)

// follow adds a point every two seconds, a step each, for a number of steps.
func follow(steps int, allocated func(step int) float64) *trend {
	var t trend
	for i := range steps {
		t.add(int64(i)*2_000, float64(i), allocated(i))
	}
	return &t
}

func TestGrowth(t *testing.T) {
	const mib = float64(units.MiB)
	noise := rand.New(rand.NewPCG(1, 2))
	breath := func(size float64) float64 { return noise.Float64() * size * mib }

	for name, tc := range map[string]struct {
		steps     int
		allocated func(step int) float64
		want      float64 // per step; 0: nothing is to be said
	}{
		"constant":                            {500, func(int) float64 { return 4e9 }, 0},
		"only noise":                          {500, func(int) float64 { return 4e9 + breath(500) }, 0},
		"a plain leak":                        {500, func(i int) float64 { return 4e9 + float64(i)*mib }, mib},
		"a leak in noise":                     {1500, func(i int) float64 { return 4e9 + float64(i)*mib + breath(200) }, mib},
		"a leak of every tenth step":          {500, func(i int) float64 { return 4e9 + float64(i/10)*10*mib }, mib},
		"a small leak":                        {1800, func(i int) float64 { return 4e9 + float64(i)*4096 }, 4096},
		"less than a megabyte in all":         {200, func(i int) float64 { return 4e9 + float64(i)*512 }, 0},
		"what grows at first":                 {500, func(i int) float64 { return 4e9 + min(float64(i), 60)*mib }, 0},
		"the optimizer's state after step 1":  {500, func(i int) float64 { return 4e9 + min(float64(i), 1)*4e9 }, 0},
		"memory that falls":                   {500, func(i int) float64 { return 4e9 - float64(i)*mib }, 0},
		"a ring that is filled and goes":      {500, func(i int) float64 { return 4e9 + float64(i%25)*10*mib }, 0},
		"a leak that begins late":             {1000, func(i int) float64 { return 4e9 + max(0, float64(i)-300)*mib }, mib},
		"a plain leak within a minute":        {26, func(i int) float64 { return 4e9 + float64(i)*80*mib }, 80 * mib},
		"too little time":                     {20, func(i int) float64 { return 4e9 + float64(i)*100*mib }, 0},
		"a leak with a few steps far outside": {800, func(i int) float64 { return 4e9 + float64(i)*mib + float64(i%97/96)*8e9 }, mib},
	} {
		got := follow(tc.steps, tc.allocated).growth()
		switch {
		case got == nil && tc.want != 0:
			t.Errorf("%s: nothing is said, expected %.0f a step", name, tc.want)
		case got != nil && math.Abs(*got-tc.want) > 0.1*tc.want:
			t.Errorf("%s: %.0f a step, expected %.0f", name, *got, tc.want)
		}
	}
}

// TestGrowthOfChance holds the confidence that is stated: of amounts without a trend, at most
// one in a hundred is said to have one. The least of each few points is as random as they are.
func TestGrowthOfChance(t *testing.T) {
	noise := rand.New(rand.NewPCG(3, 4))
	said := 0
	const tries = 3000
	for range tries {
		steps := 40 + noise.IntN(400)
		if follow(steps, func(int) float64 { return 4e9 + noise.NormFloat64()*2e8 }).growth() != nil {
			said++
		}
	}
	if said > tries/100 {
		t.Errorf("of %d without a trend, %d are said to have one", tries, said)
	}
}

func TestTrendIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tr trend
		at, x := int64(0), 0.0
		for range rapid.IntRange(1, 2000).Draw(t, "points") {
			at += rapid.Int64Range(0, 100_000).Draw(t, "pause")
			x += float64(rapid.IntRange(-1, 5).Draw(t, "steps"))
			tr.add(at, x, float64(rapid.Int64().Draw(t, "bytes")))
			if len(tr.points) > trendMost {
				t.Fatalf("%d points", len(tr.points))
			}
			for i := range tr.points[1:] {
				if a, b := tr.points[i], tr.points[i+1]; b.x < a.x || b.atMS < a.atMS {
					t.Fatalf("points %v and %v are out of order", a, b)
				}
			}
		}
		tr.growth()
	})
}

func BenchmarkGrowth(b *testing.B) { // of as many points as there can be: 0.1 ms, at most once in two seconds for a process
	tr := follow(trendMost, func(i int) float64 { return float64(i) })
	for b.Loop() {
		tr.judged = false
		tr.growth()
	}
}
