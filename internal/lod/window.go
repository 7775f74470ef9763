package lod

import (
	"math"
)

// TileBuckets is how many buckets a tile has along each axis.
const TileBuckets = 512

// MaxBuckets is how many buckets an answer has at most.
const MaxBuckets = 4096

// maxLevel bounds levels: 2^40 buckets wide is beyond every axis.
const maxLevel = 40

// Range is a run of buckets of one level along an axis: bucket k, counted from the
// beginning of the axis, is [k<<Level, (k+1)<<Level).
type Range struct {
	Level int   // 0 … 40
	First int64 // bucket
	N     int   // how many; beyond MaxBuckets they are left out
}

// Tile returns the buckets of tile i of a level.
func Tile(level int, i int64) Range {
	if i < 0 || i > math.MaxInt64/TileBuckets {
		return Range{}
	}
	return Range{Level: level, First: i * TileBuckets, N: TileBuckets}
}

// within cuts r to buckets of an axis of that length, and tells whether any are left.
func (r Range) within(length int64) (Range, bool) {
	if r.Level < 0 || r.Level > maxLevel || r.First < 0 || r.N <= 0 || length <= 0 {
		return r, false
	}
	buckets := (length-1)>>r.Level + 1
	r.N = int(min(int64(r.N), MaxBuckets, buckets-r.First))
	return r, r.N > 0
}

// From returns where the first bucket begins.
func (r Range) From() int64 { return r.First << r.Level }

// To returns where the last bucket ends.
func (r Range) To() int64 { return (r.First + int64(r.N)) << r.Level }

// EventEdges returns the events at the edges of buckets of events, and false where the
// recording has none there. r comes back cut to what there is.
func (d *Device) EventEdges(r Range) (Range, []int, bool) {
	r, ok := r.within(int64(d.Events))
	if !ok {
		return r, nil, false
	}
	edge := make([]int, r.N+1)
	for j := range edge {
		edge[j] = int(min((r.First+int64(j))<<r.Level, int64(d.Events)))
	}
	return r, edge, true
}

// TimeEdges returns the events at the edges of buckets of microseconds from the first
// event, and false where the recording has none there, or no times.
func (d *Device) TimeEdges(r Range) (Range, []int, bool) {
	if !d.Times.Known {
		return r, nil, false
	}
	r, ok := r.within(d.Times.EndUS + 1)
	if !ok {
		return r, nil, false
	}
	edge := make([]int, r.N+1)
	for j := range edge {
		edge[j] = d.Times.Event((r.First + int64(j)) << r.Level)
	}
	return r, edge, true
}
