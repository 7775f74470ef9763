package analyze

import (
	"slices"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// BlockCategories is what every block of a recording is for, in a byte a block. It is
// immutable.
type BlockCategories struct {
	rule []uint8 // by block: its place in categoryRules
}

// CategorizeBlocks judges every block of the window. What is large for a parameter,
// and which of several alike is a workspace, is told by what is held at the peak of
// allocated memory: so the blocks that are allocated there have the categories that
// Holders gives them there. At other moments a few that rest on such evidence differ.
func CategorizeBlocks(tl *timeline.Timeline, sites *Sites) *BlockCategories {
	peak := tl.Peak.Allocated.Event
	c := newClassifier(tl, sites, peak, liveAt(tl, peak))
	out := &BlockCategories{rule: make([]uint8, tl.NumBlocks())}
	known := make(map[evidence]uint8) // a run repeats itself: of 2.6 million blocks some hundred differ
	private := newPrivateSweep(tl)
	for i := range out.rule {
		c.private = private.at(tl.Life(i).Alloc)
		e := c.evidenceOf(i)
		r, ok := known[e]
		if !ok {
			r = uint8(e.ruleIndex())
			known[e] = r
		}
		out.rule[i] = r
	}
	return out
}

// Of returns what block i is for.
func (b *BlockCategories) Of(i int) Category { return categoryRules[b.rule[i]].category }

// Confidence returns how sure that is.
func (b *BlockCategories) Confidence(i int) rules.Confidence {
	return categoryRules[b.rule[i]].confidence
}

// Reason returns what it was told by.
func (b *BlockCategories) Reason(i int) string { return categoryRules[b.rule[i]].reason }

// liveAt returns the blocks that are allocated after an event, in order.
func liveAt(tl *timeline.Timeline, event int) []int {
	var held []int
	tl.EachHeld(event, func(i int, l timeline.Life) {
		if l.LiveAfter(event) {
			held = append(held, i)
		}
	})
	return held
}

// privateSweep gives the segments of private pools at moments that come in order.
type privateSweep struct {
	all     []timeline.Segment
	changes []int // events at which one comes or goes, ascending
	now     []timeline.Segment
}

func newPrivateSweep(tl *timeline.Timeline) *privateSweep {
	s := new(privateSweep)
	for _, g := range tl.Segments {
		if g.Pool != (snapshot.PoolID{}) {
			s.all = append(s.all, g)
			s.changes = append(s.changes, g.From, g.To)
		}
	}
	slices.Sort(s.changes)
	return s
}

// at returns the segments after an event, by address.
func (s *privateSweep) at(event int) []timeline.Segment {
	passed := 0
	for passed < len(s.changes) && s.changes[passed] <= event {
		passed++
	}
	if passed > 0 {
		s.changes = s.changes[passed:]
		s.now = segmentsAt(s.all, event)
	}
	return s.now
}
