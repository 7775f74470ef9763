package timeline

import "slices"

// ranges is a set of mapped ranges of addresses, ascending and apart from each
// other. Real devices hold thousands: a sorted slice of small rows does.
type ranges struct {
	list  []mapped
	bytes int64 // of all
}

// mapped is a range that belongs to segment id of some table.
type mapped struct {
	from, to uint64
	id       int32
}

// search returns the first range that ends after addr.
func (r *ranges) search(addr uint64) int {
	i, _ := slices.BinarySearchFunc(r.list, addr, func(g mapped, addr uint64) int {
		if g.to <= addr {
			return -1
		}
		return 1
	})
	return i
}

// over returns the ranges that cover a part of [from, to). It is a part of the set.
func (r *ranges) over(from, to uint64) []mapped {
	i := r.search(from)
	j := i
	for j < len(r.list) && r.list[j].from < to {
		j++
	}
	return r.list[i:j]
}

// add puts a range in where there is none.
func (r *ranges) add(from, to uint64, id int32) {
	r.bytes += int64(to - from)
	r.list = slices.Insert(r.list, r.search(from), mapped{from, to, id})
}

// cut takes [from, to) out. It returns the ranges that covered a part of it, whole
// as they were; what lies outside is left in the set under the same ids.
func (r *ranges) cut(from, to uint64) (gone []mapped) {
	gone = slices.Clone(r.over(from, to))
	var rest []mapped
	for _, g := range gone {
		r.bytes -= int64(min(g.to, to) - max(g.from, from))
		if g.from < from {
			rest = append(rest, mapped{g.from, from, g.id})
		}
		if g.to > to {
			rest = append(rest, mapped{to, g.to, g.id})
		}
	}
	if i := r.search(from); len(gone) > 0 {
		r.list = slices.Replace(r.list, i, i+len(gone), rest...)
	}
	return gone
}

// near returns the id of a range that touches [from, to).
func (r *ranges) near(from, to uint64) (id int32, ok bool) {
	i := r.search(from)
	if i < len(r.list) && r.list[i].from == to {
		return r.list[i].id, true
	}
	if i > 0 && r.list[i-1].to == from {
		return r.list[i-1].id, true
	}
	return 0, false
}
