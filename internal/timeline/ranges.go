package timeline

import (
	"slices"
	"sort"
)

// ranges is a set of mapped ranges of addresses, apart from each other, in order of
// address: leaves of up to leafCap each. Real devices have one to ten leaves; a hostile
// file has 10^6 ranges in an order for which one flat slice took hours.
//
// No leaf is empty. The zero ranges is empty and ready for use.
type ranges struct {
	leaves [][]mapped
	bytes  int64 // of all
}

// leafCap is the number of ranges in a full leaf, of 24 bytes each.
const leafCap = 256

// mapped is a range that belongs to segment id of some table.
type mapped struct {
	from, to uint64
	id       int32
}

// spot is a place in a set. It is valid until the set changes.
type spot struct{ leaf, pos int }

// search returns the place of the first range that ends after addr.
func (r *ranges) search(addr uint64) spot {
	l := sort.Search(len(r.leaves), func(l int) bool {
		leaf := r.leaves[l]
		return leaf[len(leaf)-1].to > addr
	})
	if l == len(r.leaves) {
		return spot{l, 0}
	}
	leaf := r.leaves[l]
	return spot{l, sort.Search(len(leaf), func(i int) bool { return leaf[i].to > addr })}
}

// at returns the range at s, and false past the end.
func (r *ranges) at(s spot) (mapped, bool) {
	if s.leaf < 0 || s.leaf >= len(r.leaves) {
		return mapped{}, false
	}
	return r.leaves[s.leaf][s.pos], true
}

// next and prev return the places beside s.
func (r *ranges) next(s spot) spot {
	if s.pos++; s.pos == len(r.leaves[s.leaf]) {
		return spot{s.leaf + 1, 0}
	}
	return s
}

func (r *ranges) prev(s spot) spot {
	if s.pos--; s.pos >= 0 {
		return s
	}
	if s.leaf--; s.leaf >= 0 {
		s.pos = len(r.leaves[s.leaf]) - 1
	}
	return s
}

// find returns the range that holds addr.
func (r *ranges) find(addr uint64) (mapped, bool) {
	g, ok := r.at(r.search(addr))
	return g, ok && g.from <= addr
}

// over returns the ranges that cover a part of [from, to).
func (r *ranges) over(from, to uint64) (list []mapped) {
	for s := r.search(from); ; s = r.next(s) {
		g, ok := r.at(s)
		if !ok || g.from >= to {
			return list
		}
		list = append(list, g)
	}
}

// all returns every range.
func (r *ranges) all() []mapped { return slices.Concat(r.leaves...) }

// add puts a range in where there is none.
func (r *ranges) add(from, to uint64, id int32) {
	r.bytes += int64(to - from)
	s := r.search(from)
	switch {
	case len(r.leaves) == 0:
		r.leaves = [][]mapped{make([]mapped, 0, leafCap)}
	case s.leaf == len(r.leaves):
		s = spot{s.leaf - 1, len(r.leaves[s.leaf-1])}
	}
	if leaf := r.leaves[s.leaf]; len(leaf) == leafCap {
		half := leafCap / 2
		r.leaves = slices.Insert(r.leaves, s.leaf+1, append(make([]mapped, 0, leafCap), leaf[half:]...))
		r.leaves[s.leaf] = leaf[:half]
		if s.pos > half {
			s = spot{s.leaf + 1, s.pos - half}
		}
	}
	r.leaves[s.leaf] = slices.Insert(r.leaves[s.leaf], s.pos, mapped{from, to, id})
}

// remove takes a range of the set out.
func (r *ranges) remove(g mapped) {
	r.bytes -= int64(g.to - g.from)
	s := r.search(g.from)
	if r.leaves[s.leaf] = slices.Delete(r.leaves[s.leaf], s.pos, s.pos+1); len(r.leaves[s.leaf]) == 0 {
		r.leaves = slices.Delete(r.leaves, s.leaf, s.leaf+1)
	}
}

// cut takes [from, to) out. It returns the ranges that covered a part of it, whole
// as they were; what lies outside is left in the set under the same ids.
func (r *ranges) cut(from, to uint64) (gone []mapped) {
	gone = r.over(from, to)
	for _, g := range gone {
		r.remove(g)
		if g.from < from {
			r.add(g.from, from, g.id)
		}
		if g.to > to {
			r.add(to, g.to, g.id)
		}
	}
	return gone
}

// near returns the id of a range that touches [from, to).
func (r *ranges) near(from, to uint64) (id int32, ok bool) {
	s := r.search(from)
	if g, ok := r.at(s); ok && g.from == to {
		return g.id, true
	}
	if g, ok := r.at(r.prev(s)); ok && g.to == from {
		return g.id, true
	}
	return 0, false
}
