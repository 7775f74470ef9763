package origin

import (
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
	"github.com/ullage-dev/ullage/snapshot"
)

// File is a source that frames may be in, with its mistakes.
type File struct {
	Path     string // as it is to be named
	Source   *syntax.Source
	Mistakes []rules.Mistake

	functions []function   // outer ones before those in them
	inText    map[int]bool // lines that begin within a string
}

// function is a def of a source.
type function struct {
	name        string
	start, end  int // bytes
	first, last int // lines
}

// NewFile knows the functions of a source from its tree.
func NewFile(path string, tree *syntax.Tree, mistakes []rules.Mistake) *File {
	f := &File{Path: path, Source: tree.Source, Mistakes: mistakes, inText: map[int]bool{}}
	for n := range tree.Root().Descendants() {
		if n.Is("string") {
			for line := f.Source.TextLine(n.Start()) + 1; line <= f.Source.TextLine(n.End()); line++ {
				f.inText[line] = true
			}
		}
		if n.Is("function_definition") {
			f.functions = append(f.functions, function{
				n.Field("name").Text(), n.Start(), n.End(), f.Source.TextLine(n.Start()), f.Source.TextLine(max(n.End()-1, n.Start())),
			})
		}
	}
	return f
}

// Fits tells whether frames can be of this text: each is on a line that there is, in a
// function of its name. Where one is not, that is returned: the file is another than the
// one that ran, or has changed since.
func (f *File) Fits(frames []snapshot.Frame) (odd snapshot.Frame, ok bool) {
	for _, frame := range frames {
		if frame.Line < 1 || frame.Line > f.Source.LineCount() || !f.hasCode(frame.Line) || !f.fits(frame) {
			return frame, false
		}
	}
	return snapshot.Frame{}, true
}

// hasCode tells whether a line is more than a comment, a blank or a piece of a text.
func (f *File) hasCode(line int) bool {
	text := strings.TrimSpace(f.Source.Line(line))
	return text != "" && text[0] != '#' && !f.inText[line]
}

func (f *File) fits(frame snapshot.Frame) bool {
	name := shortName(frame.Name)
	switch {
	case name == "<module>":
		for _, fn := range f.functions {
			if fn.first < frame.Line && frame.Line <= fn.last {
				return false
			}
		}
		return true
	case strings.HasPrefix(name, "<"): // a lambda or a comprehension: as good as any line
		return true
	}
	return f.functionOf(frame) >= 0
}

// shortName is the last part of a qualified name: step of train.<locals>.step.
func shortName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// functionOf returns the innermost function of a frame's name on its line, of a lambda or a
// comprehension the one around it; -1 at module level, or where there is none.
func (f *File) functionOf(frame snapshot.Frame) int {
	name := shortName(frame.Name)
	unnamed := strings.HasPrefix(name, "<") && name != "<module>"
	for i := len(f.functions) - 1; i >= 0; i-- {
		if fn := &f.functions[i]; (unnamed || fn.name == name) && fn.first <= frame.Line && frame.Line <= fn.last {
			return i
		}
	}
	return -1
}

// functionAt returns the innermost function around an offset, or -1 at module level.
func (f *File) functionAt(offset int) int {
	for i := len(f.functions) - 1; i >= 0; i-- {
		if fn := &f.functions[i]; fn.start <= offset && offset < fn.end {
			return i
		}
	}
	return -1
}

// onLine tells whether a mistake, or a place that it rests on, is on a line.
func (f *File) onLine(m *rules.Mistake, line int) bool {
	if f.covers(m.Start, m.End, line) {
		return true
	}
	for _, r := range m.Related {
		if f.covers(r.Start, r.End, line) {
			return true
		}
	}
	return false
}

func (f *File) covers(start, end, line int) bool {
	return f.Source.TextLine(start) <= line && line <= f.Source.TextLine(max(end-1, start))
}
