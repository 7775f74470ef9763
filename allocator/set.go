package allocator

import (
	"cmp"
	"slices"
)

// leafCap is the number of entries in a full leaf: moving half of one (1.5 KiB)
// costs about as much as finding the place, and a set of 10^6 entries has a
// directory of 10^4.
const leafCap = 128

// entry is a member of a set: an id, and the key it is ordered by. Free lists
// are keyed by (size, address), all else by (address, size or 0).
type entry struct {
	hi, lo uint64
	id     int32
}

func (e *entry) below(hi, lo uint64) bool {
	return e.hi < hi || e.hi == hi && e.lo < lo
}

// set is a set of ids ordered by a key of two numbers, in two levels: a directory of
// leaves of up to leafCap entries each. Free lists of real runs hold tens to
// hundreds of blocks, one or two leaves; hostile ones hold 10^6, where one flat
// slice would move megabytes for every request.
//
// No leaf is empty. The zero set is empty and ready for use.
type set struct {
	first  []entry // a lower bound of every entry of the leaf, and an upper one of those before it
	leaves [][]entry
	spare  [][]entry // leaves that were emptied, kept for the next split
	n      int
}

// cursor is a place in a set. It is valid until the set changes.
type cursor struct {
	leaf, pos int
}

// leafFor returns the leaf that holds (hi, lo), or would.
func (s *set) leafFor(hi, lo uint64) int {
	from, to := 1, len(s.first) // the first leaf holds all that is below the second
	for from < to {
		mid := int(uint(from+to) >> 1)
		if f := &s.first[mid]; f.hi < hi || f.hi == hi && f.lo <= lo {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from - 1
}

// position returns the first entry of leaf that is not below (hi, lo).
func position(leaf []entry, hi, lo uint64) int {
	from, to := 0, len(leaf)
	for from < to {
		mid := int(uint(from+to) >> 1)
		if leaf[mid].below(hi, lo) {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}

// ceil returns the place of the first entry that is not below (hi, lo).
func (s *set) ceil(hi, lo uint64) cursor {
	if s.n == 0 {
		return cursor{}
	}
	l := s.leafFor(hi, lo)
	c := cursor{l, position(s.leaves[l], hi, lo)}
	if c.pos == len(s.leaves[l]) {
		c = cursor{l + 1, 0}
	}
	return c
}

// at returns the id at c, or -1 past the end.
func (s *set) at(c cursor) int32 {
	if c.leaf >= len(s.leaves) {
		return -1
	}
	return s.leaves[c.leaf][c.pos].id
}

// next returns the place after c, which must not be past the end.
func (s *set) next(c cursor) cursor {
	if c.pos++; c.pos == len(s.leaves[c.leaf]) {
		return cursor{c.leaf + 1, 0}
	}
	return c
}

// floor returns the last entry that is not above (hi, lo); its id is -1 where
// there is none.
func (s *set) floor(hi, lo uint64) entry {
	if s.n == 0 {
		return entry{id: -1}
	}
	l := s.leafFor(hi, lo)
	leaf := s.leaves[l]
	p := position(leaf, hi, lo)
	if p < len(leaf) && leaf[p].hi == hi && leaf[p].lo == lo {
		return leaf[p]
	}
	if p > 0 {
		return leaf[p-1]
	}
	if l > 0 {
		before := s.leaves[l-1]
		return before[len(before)-1]
	}
	return entry{id: -1}
}

// insert adds an id under a key that the set does not hold.
func (s *set) insert(hi, lo uint64, id int32) {
	if len(s.leaves) == 0 {
		s.addLeaf(0, entry{})
	}
	l := s.leafFor(hi, lo)
	if len(s.leaves[l]) == leafCap {
		s.split(l)
		if f := &s.first[l+1]; f.hi < hi || f.hi == hi && f.lo <= lo {
			l++
		}
	}
	leaf := s.leaves[l]
	p := position(leaf, hi, lo)
	leaf = leaf[:len(leaf)+1]
	copy(leaf[p+1:], leaf[p:])
	leaf[p] = entry{hi, lo, id}
	s.leaves[l] = leaf
	s.n++
}

// remove takes the entry with the given key out of the set and reports whether
// it was there.
func (s *set) remove(hi, lo uint64) bool {
	if s.n == 0 {
		return false
	}
	l := s.leafFor(hi, lo)
	leaf := s.leaves[l]
	p := position(leaf, hi, lo)
	if p == len(leaf) || leaf[p].hi != hi || leaf[p].lo != lo {
		return false
	}
	s.removeAt(cursor{l, p})
	return true
}

// removeAt takes out the entry at c.
func (s *set) removeAt(c cursor) {
	leaf := s.leaves[c.leaf]
	copy(leaf[c.pos:], leaf[c.pos+1:])
	s.leaves[c.leaf] = leaf[:len(leaf)-1]
	s.n--
	s.mend(c.leaf)
}

// mend keeps leaf l from staying small: an empty one is dropped, and one that
// fits into the leaf before it with room to spare moves there. Without it, a set
// that shrank would keep a leaf for every few entries.
func (s *set) mend(l int) {
	n := len(s.leaves[l])
	switch {
	case n == 0:
		s.dropLeaf(l)
	case n < leafCap/4 && l > 0 && len(s.leaves[l-1])+n <= leafCap/2:
		s.leaves[l-1] = append(s.leaves[l-1], s.leaves[l]...)
		s.dropLeaf(l)
	}
}

// split moves the upper half of leaf l to a new leaf after it.
func (s *set) split(l int) {
	leaf := s.leaves[l]
	half := leafCap / 2
	s.addLeaf(l+1, leaf[half])
	s.leaves[l+1] = append(s.leaves[l+1], leaf[half:]...)
	s.leaves[l] = leaf[:half]
}

func (s *set) addLeaf(l int, first entry) {
	var leaf []entry
	if k := len(s.spare); k > 0 {
		leaf, s.spare = s.spare[k-1], s.spare[:k-1]
	} else {
		leaf = make([]entry, 0, leafCap)
	}
	s.first = append(s.first, entry{})
	copy(s.first[l+1:], s.first[l:])
	s.first[l] = first
	s.leaves = append(s.leaves, nil)
	copy(s.leaves[l+1:], s.leaves[l:])
	s.leaves[l] = leaf
}

func (s *set) dropLeaf(l int) {
	if len(s.spare) < 4 { // a few are kept, so that a set that swings about a full leaf does not allocate
		s.spare = append(s.spare, s.leaves[l][:0])
	}
	s.first = append(s.first[:l], s.first[l+1:]...)
	s.leaves = append(s.leaves[:l], s.leaves[l+1:]...)
}

// all calls f for every id in order; f must not change the set.
func (s *set) all(f func(id int32)) {
	for _, leaf := range s.leaves {
		for i := range leaf {
			f(leaf[i].id)
		}
	}
}

// build makes the set from entries in any order.
func (s *set) build(entries []entry) {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.hi, b.hi), cmp.Compare(a.lo, b.lo)) })
	*s = set{}
	for len(entries) > 0 {
		k := min(leafCap/2, len(entries))
		s.addLeaf(len(s.leaves), entries[0])
		l := len(s.leaves) - 1
		s.leaves[l] = append(s.leaves[l], entries[:k]...)
		s.n += k
		entries = entries[k:]
	}
}
