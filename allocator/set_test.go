package allocator

import (
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"
)

// TestSetAgainstSortedSlice runs random changes on a set and on a plain sorted
// slice. Runs of inserts and removes are long enough to fill, split, join and
// empty leaves.
func TestSetAgainstSortedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s set
		var model []entry
		seed := rapid.Uint64().Draw(t, "seed")
		r := rand.New(rand.NewPCG(seed, 1))
		for range rapid.IntRange(1, 6).Draw(t, "runs") {
			insert := rapid.Bool().Draw(t, "insert")
			for range rapid.IntRange(1, 3*leafCap).Draw(t, "length") {
				model = change(t, r, &s, model, insert)
			}
			if err := sameSet(&s, model); err != nil {
				t.Fatal(err)
			}
			probe(t, r, &s, model)
		}
		var built set
		built.build(slices.Clone(model))
		if err := sameSet(&built, model); err != nil {
			t.Fatal(err)
		}
	})
}

// change inserts or removes a random key of few, so that equal ones are met.
func change(t *rapid.T, r *rand.Rand, s *set, model []entry, insert bool) []entry {
	e := entry{hi: r.Uint64N(20), lo: r.Uint64N(60)}
	i := search(model, e.hi, e.lo)
	found := i < len(model) && model[i].hi == e.hi && model[i].lo == e.lo
	if insert {
		if !found {
			e.id = int32(r.IntN(1 << 20))
			s.insert(e.hi, e.lo, e.id)
			return slices.Insert(model, i, e)
		}
		return model
	}
	if s.remove(e.hi, e.lo) != found {
		t.Fatalf("remove(%d, %d) of a set that has it: %v", e.hi, e.lo, found)
	}
	if found {
		return slices.Delete(model, i, i+1)
	}
	return model
}

func search(model []entry, hi, lo uint64) int {
	return sort.Search(len(model), func(i int) bool { return !model[i].below(hi, lo) })
}

// probe compares ceil, next and floor with the model.
func probe(t *rapid.T, r *rand.Rand, s *set, model []entry) {
	for range 30 {
		hi, lo := r.Uint64N(21), r.Uint64N(61)
		i := search(model, hi, lo)
		at := s.ceil(hi, lo)
		for k := i; k < min(i+3, len(model)); k++ {
			if got := s.at(at); got != model[k].id {
				t.Fatalf("%d after ceil(%d, %d) is %d, want %d", k-i, hi, lo, got, model[k].id)
			}
			at = s.next(at)
		}
		if i == len(model) && s.at(at) != -1 {
			t.Fatalf("ceil(%d, %d) past the end finds %d", hi, lo, s.at(at))
		}
		want := entry{id: -1}
		if i < len(model) && model[i].hi == hi && model[i].lo == lo {
			want = model[i]
		} else if i > 0 {
			want = model[i-1]
		}
		if got := s.floor(hi, lo); got != want {
			t.Fatalf("floor(%d, %d) is %v, want %v", hi, lo, got, want)
		}
	}
}

// TestAddrMapAgainstMap uses addresses that are close, so that runs of slots form
// and are closed again when one of them is removed.
func TestAddrMapAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m addrMap
		model := map[uint64]BlockID{}
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			addr := uint64(rapid.IntRange(0, 90).Draw(t, "address")) * 512
			_, there := model[addr]
			switch {
			case rapid.Bool().Draw(t, "remove"):
				m.remove(addr)
				delete(model, addr)
			case !there && addr != 0:
				id := BlockID(rapid.IntRange(0, 1000).Draw(t, "id"))
				m.put(addr, id)
				model[addr] = id
			}
			if m.n != len(model) {
				t.Fatalf("%d entries, want %d", m.n, len(model))
			}
		}
		for addr := range uint64(91) {
			want, there := model[addr*512]
			if !there {
				want = None
			}
			if got := m.get(addr * 512); got != want {
				t.Fatalf("get(%#x) is %d, want %d", addr*512, got, want)
			}
		}
	})
}
