package table

import (
	"strings"
	"sync"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/snapshot"
)

// stacks looks for text in the stacks of a recording. There are some thousands, of a few
// thousand frames, so that a query looks at each once and at its rows by number.
type stacks struct {
	rec     *snapshot.Recording
	sites   *analyze.Sites
	opNames func() []string // by StackID
}

func newStacks(rec *snapshot.Recording, sites *analyze.Sites) *stacks {
	s := &stacks{rec: rec, sites: sites}
	s.opNames = sync.OnceValue(func() []string {
		names := make([]string, sites.Len())
		for id := range names {
			if same := sites.At(snapshot.StackID(id)).Same; int(same) < id {
				names[id] = names[same]
			} else {
				names[id] = sites.Op(snapshot.StackID(id))
			}
		}
		return names
	})
	return s
}

func (s *stacks) ops() []string { return s.opNames() }

// id is a stack's place in a table of all, where one that is not there is the empty one.
func (s *stacks) id(stack snapshot.StackID) snapshot.StackID {
	if int(stack) >= s.sites.Len() {
		return 0
	}
	return stack
}

// stackSet is a set of stacks, by StackID.
type stackSet []bool

func (set stackSet) has(id snapshot.StackID) bool { return int(id) < len(set) && set[id] }

// withFrame returns the stacks that have a frame that fits, noise left out.
func (s *stacks) withFrame(fits func(snapshot.FrameID) bool) stackSet {
	frames := make([]bool, len(s.rec.Frames))
	for i := range frames {
		id := snapshot.FrameID(i)
		frames[i] = s.sites.FrameKind(id) != analyze.NoiseFrames && fits(id)
	}
	set := make(stackSet, s.sites.Len())
	for id := range set {
		for _, f := range s.rec.Stacks.Frames(snapshot.StackID(id)) {
			if int(f) < len(frames) && frames[f] {
				set[id] = true
				break
			}
		}
	}
	return set
}

// inFile returns the stacks with a frame whose file's path has a text in it.
func (s *stacks) inFile(text string) stackSet {
	m := newMatcher(text)
	return s.withFrame(func(id snapshot.FrameID) bool {
		return m.in(strings.ReplaceAll(s.rec.Frames[id].Filename, `\`, "/")) || m.in(s.sites.Path(id))
	})
}

// inFunc returns the stacks with a function whose name has a text in it.
func (s *stacks) inFunc(text string) stackSet {
	m := newMatcher(text)
	return s.withFrame(func(id snapshot.FrameID) bool { return m.in(s.rec.Frames[id].Name) })
}

// inOp returns the stacks that call an operator whose name has a text in it.
func (s *stacks) inOp(text string) stackSet {
	m := newMatcher(text)
	set := make(stackSet, s.sites.Len())
	for id, op := range s.ops() {
		set[id] = m.in(op)
	}
	return set
}

// inText returns the stacks that show a text anywhere: in the name of a frame as stacks
// are printed, the path of its file or the operator.
func (s *stacks) inText(text string) stackSet {
	m := newMatcher(text)
	set := s.withFrame(func(id snapshot.FrameID) bool {
		return m.in(s.sites.FrameName(id)) || m.in(strings.ReplaceAll(s.rec.Frames[id].Filename, `\`, "/"))
	})
	for id, op := range s.ops() {
		set[id] = set[id] || m.in(op)
	}
	return set
}

// matcher looks for a text, whatever its case.
type matcher struct{ text string }

func newMatcher(text string) matcher { return matcher{strings.ToLower(text)} }

func (m matcher) in(s string) bool { return strings.Contains(strings.ToLower(s), m.text) }

// places returns those of a list of places whose name has a text in it, by number.
func (m matcher) places(p *analyze.Places) []bool {
	fits := make([]bool, p.Len())
	for i := range fits {
		fits[i] = m.in(p.Name(i))
	}
	return fits
}
