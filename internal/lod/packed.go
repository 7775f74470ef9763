package lod

import (
	"cmp"
	"slices"
)

// PackedLimits bound what Packed returns. 0 is 5,000 blocks, 400,000 steps.
type PackedLimits struct{ Blocks, Steps int }

func (l PackedLimits) orDefault() PackedLimits {
	return PackedLimits{cmp.Or(max(l.Blocks, 0), 5000), cmp.Or(max(l.Steps, 0), 400_000)}
}

// Packed is every block allocated within events [From, To), one upon the other in the
// order of allocation. When one is freed those above come down.
type Packed struct {
	From, To int
	Blocks   []PackedBlock
	TooMany  bool // more than the limits allow: there are no blocks here
}

// PackedBlock is a block of Packed, allocated at events [Start, End); End is
// Device.Events where it still is at the end.
type PackedBlock struct {
	ID         uint32
	Start, End int
	SizeBytes  int64
	Steps      []Step // at least one; the first at Start or Packed.From
}

// Step tells how many bytes lie below a block from an event on.
type Step struct {
	Event       int
	OffsetBytes int64
}

// Packed returns the blocks of events [from, to).
func (d *Device) Packed(from, to int, limits PackedLimits) *Packed {
	from, to = max(from, 0), min(to, d.Events)
	p := &Packed{From: from, To: to}
	if from >= to {
		return p
	}
	limits = limits.orDefault()
	first, last := d.BornIn(from+1, to)
	if last-first > limits.Blocks {
		p.TooMany = true
		return p
	}
	ids, all := d.fewLive(from, limits.Blocks-(last-first))
	if !all {
		p.TooMany = true
		return p
	}
	for b := first; b < last; b++ {
		ids = append(ids, uint32(b))
	}
	for _, id := range ids {
		l := d.TL.Life(int(id))
		p.Blocks = append(p.Blocks, PackedBlock{ID: id, Start: max(l.Alloc, 0), End: min(l.FreeRequested, d.Events), SizeBytes: l.SizeBytes})
	}
	if !p.pack(limits.Steps) {
		p.Blocks, p.TooMany = nil, true
	}
	return p
}

// pack gives every block its steps, and tells whether the limit was kept.
func (p *Packed) pack(limit int) bool {
	ends := make([]int, len(p.Blocks)) // blocks by their ends
	for i := range ends {
		ends[i] = i
	}
	slices.SortStableFunc(ends, func(a, b int) int { return cmp.Compare(p.Blocks[a].End, p.Blocks[b].End) })
	s := stack{blocks: p.Blocks, left: limit}
	next := 0
	for _, e := range ends {
		end := p.Blocks[e].End
		if end >= p.To {
			break
		}
		for ; next < len(p.Blocks) && p.Blocks[next].Start < end; next++ {
			s.push(next, p.From)
		}
		s.remove(e, end)
		if s.left < 0 {
			return false
		}
	}
	for ; next < len(p.Blocks); next++ {
		s.push(next, p.From)
	}
	return s.left >= 0
}

// stack is the blocks that are allocated at one event, the oldest at the bottom.
type stack struct {
	blocks []PackedBlock
	live   []int // ascending
	top    int64 // bytes
	left   int   // steps that may still be made
}

func (s *stack) push(i, from int) {
	b := &s.blocks[i]
	s.live = append(s.live, i)
	s.step(i, max(b.Start, from), s.top)
	s.top += b.SizeBytes
}

// remove takes a block out at an event, and lets down those above.
func (s *stack) remove(i, event int) {
	k, _ := slices.BinarySearch(s.live, i) // it is there: it was put there at its start, before its end
	size := s.blocks[i].SizeBytes
	s.top -= size
	s.live = slices.Delete(s.live, k, k+1)
	if s.left < len(s.live)-k {
		s.left = -1
		return
	}
	for _, above := range s.live[k:] {
		steps := s.blocks[above].Steps
		s.step(above, event, steps[len(steps)-1].OffsetBytes-size)
	}
}

// step adds a step, or changes the last if it is of the same event. A block that ends
// at that event, with its segment, needs none.
func (s *stack) step(i, event int, offset int64) {
	if event >= s.blocks[i].End {
		return
	}
	steps := s.blocks[i].Steps
	if n := len(steps); n > 0 && steps[n-1].Event == event {
		steps[n-1].OffsetBytes = offset
		return
	}
	s.blocks[i].Steps = append(steps, Step{event, offset})
	s.left--
}
