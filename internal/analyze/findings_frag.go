package analyze

import (
	"fmt"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// What counts as fragmentation worth telling of: less than this is the price of a
// cache, and every healthy run pays it.
const (
	minFragBytes = 256 << 20
	fragShare    = 0.10 // of reserved: told of
	fragWarn     = 0.25 // of reserved: a warning
)

// grade returns the severity of wasted bytes, and false where they are not worth telling of.
func (f *Fragmented) grade(bytes int64) (rules.Severity, bool) {
	share := float64(bytes) / float64(max(f.Now.Reserved, 1))
	switch {
	case bytes < minFragBytes || share < fragShare:
		return rules.Info, false
	case share >= fragWarn:
		return rules.Warning, true
	}
	return rules.Info, true
}

func (x *Explanation) fragmentationFindings() []rules.Finding {
	var list []rules.Finding
	if f, ok := x.pinnedFinding(); ok {
		list = append(list, f)
	}
	if f, ok := x.growthFinding(); ok {
		list = append(list, f)
	}
	for _, s := range x.Fragmented.Stranded {
		if f, ok := x.strandedFinding(s); ok {
			list = append(list, f)
		}
	}
	if f, ok := x.roundingFinding(); ok {
		list = append(list, f)
	}
	return list
}

// pinnedFinding tells of free memory that small blocks keep in their segments.
func (x *Explanation) pinnedFinding() (rules.Finding, bool) {
	g := &x.Fragmented
	severity, ok := g.grade(g.PinnedBytes)
	if !ok || len(g.Pins) == 0 {
		return rules.Finding{}, false
	}
	pin := g.Pins[0]
	f := rules.Finding{
		Rule: "frag/pinned-segment", Severity: severity, Confidence: rules.High, Bytes: g.PinnedBytes, Event: g.Event, Stack: x.stack(pin.Stack),
		Title: fmt.Sprintf("%s is free in segments that blocks in use keep from being returned; the largest free piece is %s", units.FormatBytes(g.PinnedBytes), units.FormatBytes(g.LargestBytes)),
	}
	for _, p := range g.Pins[:min(len(g.Pins), 3)] {
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s keeps %s free in %s with %s of its own", x.Sites.Display(p.Stack),
			units.FormatBytes(p.PinnedBytes), units.FormatPlural(p.Segments, "segment", "segments"), units.FormatBytes(p.BlockBytes)))
	}
	if g.LargestRequest.Event >= 0 && g.LargestRequest.Bytes > g.LargestBytes {
		f.Evidence = append(f.Evidence, fmt.Sprintf("the largest request so far, %s at %s, would not fit in any free piece", units.FormatBytes(g.LargestRequest.Bytes), x.Sites.Display(g.LargestRequest.Stack)))
	}
	return f, true
}

// growthFinding tells of reserved memory that grew while allocated memory did not.
func (x *Explanation) growthFinding() (rules.Finding, bool) {
	g := x.Fragmented.Growth
	extra := g.ReservedBytes - g.AllocatedPeakBytes
	if extra < minFragBytes || float64(extra) < fragShare*float64(x.TL.Peak.Reserved.Bytes) {
		return rules.Finding{}, false
	}
	return rules.Finding{
		Rule: "frag/reserved-growth", Severity: rules.Warning, Confidence: rules.Medium, Bytes: extra, Event: g.ToEvent,
		Title:    fmt.Sprintf("reserved memory grew by %s in the second half of the run, the peak of allocated memory by %s", units.FormatBytes(g.ReservedBytes), units.FormatBytes(g.AllocatedPeakBytes)),
		Evidence: []string{fmt.Sprintf("between events e%d and e%d; requests of ever new sizes do not fit what is free", g.FromEvent, g.ToEvent)},
	}, true
}

// strandedFinding tells of free memory of a stream or a pool that has fallen silent.
func (x *Explanation) strandedFinding(s Stranding) (rules.Finding, bool) {
	severity, ok := x.Fragmented.grade(s.FreeBytes)
	if !ok {
		return rules.Finding{}, false
	}
	f := rules.Finding{Rule: "frag/stranded-stream", Severity: severity, Confidence: rules.Medium, Bytes: s.FreeBytes, Event: x.Fragmented.Event}
	where := "stream " + x.streamName(s.Stream)
	if s.Pool != (snapshot.PoolID{}) {
		f.Rule = "frag/stranded-pool"
		where = "private pool " + s.Pool.String()
	} else if s.Small {
		where += " (small blocks)"
	}
	f.Title = fmt.Sprintf("%s lies free in %s, which no longer asks for any", units.FormatBytes(s.FreeBytes), where)
	if s.LastAlloc >= 0 {
		f.Evidence = []string{fmt.Sprintf("its last allocation is event e%d of %d", s.LastAlloc, x.TL.Dev.Events.Len())}
	} else {
		f.Evidence = []string{"it allocated nothing in the part of the run that was recorded, or nothing lately"}
	}
	return f, true
}

// streamName numbers streams as they first appear: raw handles differ between runs.
func (x *Explanation) streamName(id snapshot.StreamID) string {
	if int(id) < len(x.TL.Rec.Streams) && x.TL.Rec.Streams[id] == 0 {
		return "0 (default)"
	}
	return fmt.Sprint(id)
}

// roundingFinding tells of blocks much larger than what was asked for.
func (x *Explanation) roundingFinding() (rules.Finding, bool) {
	a := x.Accounting
	if a.RoundingBytes < minFragBytes || float64(a.RoundingBytes) < fragShare*float64(a.ReservedBytes) {
		return rules.Finding{}, false
	}
	return rules.Finding{
		Rule: "frag/rounding", Severity: rules.Warning, Confidence: rules.High, Bytes: a.RoundingBytes, Event: a.Event,
		Title: fmt.Sprintf("rounding takes %s beyond the %s that were asked for", units.FormatBytes(a.RoundingBytes), units.FormatBytes(a.RequestedBytes)),
	}, true
}
