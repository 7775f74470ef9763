package analyze

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/snapshot"
)

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

// UsersOwn returns those of frames that are the user's own code.
func (s *Sites) UsersOwn(frames []snapshot.Frame) []snapshot.Frame {
	var own []snapshot.Frame
	for _, f := range frames {
		if s.reader.facts(f).whose == Users {
			own = append(own, f)
		}
	}
	return own
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
	case site.Inner < 0 && !site.native && s.isBackward(site):
		return "autograd (backward), no Python stack"
	case s.isBackward(site):
		return "autograd (backward)"
	case site.Inner < 0:
		return "a thread without Python"
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
