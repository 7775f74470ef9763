package analyze

import (
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// Places numbers the places that memory is charged to: what Holders groups by line or by
// module, under the same names. Numbers are in the order of stacks; the last one is for
// blocks that were allocated before the first event, nobody knows where. It is immutable.
type Places struct {
	names []string
	of    []uint32 // by StackID
	early int
	ids   map[string]int
}

// NewLines numbers the lines of code that allocate.
func NewLines(sites *Sites) *Places { return newPlaces(sites, sites.Line) }

// NewModules numbers the calls of modules.
func NewModules(sites *Sites) *Places { return newPlaces(sites, sites.Module) }

func newPlaces(sites *Sites, name func(snapshot.StackID) string) *Places {
	p := &Places{of: make([]uint32, sites.Len()), ids: make(map[string]int)}
	for id := range p.of {
		if same := sites.sites[id].Same; int(same) < id {
			p.of[id] = p.of[same]
			continue
		}
		p.of[id] = uint32(p.number(name(snapshot.StackID(id))))
	}
	p.early = p.number(beforeRecording)
	return p
}

func (p *Places) number(name string) int {
	n, ok := p.ids[name]
	if !ok {
		n = len(p.names)
		p.ids[name] = n
		p.names = append(p.names, name)
	}
	return n
}

// Len returns how many places there are.
func (p *Places) Len() int { return len(p.names) }

// Name returns the name of a place.
func (p *Places) Name(id int) string { return p.names[id] }

// ID returns the number of a place by its name, and false where there is none.
func (p *Places) ID(name string) (int, bool) {
	id, ok := p.ids[name]
	return id, ok
}

// Of returns the place of a stack, or of a block with it that was allocated by an event.
// Event -1 is before the first, where the empty stack tells nothing.
func (p *Places) Of(stack snapshot.StackID, alloc int) int {
	if alloc < 0 && stack == 0 {
		return p.early
	}
	if int(stack) >= len(p.of) {
		stack = 0
	}
	return int(p.of[stack])
}

// OfBlock returns the place that allocated block i.
func (p *Places) OfBlock(tl *timeline.Timeline, i int) int {
	return p.Of(tl.Stack(i), tl.Life(i).Alloc)
}
