package lod

import (
	"testing"

	"pgregory.net/rapid"
)

// TestPacked: at every event of the range the blocks lie on those that are older.
func TestPacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDevice(t)
		from := rapid.IntRange(0, d.Events-1).Draw(t, "from")
		to := min(rapid.IntRange(from+1, from+300).Draw(t, "to"), d.Events)
		p := d.Packed(from, to, PackedLimits{})
		if p.TooMany {
			t.Fatalf("events [%d, %d) are too many", from, to)
		}
		for i := from; i < to; i++ {
			var top int64
			live := 0
			for _, b := range p.Blocks {
				if i < b.Start || i >= b.End {
					continue
				}
				if got := offsetAt(b, i); got != top {
					t.Fatalf("e%d: block %d lies at %d, not %d", i, b.ID, top, got)
				}
				top += b.SizeBytes
				live++
			}
			if want := d.LiveAt(i); live != len(want) || top != d.TL.TotalsAt(i).Allocated {
				t.Fatalf("e%d: %d blocks, %d bytes; %d are live", i, live, top, len(want))
			}
		}
		for _, b := range p.Blocks {
			for k := 1; k < len(b.Steps); k++ {
				if b.Steps[k].Event <= b.Steps[k-1].Event || b.Steps[k].Event >= b.End {
					t.Fatalf("block %d: steps %v until e%d", b.ID, b.Steps, b.End)
				}
			}
		}
	})
}

func offsetAt(b PackedBlock, event int) int64 {
	offset := int64(-1)
	for _, s := range b.Steps {
		if s.Event <= event {
			offset = s.OffsetBytes
		}
	}
	return offset
}

// TestPackedLimits: what is more than the limits is said, and nothing is returned.
func TestPackedLimits(t *testing.T) {
	s := newScene(5, false)
	s.run(2000)
	d := New(s.build(0))
	whole := d.Packed(0, d.Events, PackedLimits{})
	steps := 0
	for _, b := range whole.Blocks {
		steps += len(b.Steps)
	}
	if len(whole.Blocks) != d.TL.NumBlocks() || steps <= len(whole.Blocks) {
		t.Fatalf("%d blocks of %d, %d steps", len(whole.Blocks), d.TL.NumBlocks(), steps)
	}
	for _, c := range []struct {
		limits  PackedLimits
		tooMany bool
	}{
		{PackedLimits{len(whole.Blocks), steps}, false},
		{PackedLimits{len(whole.Blocks) - 1, steps}, true},
		{PackedLimits{len(whole.Blocks), steps - 1}, true},
		{PackedLimits{Blocks: 1}, true},
	} {
		p := d.Packed(0, d.Events, c.limits)
		if p.TooMany != c.tooMany || (len(p.Blocks) == 0) != c.tooMany {
			t.Errorf("%+v: too many %v, %d blocks", c.limits, p.TooMany, len(p.Blocks))
		}
	}
	if p := d.Packed(50, 50, PackedLimits{}); p.TooMany || len(p.Blocks) != 0 {
		t.Errorf("no events: %+v", p)
	}
}
