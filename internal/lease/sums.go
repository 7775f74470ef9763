package lease

import "math/bits"

// sums is a set of the numbers 0 to a limit, a bit each.
type sums struct {
	words []uint64
	limit int64
}

// newSums returns the set with 0 in it.
func newSums(limit int64) sums {
	s := sums{make([]uint64, limit/64+1), limit}
	s.words[0] = 1
	return s
}

func (s sums) clear() { clear(s.words) }

// or adds to s every number of from plus n, up to the limit. From may be s itself: then each of
// its numbers counts once, because words are taken from the highest down.
func (s sums) or(from sums, n int64) {
	if n > s.limit {
		return
	}
	skip, shift := int(n/64), uint(n%64)
	for i := len(s.words) - 1; i >= skip; i-- {
		w := from.words[i-skip] << shift
		if shift > 0 && i > skip {
			w |= from.words[i-skip-1] >> (64 - shift)
		}
		s.words[i] |= w
	}
	s.words[len(s.words)-1] &= ^uint64(0) >> (63 - uint(s.limit%64))
}

// highest is the largest number of the set, or 0.
func (s sums) highest() int64 {
	for i := len(s.words) - 1; i >= 0; i-- {
		if s.words[i] != 0 {
			return int64(i*64 + 63 - bits.LeadingZeros64(s.words[i]))
		}
	}
	return 0
}
