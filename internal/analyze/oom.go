package analyze

import (
	"cmp"
	"slices"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// OOMCause is what made an allocation fail.
type OOMCause string

// Causes that a recording can show. Other processes can't be seen in it: only the
// text of the error names them.
const (
	TrueShortage  OOMCause = "true-shortage"
	Fragmentation OOMCause = "fragmentation" // free memory of the right kind would have held the request, were it in one piece
	Stranded      OOMCause = "stranded"      // it would have fitted with what is free on other streams and in other pools
	PendingFree   OOMCause = "pending-free"  // … and with what was freed but still in use on a stream
	OtherProcess  OOMCause = "other-process"
)

// OOM is an allocation that failed after all retries.
type OOM struct {
	Event           int
	Cause           OOMCause
	RequestBytes    int64 // rounded, as the recording has it
	SegmentBytes    int64 // what the allocator asked of the driver, and the error text prints
	Stream          snapshot.StreamID
	Pool            snapshot.PoolID
	Small           bool
	Stack           snapshot.StackID
	DeviceFreeBytes int64 // free on the device when it failed, as cudaMemGetInfo says

	Now              timeline.Totals
	SameFreeBytes    int64 // free for such requests: same stream, pool and size class
	SameLargestBytes int64 // the largest block of these
	MaxSplitBytes    int64 // max_split_size_mb: larger blocks serve no smaller request; 0 is unlimited
	OtherStreamBytes int64 // free on other streams, in the same pool
	OtherPoolBytes   int64 // free in other pools and in the other size class
	PendingBytes     int64
	MarginBytes      int64 // by how much the request would have fitted in what the cause names; for a true shortage, what was missing
	Cap              Cap
	Certain          bool // nothing after it: the run ended here. Else it is likely, since only clean-up follows
	AllocsAfter      int
}

// Cap is the limit that an allocation ran into.
type Cap struct {
	Kind      CapKind
	LowBytes  int64 // of reserved memory: at least this was allowed
	HighBytes int64 // and less than this; 0 where nothing bounds it

	LimitBytes int64 // the limit itself, where it was told and agrees with the recording; else 0
	LeaseBytes int64 // the lease that the limit is of, likewise
}

// CapKind is what a limit is.
type CapKind string

// Kinds of limit.
const (
	NoCap       CapKind = "none"     // no allocation failed
	DeviceCap   CapKind = "device"   // the device (or MIG slice) had no room left
	FractionCap CapKind = "fraction" // the device had room and the allocator still refused: a memory fraction
)

// OOMs is every allocation that failed in a recording.
type OOMs struct {
	Count    int  // oom events
	Survived int  // of these, ones after which the program went on
	Fatal    *OOM // the one that ended the run; nil if none did

	events []int
}

// within returns the failures in a window.
func (r OOMs) within(w window) OOMs {
	in := OOMs{events: slices.DeleteFunc(slices.Clone(r.events), func(i int) bool { return !w.holds(i) })}
	in.Count, in.Survived = len(in.events), len(in.events)
	if r.Fatal != nil && w.holds(r.Fatal.Event) {
		in.Fatal = r.Fatal
		in.Survived--
	}
	return in
}

// FindOOMs finds the failed allocations of tl, and the one that ended the run.
// othersBytes is what other processes held then, as the error's text has it; 0 where
// that is not known.
func FindOOMs(tl *timeline.Timeline, othersBytes int64) OOMs {
	events := tl.OOMs
	r := OOMs{Count: len(events), Survived: len(events), events: events}
	if len(events) == 0 {
		return r
	}
	last := events[len(events)-1]
	if after, died := fatal(tl.Dev.Events, last); died {
		r.Fatal = examine(tl, last)
		r.Fatal.AllocsAfter, r.Fatal.Certain = after, after == 0
		r.Fatal.Cap = inferCap(tl, events)
		if r.Fatal.Cause == TrueShortage && r.Fatal.Cap.Kind == DeviceCap && othersBytes >= r.Fatal.MarginBytes {
			r.Fatal.Cause, r.Fatal.MarginBytes = OtherProcess, othersBytes
		}
		r.Survived--
	}
	return r
}

// maxCleanUpAllocs is how many allocations may follow the failure that ended a
// run: handlers log, reduce a flag over ranks, save. A program that goes on makes
// more in its next operation or step.
const maxCleanUpAllocs = 16

// fatal tells whether the failure at event i ended the run, and how many
// allocations follow it. Libraries such as cuDNN try a smaller workspace when one
// fails, without the program noticing: then the same line allocates next, before
// anything is freed.
func fatal(e *snapshot.Events, i int) (allocsAfter int, died bool) {
	stack := e.StackAt(i)
	freed, fallback := false, false
	for k := i + 1; k < e.Len(); k++ {
		switch v := e.At(k); v.Action {
		case snapshot.FreeRequested:
			freed = true
		case snapshot.Alloc:
			if allocsAfter == 0 && !freed && v.Stack == stack {
				fallback = true
			}
			allocsAfter++
		}
		if allocsAfter > maxCleanUpAllocs {
			break
		}
	}
	return allocsAfter, !fallback && allocsAfter <= maxCleanUpAllocs
}

// examine takes stock of memory at the failure at event i and names its cause.
func examine(tl *timeline.Timeline, i int) *OOM {
	e := tl.Dev.Events.At(i)
	o := &OOM{Event: i, RequestBytes: e.SizeBytes, Stream: e.Stream, Stack: e.Stack, DeviceFreeBytes: deviceFree(e), Now: tl.TotalsAt(i)}
	o.Small = e.SizeBytes <= 1<<20
	o.SegmentBytes = tl.Config.SegmentSize(e.SizeBytes)
	if tl.Dev.Events.HasPools {
		o.Pool = tl.Dev.Events.Pools[e.Pool]
	}
	for _, g := range freeGroups(tl.StateAt(i)) {
		o.PendingBytes += g.PendingBytes
		switch {
		case g.Stream == o.Stream && g.Pool == o.Pool && g.Small == o.Small:
			o.SameFreeBytes, o.SameLargestBytes = g.FreeBytes, g.LargestBytes
		case g.Pool == o.Pool && g.Stream != o.Stream:
			o.OtherStreamBytes += g.FreeBytes
		default:
			o.OtherPoolBytes += g.FreeBytes
		}
	}
	o.MaxSplitBytes = tl.Config.MaxSplitBytes
	o.judge()
	return o
}

// judge names the first cause whose memory would have held the request.
func (o *OOM) judge() {
	free := o.SameFreeBytes
	for _, c := range []struct {
		cause OOMCause
		adds  int64
	}{{Fragmentation, 0}, {Stranded, o.OtherStreamBytes + o.OtherPoolBytes}, {PendingFree, o.PendingBytes}} {
		free += c.adds
		if free >= o.RequestBytes {
			o.Cause, o.MarginBytes = c.cause, free-o.RequestBytes
			return
		}
	}
	o.Cause, o.MarginBytes = TrueShortage, o.RequestBytes-free
}

// inferCap narrows the limit down from every failure: reserved memory never went
// above it, and each failed request would have.
func inferCap(tl *timeline.Timeline, events []int) Cap {
	c := Cap{Kind: DeviceCap, LowBytes: tl.Peak.Reserved.Bytes}
	reserved := reservedAt(tl, events)
	for k, i := range events {
		e := tl.Dev.Events.At(i)
		need := tl.Config.SegmentSize(e.SizeBytes)
		if deviceFree(e) < need {
			continue // the device itself was full
		}
		high := reserved[k] + need
		if high <= c.LowBytes {
			continue // the cap was raised later, or is not a fixed one
		}
		if c.Kind = FractionCap; c.HighBytes == 0 || high < c.HighBytes {
			c.HighBytes = high
		}
	}
	if c.Kind == DeviceCap {
		last := len(events) - 1
		c.LowBytes = reserved[last]
		c.HighBytes = c.LowBytes + deviceFree(tl.Dev.Events.At(events[last]))
	}
	return c
}

// told adds a limit that is known from elsewhere: from whoever set it. One that the recording
// contradicts was not in force when the run died.
func (c Cap) told(limitBytes, leaseBytes int64) Cap {
	if c.Kind == FractionCap && limitBytes >= c.LowBytes && (c.HighBytes == 0 || limitBytes < c.HighBytes) {
		c.LimitBytes, c.LeaseBytes = limitBytes, leaseBytes
	}
	return c
}

// allowed is what reserved memory could grow to: the limit, or as much of it as is proved.
func (c Cap) allowed() int64 { return cmp.Or(c.LimitBytes, c.LowBytes) }

// deviceFree is what the driver had left at a failure. The file can hold any number.
func deviceFree(e snapshot.Event) int64 { return int64(min(e.Addr, snapshot.MaxSizeBytes)) }

// reservedAt returns what was reserved after each of the events, which ascend. A run at
// its limit can have thousands of failures: one walk serves them all.
func reservedAt(tl *timeline.Timeline, events []int) []int64 {
	list := make([]int64, 0, len(events))
	tl.Walk(events[0], events[len(events)-1]+1, func(i int, now timeline.Totals) {
		if i == events[len(list)] {
			list = append(list, now.Reserved)
		}
	})
	return list
}
