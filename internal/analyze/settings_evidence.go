package analyze

import (
	"slices"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// SettingsEvidenceOf fills in what a recording itself tells about its settings. The
// caller adds what texts and other ranks know: capacity, limit, what was meant.
func SettingsEvidenceOf(tl *timeline.Timeline) SettingsEvidence {
	ev := SettingsEvidence{PeakReservedBytes: tl.Peak.Reserved.Bytes}
	for _, g := range tl.Segments {
		ev.Expandable = ev.Expandable || g.Expandable
		ev.Native = ev.Native || !g.Expandable
	}
	s := tl.Rec.Settings
	if s == nil {
		return ev
	}
	if s.GCThreshold > 0 {
		ev.Collections = collections(tl, s.MaxSplitBytes)
	}
	if s.MaxSplitBytes > 0 && !s.ExpandableSegments {
		ev.OversizeUnusedBytes = oversizeUnused(tl, s.MaxSplitBytes)
	}
	return ev
}

// mostBursts bounds the releases that are looked at: one collection is proof enough
// that the threshold is in use, and a state costs a replay of up to one chunk.
const mostBursts = 16

// collections counts, up to mostBursts, the releases before a growth that only garbage
// collection makes. A release in answer to a failed request, like empty_cache, leaves
// no segment without a block behind. Collection leaves the small ones, the young ones
// and the private pools', and frees nothing but unsplit blocks of the large default
// pool. With a split limit the allocator may also free a few blocks of at least that
// size; such a release proves nothing.
func collections(tl *timeline.Timeline, maxSplitBytes int64) int {
	n := 0
	for _, burst := range releases(tl) {
		if !burst.beforeGrowth(tl) || !burst.collectable(maxSplitBytes) {
			continue
		}
		if slices.ContainsFunc(tl.StateAt(burst.last).Segments, isUnused) {
			n++
		}
		if n == mostBursts {
			break
		}
	}
	return n
}

// release is a run of segments that were given back one directly after the other.
type release struct {
	last     int // event of the last
	segments []timeline.Segment
}

func releases(tl *timeline.Timeline) []release {
	var gone []timeline.Segment
	for _, g := range tl.Segments {
		if g.To != timeline.Never {
			gone = append(gone, g)
		}
	}
	slices.SortFunc(gone, func(a, b timeline.Segment) int { return a.To - b.To })
	var runs []release
	for _, g := range gone {
		if n := len(runs); n == 0 || g.To > runs[n-1].last+1 {
			runs = append(runs, release{})
		}
		r := &runs[len(runs)-1]
		r.last = g.To
		r.segments = append(r.segments, g)
	}
	return runs
}

func (r *release) beforeGrowth(tl *timeline.Timeline) bool {
	next := r.last + 1
	return next < tl.Dev.Events.Len() && tl.Dev.Events.At(next).Action == snapshot.SegmentAlloc
}

// collectable tells whether garbage collection can have freed all segments of the run,
// and a release of oversize blocks cannot.
func (r *release) collectable(maxSplitBytes int64) bool {
	belowLimit := maxSplitBytes <= 0
	for _, g := range r.segments {
		if g.Small || g.Expandable || g.Pool != (snapshot.PoolID{}) {
			return false
		}
		belowLimit = belowLimit || g.SizeBytes < maxSplitBytes
	}
	return belowLimit
}

// isUnused tells whether a native segment has no block, not even a pending one.
func isUnused(g timeline.StateSegment) bool {
	return !g.Expandable && !slices.ContainsFunc(g.Spans, func(p timeline.Span) bool { return p.State != snapshot.Inactive })
}

// oversizeUnused returns the free bytes that the split limit kept from the last request
// below it for which a large segment was made, up to the peak of reserved: free blocks
// of at least the limit, on its stream and in its pool.
func oversizeUnused(tl *timeline.Timeline, maxSplitBytes int64) int64 {
	var last *timeline.Segment
	for i := range tl.Segments {
		g := &tl.Segments[i]
		if g.From > 0 && g.From <= tl.Peak.Reserved.Event && !g.Small && !g.Expandable && g.SizeBytes < maxSplitBytes && (last == nil || g.From > last.From) {
			last = g
		}
	}
	if last == nil {
		return 0
	}
	var unused int64
	for _, g := range tl.StateAt(last.From - 1).Segments {
		if g.Small || g.Expandable || g.Stream != last.Stream || g.Pool != last.Pool {
			continue
		}
		for _, p := range g.Spans {
			if p.State == snapshot.Inactive && p.SizeBytes >= maxSplitBytes {
				unused += p.SizeBytes
			}
		}
	}
	return unused
}
