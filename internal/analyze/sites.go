package analyze

import (
	"strings"

	"github.com/ullage-dev/ullage/snapshot"
)

// Sites knows, for every distinct stack of a recording, where it is in the user's
// code and what it called there. It is made once per recording and shared by all
// analyses; it is immutable and safe for concurrent use.
type Sites struct {
	rec    *snapshot.Recording
	facts  []frameFacts // by FrameID
	sites  []Site       // by StackID
	reader *frameReader
	prefix string // folder that all of the user's files share, with its last slash

	marks     marks // of all stacks
	anyStack  bool  // the recording has stacks at all
	anyNative bool  // some of them have C++ frames
}

// Site is what is known of one distinct stack. User, Via, Op and Inner are indexes
// into the stack's frames, -1 where there is no such frame.
type Site struct {
	Same  snapshot.StackID // the first stack with the same frames, noise left out: sites are compared by it
	User  int              // innermost frame of the user's own code
	Via   int              // innermost frame of another library than torch that lies inside User, such as a model of transformers
	Op    int              // innermost frame that names what was called: cross_entropy, linear, Adam's step
	Inner int              // innermost Python frame

	marks   marks
	native  bool // it has C++ frames
	closure bool // what is outside called back into the program
}

// NewSites reads every stack of rec once.
func NewSites(rec *snapshot.Recording) *Sites {
	s := &Sites{rec: rec, facts: make([]frameFacts, len(rec.Frames)), sites: make([]Site, rec.Stacks.Len())}
	s.reader = newFrameReader(rec.Frames)
	for i, f := range rec.Frames {
		s.facts[i] = s.reader.facts(f)
	}
	s.prefix = s.commonFolder()
	s.anyStack = len(s.sites) > 1
	seen := make(map[uint64][]snapshot.StackID, len(s.sites))
	for id := range s.sites {
		s.sites[id] = s.read(snapshot.StackID(id))
		s.sites[id].Same = s.first(seen, snapshot.StackID(id))
		s.marks |= s.sites[id].marks
	}
	return s
}

// At returns what is known of stack id.
func (s *Sites) At(id snapshot.StackID) *Site {
	if int(id) >= len(s.sites) {
		id = 0
	}
	return &s.sites[id]
}

// Len returns the number of stacks, the empty stack included.
func (s *Sites) Len() int { return len(s.sites) }

// HasStacks tells whether the recording has any stack.
func (s *Sites) HasStacks() bool { return s.anyStack }

// Trains tells whether any stack lies in an optimizer or in autograd. Where none does,
// a thread without Python frames need not be autograd's.
func (s *Sites) Trains() bool { return s.marks.has(inOptimizer | inBackward) }

// HasNative tells whether the recording has C++ frames.
func (s *Sites) HasNative() bool { return s.anyNative }

// read finds the frames that matter in one stack, from the innermost outwards.
func (s *Sites) read(id snapshot.StackID) Site {
	site := Site{User: -1, Via: -1, Op: -1, Inner: -1}
	frames := s.rec.Stacks.Frames(id)
	for i, f := range frames {
		facts := s.frame(f)
		site.marks |= facts.marks &^ muted(&site, i)
		if facts.closure || site.marks.has(inModule|inBackward) {
			site.closure = true
		}
		switch facts.whose {
		case Native:
			s.anyNative, site.native = true, true
		case Users:
			if site.User < 0 {
				site.User = i
			}
		case Library:
			if site.User < 0 && site.Via < 0 && !facts.plumbing && facts.pkg != "torch" && facts.pkg != "torch.compile" {
				site.Via = i
			}
		}
		if site.Inner < 0 && (facts.whose == Users || facts.whose == Library) {
			site.Inner = i
		}
	}
	site.Op = s.op(frames, site.User)
	return site
}

// isBackward tells whether a stack is one of autograd's thread: by its C++ frames, or
// where those were not recorded by having no frames at all in a run that trains.
func (s *Sites) isBackward(site *Site) bool {
	return site.marks.has(inBackward) || site.Inner < 0 && !site.native && s.Trains()
}

// muted returns the marks that a frame outside the others no longer gives. A
// Trainer that trains in its constructor does not make all memory a module's; and an
// optimizer that calls a closure (as Lightning always does, and LBFGS) has the whole
// forward and backward pass inside its step.
func muted(site *Site, i int) marks {
	var m marks
	if site.User >= 0 && i > site.User {
		m |= inConstructor
	}
	if site.closure {
		m |= inOptimizer | inOptimInit
	}
	return m
}

func (s *Sites) frame(f snapshot.FrameID) *frameFacts {
	if int(f) >= len(s.facts) {
		return &frameFacts{whose: Noise}
	}
	return &s.facts[f]
}

// op returns the innermost library frame, inside the user's, that names what was
// called. A private helper is passed over for the public function of the same file
// that called it: sgd, not _multi_tensor_sgd.
func (s *Sites) op(frames []snapshot.FrameID, user int) int {
	if user < 0 {
		user = len(frames)
	}
	helper := -1
	for i := range user {
		facts := s.frame(frames[i])
		if facts.whose != Library || facts.plumbing {
			continue
		}
		if helper >= 0 && facts.rel != s.frame(frames[helper]).rel {
			return helper
		}
		name := s.rec.Frames[frames[i]].Name
		if !isPrivate(name) {
			if helper >= 0 && name == "forward" && !strings.HasPrefix(facts.rel, "torch/nn/modules/") {
				return helper // _attention says more than forward
			}
			return i
		}
		if helper < 0 {
			helper = i
		}
	}
	return helper
}

func isPrivate(name string) bool {
	return strings.HasPrefix(name, "<") || strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "__")
}

// first returns the first stack whose frames equal those of id, noise left out.
func (s *Sites) first(seen map[uint64][]snapshot.StackID, id snapshot.StackID) snapshot.StackID {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for _, f := range s.rec.Stacks.Frames(id) {
		if s.frame(f).whose != Noise {
			h = (h ^ uint64(f)) * prime
		}
	}
	for _, other := range seen[h] {
		if s.equal(id, other) {
			return other
		}
	}
	seen[h] = append(seen[h], id)
	return id
}

func (s *Sites) equal(a, b snapshot.StackID) bool {
	x, y := s.rec.Stacks.Frames(a), s.rec.Stacks.Frames(b)
	for {
		x, y = s.skipNoise(x), s.skipNoise(y)
		if len(x) == 0 || len(y) == 0 {
			return len(x) == len(y)
		}
		if x[0] != y[0] {
			return false
		}
		x, y = x[1:], y[1:]
	}
}

func (s *Sites) skipNoise(frames []snapshot.FrameID) []snapshot.FrameID {
	for len(frames) > 0 && s.frame(frames[0]).whose == Noise {
		frames = frames[1:]
	}
	return frames
}
