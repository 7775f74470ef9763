package viewer

import (
	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/table"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// blockJSON is all that is known of a block.
type blockJSON struct {
	Block              int         `json:"block"`
	Address            string      `json:"address"`
	SizeBytes          int64       `json:"size_bytes"`
	RequestedBytes     int64       `json:"requested_bytes"`
	Stream             string      `json:"stream"`
	AllocEvent         int         `json:"alloc_event"`
	FreeRequestedEvent *int        `json:"free_requested_event"` // null: not in the recording
	FreeCompletedEvent *int        `json:"free_completed_event"`
	LifeUS             any         `json:"life_us"` // null where an end of it is not in the recording
	Category           string      `json:"category"`
	Confidence         string      `json:"confidence"`
	Why                string      `json:"why"` // what tells the category
	Site               string      `json:"site"`
	SiteID             int         `json:"site_id"`
	Module             string      `json:"module"`
	Op                 string      `json:"op"`
	Step               any         `json:"step"` // null outside of whole steps
	SegmentAddress     *string     `json:"segment_address"`
	Frames             []frameJSON `json:"frames"`  // innermost first
	HeldBy             []string    `json:"held_by"` // at the recording's end, where the process said so
}

// frameJSON is a position in code and whose code it is.
type frameJSON struct {
	Filename string            `json:"filename"`
	Line     int               `json:"line"`
	Name     string            `json:"name"`
	Kind     analyze.FrameKind `json:"kind"`
}

// answerBlock answers with what is known of a block.
func answerBlock(d *Device, q *query) (any, error) {
	i := q.partNumber("block", d.TL.NumBlocks()-1)
	if q.err != nil {
		return nil, q.err
	}
	b, t, line := d.TL.Block(i), d.made.tables(), d.made.lines().OfBlock(d.TL, i)
	j := blockJSON{
		Block: i, Address: table.Address(b.Addr), SizeBytes: b.SizeBytes, RequestedBytes: b.RequestedBytes, Stream: streamText(d.Rec, b.Stream),
		AllocEvent: b.Alloc, FreeRequestedEvent: eventOrNull(b.FreeRequested), FreeCompletedEvent: eventOrNull(b.FreeCompleted), LifeUS: t.LifeUS(i),
		Category: d.Categories().Of(i).String(), Confidence: d.Categories().Confidence(i).String(), Why: d.Categories().Reason(i),
		Site: d.made.lines().Name(line), SiteID: d.siteID(line), Module: d.made.modules().Name(d.made.modules().OfBlock(d.TL, i)), Op: d.Sites.Op(b.Stack),
		Step: t.Step(b.Alloc), Frames: d.frames(b.Stack), HeldBy: []string{},
	}
	if g := t.SegmentOf(i); g >= 0 {
		address := table.Address(d.TL.Segments[g].Addr)
		j.SegmentAddress = &address
	}
	if d.X.Kept != nil {
		if text, ok := d.X.Kept.Keeper(i); ok {
			j.HeldBy = append(j.HeldBy, text)
		}
	}
	return j, nil
}

// eventOrNull is an event, or null where it is not in the recording.
func eventOrNull(event int) *int {
	if event == timeline.Never {
		return nil
	}
	return &event
}

// frames is a stack, innermost first, the recorder's own frames left out.
func (d *Device) frames(stack snapshot.StackID) []frameJSON {
	list := []frameJSON{}
	for _, id := range d.Rec.Stacks.Frames(stack) {
		if kind := d.Sites.FrameKind(id); kind != analyze.NoiseFrames {
			f := d.Rec.Frames[id]
			list = append(list, frameJSON{f.Filename, f.Line, f.Name, kind})
		}
	}
	return list
}

// answerEvent answers with an event's row, its stack, and the counters after it.
func answerEvent(d *Device, q *query) (any, error) {
	i := q.partNumber("event", d.Events()-1)
	if q.err != nil {
		return nil, q.err
	}
	row := d.made.tables().Row(table.Events, i)
	row["frames"] = d.frames(d.TL.Dev.Events.StackAt(i))
	row["totals"] = newTotalsJSON(d.TL.TotalsAt(i))
	return row, nil
}
