package table

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// Keys at the ends of all others: of what is not there, and of an end that is not in the
// recording.
const (
	absent   = math.MinInt64
	unending = math.MaxInt64
)

// sortKey is a key as a number without sign, in the same order.
func sortKey(k int64) uint64 { return uint64(k) ^ 1<<63 }

// Sort keys of absent and unending.
const (
	firstKey = 0
	lastKey  = math.MaxUint64
)

// sorted returns the rows of parts, n in all, in ascending order of their keys; those with
// equal keys keep their order. Keys are packed with their rows into 64 bits where they fit, as
// they nearly always do: five million take 0.05 s by radix then, a second by comparisons. The
// keys are gone afterwards.
func sorted(parts []orderMaker, n int) []int32 {
	v, top := rangeOf(parts)
	rowBits, keyBits := bits.Len(uint(top)), bits.Len64(v.span)
	if keyBits+rowBits > 64 {
		return sortedByComparison(parts, n)
	}
	packed := make([]uint64, 0, n)
	for i := range parts {
		for keys, rows := range parts[i].pieces() {
			for j, k := range keys {
				packed = append(packed, v.pack(k)<<rowBits|uint64(rows[j]))
			}
		}
		parts[i].keys = keyList{}
	}
	return radixSort(packed, rowBits, rowBits+keyBits)
}

func sortedByComparison(parts []orderMaker, n int) []int32 {
	type keyed struct {
		key uint64
		row int32
	}
	list := make([]keyed, 0, n)
	for i := range parts {
		for keys, rows := range parts[i].pieces() {
			for j, k := range keys {
				list = append(list, keyed{k, rows[j]})
			}
		}
		parts[i].keys = keyList{}
	}
	slices.SortStableFunc(list, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	out := make([]int32, n)
	for i := range list {
		out[i] = list[i].row
	}
	return out
}

// keyList is the keys of some rows, and what they have in common.
type keyList struct {
	pieces[uint64]
	low, high   uint64 // without firstKey and lastKey, as some and every
	some, every uint64 // bits that any of them has, that all have
	last        uint64
	falls       bool // somewhere: they are not in order as they stand
}

func newKeyList() keyList { return keyList{low: lastKey, every: math.MaxUint64} }

func (l *keyList) add(k uint64) {
	if l.last > k {
		l.falls = true
	}
	l.last = k
	if k != firstKey && k != lastKey {
		l.low, l.high = min(l.low, k), max(l.high, k)
		l.some |= k
		l.every &= k
	}
	l.pieces.add(k)
}

// inOrder tells whether the keys of parts ascend as they stand.
func inOrder(parts []orderMaker) bool {
	var last uint64
	for i := range parts {
		l := &parts[i].keys
		if first, ok := l.first(); ok {
			if l.falls || first < last {
				return false
			}
			last = l.last
		}
	}
	return true
}

// keyRange is what keys have in common: the first key becomes 0, the least of the others 1,
// and the last key one above all others. Zeros that all have at their end are left out,
// nine of an address.
type keyRange struct {
	low   uint64
	zeros int
	span  uint64 // of packed keys
}

// rangeOf returns the range of all keys, and the highest row.
func rangeOf(parts []orderMaker) (v keyRange, top int) {
	all := newKeyList()
	for i := range parts {
		l := &parts[i].keys
		all.low, all.high = min(all.low, l.low), max(all.high, l.high)
		all.some |= l.some
		all.every &= l.every
		top = max(top, parts[i].top)
	}
	v.low = all.low
	if all.high < all.low {
		v.span = 1 // there are none but the first and the last
		return v, top
	}
	v.zeros = bits.TrailingZeros64(all.some&^all.every) & 63 // where they differ, their differences do
	v.span = (all.high-all.low)>>v.zeros + 2
	if v.span < 2 {
		v.span = math.MaxUint64 // it does not fit
	}
	return v, top
}

func (v *keyRange) pack(k uint64) uint64 {
	switch k {
	case firstKey:
		return 0
	case lastKey:
		return v.span
	}
	return (k-v.low)>>v.zeros + 1
}

// radixBits is how many bits a pass sorts by: its counters stay in the fastest cache.
const radixBits = 11

// radixSort returns what list has below the bits [from, to), in the order of these, and of
// equal ones in the order of the list, which it uses up.
func radixSort(list []uint64, from, to int) []int32 {
	var spare []uint64
	shift := from
	for ; to-shift > radixBits; shift += radixBits {
		if spare == nil {
			spare = make([]uint64, len(list))
		}
		next := placesOf(list, shift, radixBits)
		for _, v := range list {
			d := v >> shift & (1<<radixBits - 1)
			spare[next[d]] = v
			next[d]++
		}
		list, spare = spare, list
	}
	out := make([]int32, len(list))
	next := placesOf(list, shift, to-shift)
	for _, v := range list {
		d := v >> shift & (1<<radixBits - 1)
		out[next[d]] = int32(v & (1<<from - 1))
		next[d]++
	}
	return out
}

// placesOf returns where those of a list begin that have a value in n bits, by the value.
func placesOf(list []uint64, shift, n int) *[1 << radixBits]int {
	next := new([1 << radixBits]int)
	mask := uint64(1)<<n - 1
	for _, v := range list {
		next[v>>shift&mask&(1<<radixBits-1)]++
	}
	sum := 0
	for i, n := range next {
		next[i] = sum
		sum += n
	}
	return next
}
