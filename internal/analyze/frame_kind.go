package analyze

import "github.com/ullage-dev/ullage/snapshot"

// FrameKind is whose code a frame is, in a word.
type FrameKind string

// Kinds of frames.
const (
	UserFrames    FrameKind = "user"
	LibraryFrames FrameKind = "library" // an installed package
	PythonFrames  FrameKind = "python"  // the standard library, launchers, generated code
	NativeFrames  FrameKind = "cpp"
	NoiseFrames   FrameKind = "noise" // the recorder's own and the interpreter's: never shown
)

// FrameKind returns whose code a frame is.
func (s *Sites) FrameKind(id snapshot.FrameID) FrameKind {
	f := s.frame(id)
	switch {
	case f.whose == Users:
		return UserFrames
	case f.whose == Native:
		return NativeFrames
	case f.whose == Noise:
		return NoiseFrames
	case f.pkg == "python" || f.pkg == "launcher":
		return PythonFrames
	}
	return LibraryFrames
}

// FrameName names a frame as folded stacks do: "train.py:166 step"; a C++ frame, whose
// file says little, by its function alone.
func (s *Sites) FrameName(id snapshot.FrameID) string {
	if s.frame(id).whose == Native {
		return s.rec.Frames[id].Name
	}
	return s.Position(id) + " " + s.rec.Frames[id].Name
}

// AllocatedEarly is the name under which Holders lists blocks that were allocated before
// the first event, where the dump does not tell by what.
const AllocatedEarly = beforeRecording
