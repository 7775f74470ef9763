package lod

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// madeBoxes are boxes in the order of their starts.
type madeBoxes []box

func (s madeBoxes) len() int         { return len(s) }
func (s madeBoxes) box(i uint32) box { return s[i] }

const (
	madeLevel  = 10 // of moments
	madeEvents = 40<<madeLevel + 77
	madeUnits  = 1<<20 - 5
)

// makeBoxes makes n boxes, most of them long and thin: as many begin or end on a moment, or
// with the recording, as between moments.
func makeBoxes(rng *rand.Rand, n int) (s madeBoxes) {
	at := func() int {
		switch k := rng.IntN(8); {
		case k < 4:
			return rng.IntN(40) << madeLevel
		case k == 4:
			return 0
		case k == 5:
			return madeEvents
		default:
			return rng.IntN(madeEvents)
		}
	}
	for range n {
		x, y := at(), at()
		size := 1 + rng.Int64N(1<<rng.IntN(10))
		s = append(s, box{min(x, y), max(x, y), rng.Int64N(madeUnits - size + 1), size})
	}
	slices.SortFunc(s, func(a, b box) int { return cmp.Compare(a.start, b.start) })
	return s
}

// TestStanding: the raster of what stands in a view, which comes from the sums of a moment,
// is that of its blocks: between two moments, from one on, and over many.
func TestStanding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		m := &Map{index: newBoxIndex(makeBoxes(rng, 600), madeUnits), events: madeEvents, units: madeUnits}
		s := newStanding(m, madeLevel)
		m.standing = s
		if s == nil || len(s.starts) < 50 || len(s.ends) < 30 || s.held.Len() != 41*standingRows {
			t.Fatalf("of 600 boxes, few stand: %+v", s)
		}
		x := Range{Level: rapid.IntRange(0, 12).Draw(t, "level"), N: rapid.IntRange(1, 20).Draw(t, "buckets")}
		x.First = rapid.Int64Range(0, madeEvents>>x.Level).Draw(t, "first")
		y := Range{Level: rapid.IntRange(s.bits-1, 14).Draw(t, "level of places"), N: rapid.IntRange(1, 60).Draw(t, "rows")}
		y.First = rapid.Int64Range(0, madeUnits>>y.Level).Draw(t, "first row")
		if p, ok := m.Picture(MapView{X: x, Y: y}); ok {
			checkPicture(t, m, p)
		}
	})
}

// TestStandingIsForItsOwn: a view takes the sums only where none of what they have has a
// rectangle, or is added by others; a map without such blocks has no sums.
func TestStandingIsForItsOwn(t *testing.T) {
	m := &Map{index: newBoxIndex(makeBoxes(rand.New(rand.NewPCG(1, 1)), 50), madeUnits), events: madeEvents, units: madeUnits}
	m.standing = newStanding(m, madeLevel)
	bits := m.standing.bits
	for _, c := range []struct {
		levelY, shortest int
		want             bool
	}{
		{bits, 0, true},
		{bits + 5, longClass, true},
		{bits - 1, 0, false},
		{bits, longClass + 1, false},
	} {
		if got := m.standingFor(c.levelY, c.shortest) != nil; got != c.want {
			t.Errorf("level %d, from class %d on: %v", c.levelY, c.shortest, got)
		}
	}
	few := &Map{index: newBoxIndex(madeBoxes{{0, 1<<12 - 1, 0, 1}, {0, 1 << 12, 1, 1 << bits}}, madeUnits), events: madeEvents, units: madeUnits}
	if s := newStanding(few, madeLevel); s != nil {
		t.Errorf("a short block and a high one stand: %+v", s)
	}
}
