package analyze

import (
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// Accounting splits what is reserved at one event, to the byte:
// requested + rounding + pending free + cached = reserved.
type Accounting struct {
	Event            int
	RequestedBytes   int64 // what the program asked for, of blocks that it holds
	RoundingBytes    int64 // what the allocator gave beyond that
	PendingFreeBytes int64 // freed by the program, still in use on a stream
	CachedBytes      int64 // free, kept by the allocator
	ReservedBytes    int64
	Free             []FreeGroup // what makes up CachedBytes and PendingFreeBytes, largest first
}

// FreeGroup is the free memory that one kind of request can be served from: free
// blocks never serve another stream, another pool or another size class.
type FreeGroup struct {
	Stream       snapshot.StreamID
	Pool         snapshot.PoolID
	Small        bool
	FreeBytes    int64
	LargestBytes int64 // largest free block
	WholeBytes   int64 // in segments without any block: empty_cache returns these to the driver
	PendingBytes int64
	Spans        int // free blocks
	Segments     int
}

// Account takes the accounting of a state of tl.
func Account(tl *timeline.Timeline, s *timeline.State) Accounting {
	a := Accounting{Event: s.Event, Free: freeGroups(s)}
	for _, g := range s.Segments {
		a.ReservedBytes += g.SizeBytes
		for _, p := range g.Spans {
			switch p.State {
			case snapshot.Allocated:
				requested := min(tl.Block(p.Block).RequestedBytes, p.SizeBytes)
				a.RequestedBytes += requested
				a.RoundingBytes += p.SizeBytes - requested
			case snapshot.PendingFree:
				a.PendingFreeBytes += p.SizeBytes
			case snapshot.Inactive:
				a.CachedBytes += p.SizeBytes
			}
		}
	}
	return a
}

// groupKey is what a request must share with a free block.
type groupKey struct {
	stream snapshot.StreamID
	pool   snapshot.PoolID
	small  bool
}

func freeGroups(s *timeline.State) []FreeGroup {
	var groups []FreeGroup
	index := make(map[groupKey]int)
	for n := range s.Segments {
		g := &s.Segments[n]
		k := groupKey{g.Stream, g.Pool, g.Small}
		i, ok := index[k]
		if !ok {
			i = len(groups)
			index[k] = i
			groups = append(groups, FreeGroup{Stream: g.Stream, Pool: g.Pool, Small: g.Small})
		}
		groups[i].add(g)
	}
	slices.SortStableFunc(groups, func(a, b FreeGroup) int { return cmp.Compare(b.FreeBytes, a.FreeBytes) })
	return groups
}

func (f *FreeGroup) add(g *timeline.StateSegment) {
	f.Segments++
	whole := true
	for _, p := range g.Spans {
		switch p.State {
		case snapshot.Inactive:
			f.Spans++
			f.FreeBytes += p.SizeBytes
			f.LargestBytes = max(f.LargestBytes, p.SizeBytes)
		case snapshot.PendingFree:
			f.PendingBytes += p.SizeBytes
			whole = false
		case snapshot.Allocated:
			whole = false
		}
	}
	if whole {
		f.WholeBytes += g.SizeBytes
	}
}
