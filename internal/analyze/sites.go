package analyze

import (
	"path"
	"slices"
	"strconv"
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
	prefix string       // folder that all of the user's files share, with its last slash

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
	closure bool // what is outside called back into the program
}

// NewSites reads every stack of rec once.
func NewSites(rec *snapshot.Recording) *Sites {
	s := &Sites{rec: rec, facts: make([]frameFacts, len(rec.Frames)), sites: make([]Site, rec.Stacks.Len())}
	reader := newFrameReader(rec.Frames)
	for i, f := range rec.Frames {
		s.facts[i] = reader.facts(f)
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

// HasNative tells whether the recording has C++ frames.
func (s *Sites) HasNative() bool { return s.anyNative }

// read finds the frames that matter in one stack, from the innermost outwards.
func (s *Sites) read(id snapshot.StackID) Site {
	site := Site{User: -1, Via: -1, Op: -1, Inner: -1}
	frames := s.rec.Stacks.Frames(id)
	for i, f := range frames {
		facts := s.frame(f)
		site.marks |= facts.marks &^ outside(&site, i)
		if facts.closure || site.marks.has(inModule|inBackward) {
			site.closure = true
		}
		switch facts.whose {
		case Native:
			s.anyNative = true
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

// outside returns the marks that a frame outside the others no longer gives. A
// Trainer that trains in its constructor does not make all memory a module's; and an
// optimizer that calls a closure (as Lightning always does, and LBFGS) has the whole
// forward and backward pass inside its step.
func outside(site *Site, i int) marks {
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

// commonFolder returns the folder that all of the user's files share. Notebook cells
// and names in angle brackets have no say.
func (s *Sites) commonFolder() string {
	common, any := "", false
	for i := range s.facts {
		file := slashes(s.rec.Frames[i].Filename)
		if s.facts[i].whose != Users || strings.HasPrefix(file, "<") || isCell(file) {
			continue
		}
		folder := file[:strings.LastIndexByte(file, '/')+1]
		if !any {
			common, any = folder, true
		}
		for !strings.HasPrefix(folder, common) {
			common = common[:strings.LastIndexByte(strings.TrimSuffix(common, "/"), '/')+1]
		}
	}
	return common
}

// isCell recognises the files that ipykernel makes of notebook cells.
func isCell(file string) bool { return strings.Contains(file, "/ipykernel_") }

// Path returns a file's name as people call it: a user's file from the folder that
// all of them share, a library's from the package, a notebook cell by its number.
func (s *Sites) Path(id snapshot.FrameID) string {
	file := slashes(s.rec.Frames[id].Filename)
	facts := s.frame(id)
	switch {
	case facts.rel != "":
		return facts.rel
	case isCell(file):
		return "cell " + strings.TrimSuffix(path.Base(file), ".py")
	case strings.HasPrefix(file, "<ipython-input-"):
		number, _, _ := strings.Cut(file[len("<ipython-input-"):], "-")
		return "cell " + number
	case facts.whose == Native:
		return "C++"
	case len(s.prefix) > 1 && strings.HasPrefix(file, s.prefix):
		return file[len(s.prefix):]
	}
	return lastElements(file, 3)
}

// lastElements shortens a path to its last n elements.
func lastElements(file string, n int) string {
	cut := len(file)
	for range n {
		cut = strings.LastIndexByte(file[:cut], '/')
		if cut <= 0 {
			return file
		}
	}
	return "…" + file[cut:]
}

// Position returns "train.py:166".
func (s *Sites) Position(id snapshot.FrameID) string {
	if line := s.rec.Frames[id].Line; line > 0 {
		return s.Path(id) + ":" + strconv.Itoa(line)
	}
	return s.Path(id)
}

// UserFrame returns the innermost frame of the user's own code.
func (s *Sites) UserFrame(id snapshot.StackID) (snapshot.Frame, bool) {
	site := s.At(id)
	if site.User < 0 {
		return snapshot.Frame{}, false
	}
	return s.rec.Frames[s.rec.Stacks.Frames(id)[site.User]], true
}

// Frames returns the whole stack without noise, innermost first, for findings.
func (s *Sites) Frames(id snapshot.StackID) []snapshot.Frame {
	ids := s.rec.Stacks.Frames(id)
	frames := make([]snapshot.Frame, 0, len(ids))
	for _, f := range ids {
		if s.frame(f).whose != Noise {
			frames = append(frames, s.rec.Frames[f])
		}
	}
	return frames
}

// Display returns a stack in one line: "train.py:166 step → cross_entropy", or
// "train.py:166 step → modeling_bert.py:292 → linear" with a model of a library between.
func (s *Sites) Display(id snapshot.StackID) string {
	line, op, site := s.Line(id), s.Op(id), s.At(id)
	if site.User >= 0 && site.Via >= 0 {
		via := s.rec.Stacks.Frames(id)[site.Via]
		line += " → " + s.short(via)
		if site.Via == site.Op {
			return line + " " + s.rec.Frames[via].Name
		}
	}
	if op != "" {
		line += " → " + op
	}
	return line
}

// short returns the position of a frame; a library's without the folders.
func (s *Sites) short(id snapshot.FrameID) string {
	if s.frame(id).whose == Library {
		return path.Base(s.Position(id))
	}
	return s.Position(id)
}

// Line returns the line of code that a stack is charged to: the user's innermost
// one, or where there is none what stands for it.
func (s *Sites) Line(id snapshot.StackID) string {
	site, ids := s.At(id), s.rec.Stacks.Frames(id)
	switch {
	case site.User >= 0:
		return s.Position(ids[site.User]) + " " + s.rec.Frames[ids[site.User]].Name
	case !s.anyStack:
		return "no stack recorded"
	case site.Inner < 0 && site.marks&inBackward != 0:
		return "autograd (backward)"
	case site.Inner < 0 && len(s.skipNoise(ids)) > 0:
		return "C++ thread"
	case site.Inner < 0:
		return "autograd (backward), no Python stack"
	case site.marks&inBackward != 0:
		return "autograd (backward)"
	}
	return s.root(ids)
}

// root names the outermost library frame of a stack without any of the user's:
// a worker thread of a loader or of a serving engine.
func (s *Sites) root(ids []snapshot.FrameID) string {
	for i := len(ids) - 1; i >= 0; i-- {
		if facts := s.frame(ids[i]); facts.whose == Library && !facts.plumbing {
			return s.Position(ids[i]) + " " + s.rec.Frames[ids[i]].Name
		}
	}
	return "Python, no code of yours"
}

// Op returns the name of the library function that a stack is in: "cross_entropy",
// "linear", "adam.step"; empty where the user's own line allocates, or nothing tells.
func (s *Sites) Op(id snapshot.StackID) string {
	site, ids := s.At(id), s.rec.Stacks.Frames(id)
	if site.Op >= 0 {
		return s.opName(ids[site.Op])
	}
	return s.nativeOp(ids, site)
}

// opName names a library function so that it can stand alone: names that every file
// has are preceded by the file's.
func (s *Sites) opName(id snapshot.FrameID) string {
	name, facts := s.rec.Frames[id].Name, s.frame(id)
	stem := strings.TrimSuffix(path.Base(facts.rel), ".py")
	if stem == "__init__" {
		stem = path.Base(path.Dir(facts.rel))
	}
	switch name {
	case "forward":
		if strings.HasPrefix(facts.rel, "torch/nn/modules/") {
			return stem
		}
		return stem + ".forward"
	case "backward", "step", "__init__", "apply", "update", "to", "cuda", "convert", "run", "call", "<lambda>", "<module>", "_apply":
		return stem + "." + name
	}
	if strings.HasPrefix(name, "__") {
		return stem + "." + name
	}
	return strings.TrimLeft(name, "_")
}

// nativeOp names the operator from C++ frames, where Python gives no name: the
// outermost operator that Python called, or the node of the backward pass.
func (s *Sites) nativeOp(ids []snapshot.FrameID, site *Site) string {
	end := len(ids)
	if site.Inner >= 0 {
		end = site.Inner
	}
	op := ""
	for _, f := range ids[:end] {
		if s.frame(f).whose != Native {
			continue
		}
		name := s.rec.Frames[f].Name
		if before, _, ok := strings.Cut(name, "::apply("); ok && strings.Contains(before, "Backward") {
			return before[strings.LastIndexByte(before, ':')+1:]
		}
		if _, after, ok := strings.Cut(name, "at::_ops::"); ok {
			op, _, _ = strings.Cut(after, "::")
		}
	}
	return op
}

// FoldedFrame is a frame of the user's, or a run of frames that are not.
type FoldedFrame struct {
	Frame  snapshot.Frame `json:"frame"`
	Text   string         `json:"text"`             // "train.py:166 step", "… 7 frames in torch"
	Folded int            `json:"folded,omitempty"` // frames that Text stands for; 0 for a frame of the user's
}

// Folded returns a stack for people: the user's frames one by one, innermost first,
// each run of library frames as one line. The innermost library frame that names
// the operator is kept.
func (s *Sites) Folded(id snapshot.StackID) []FoldedFrame {
	var out []FoldedFrame
	ids, site := s.rec.Stacks.Frames(id), s.At(id)
	for i := 0; i < len(ids); {
		f := s.frame(ids[i])
		switch {
		case f.whose == Noise:
			i++
		case f.whose == Users || i == site.Op:
			out = append(out, FoldedFrame{Frame: s.rec.Frames[ids[i]], Text: s.Position(ids[i]) + " " + s.rec.Frames[ids[i]].Name})
			i++
		default:
			n := s.run(ids[i:], i, site.Op)
			out = append(out, s.fold(ids[i:i+n]))
			i += n
		}
	}
	return out
}

// run returns how many frames from the first on are foreign to the user.
func (s *Sites) run(ids []snapshot.FrameID, at, op int) int {
	for n := range ids {
		if s.frame(ids[n]).whose == Users || at+n == op && n > 0 {
			return n
		}
	}
	return len(ids)
}

// fold makes one line of a run of frames, and names the packages it is in.
func (s *Sites) fold(ids []snapshot.FrameID) FoldedFrame {
	var pkgs []string
	n := 0
	for _, f := range ids {
		facts := s.frame(f)
		if facts.whose == Noise {
			continue
		}
		n++
		if len(pkgs) < 3 && !slices.Contains(pkgs, facts.pkg) {
			pkgs = append(pkgs, facts.pkg)
		}
	}
	text := "… " + strconv.Itoa(n) + " frames in " + strings.Join(pkgs, ", ")
	if n == 1 {
		text = "… 1 frame in " + strings.Join(pkgs, ", ")
	}
	return FoldedFrame{Frame: s.rec.Frames[ids[0]], Text: text, Folded: n}
}
