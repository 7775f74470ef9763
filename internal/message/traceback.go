package message

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// Limits of the search for a traceback above a message: lines of the same process,
// and lines of all.
const (
	maxBackLines = 400
	maxBackAll   = 4000
	maxForeign   = 4 // lines among these that no traceback has, by other threads
)

// traceback returns the frames of the traceback that ends at line i, innermost first.
func (s *scanner) traceback(v *view, i int) []Frame {
	frames := parseFrames(s.above(v, i))
	slices.Reverse(frames)
	return frames
}

// above collects the lines of the same process before line i, back to the header
// of the traceback. Without a header within reach there is none, unless the lines
// directly above are frames.
func (s *scanner) above(v *view, i int) [][]byte {
	up := &upwards{key: v.lines[i].key}
	done := false
	for k := i - 1; k >= 0 && !done; k-- {
		done = up.add(&v.lines[k])
	}
	at := v.start
	for n := 0; n < maxBackAll && !done && at > 0; n++ {
		var list []entry
		list, at = s.before(at)
		for k := len(list) - 1; k >= 0 && !done; k-- {
			done = up.add(&list[k])
		}
	}
	back := up.lines
	if len(back) == 0 || !isHeader(back[len(back)-1]) {
		back = back[:contiguous(back)]
	}
	slices.Reverse(back)
	return back
}

// upwards collects lines from a message up, the last line first.
type upwards struct {
	key   string
	lines [][]byte
	loose [][]byte // lines without a prefix, which are the process's if the line above them is

	foreign int // lines that are not part of any traceback
}

// add takes the next line up; it returns true at the top of the traceback.
func (u *upwards) add(e *entry) bool {
	switch {
	case e.key == u.key:
		u.lines = append(u.lines, u.loose...)
		u.lines = append(u.lines, e.text)
	case e.key == "":
		if len(u.loose) < 8 {
			u.loose = append(u.loose, e.text)
		}
		return false
	}
	u.loose = nil
	if e.key != u.key {
		return false
	}
	if !inTraceback(e.text) {
		u.foreign++
	}
	return isHeader(e.text) || len(u.lines) >= maxBackLines || u.foreign > maxForeign || len(u.lines) > 1 && isErrorLine(e.text)
}

// inTraceback reports whether a line can stand in a traceback: source is indented.
func inTraceback(line []byte) bool {
	return len(line) == 0 || line[0] == ' ' || line[0] == '-' || line[0] == '\t' || line[0] >= 0x80 || isFrame(line)
}

// before returns the line that ends before offset at, and where it begins.
func (s *scanner) before(at int) ([]entry, int) {
	end := at - 1
	if end > 0 && s.buf[end] == '\n' && s.buf[end-1] == '\r' {
		end--
	}
	start := s.lineStart(end, max(0, end-lookahead))
	return expand(s.buf[start:end], start, at, false), start
}

func isHeader(text []byte) bool {
	return bytes.Contains(text, []byte("Traceback (most recent call last)"))
}

// isErrorLine reports whether text ends another traceback: "ValueError: …" at the
// start of a line.
func isErrorLine(text []byte) bool {
	n := 0
	for n < len(text) && (isWord(text[n]) || text[n] == '.') {
		n++
	}
	return n > 5 && n < len(text) && text[n] == ':' && (bytes.HasSuffix(text[:n], []byte("Error")) || bytes.HasSuffix(text[:n], []byte("Exception")))
}

// contiguous returns how many lines, last first, can belong to a traceback whose
// header is missing.
func contiguous(back [][]byte) int {
	n, frames := 0, 0
	for _, l := range back {
		switch {
		case isFrame(l):
			frames++
		case len(l) > 0 && l[0] != ' ' && !bytes.HasPrefix(l, []byte("--")):
			if frames == 0 {
				return 0
			}
			return n
		}
		n++
	}
	if frames == 0 {
		return 0
	}
	return n
}

func isFrame(line []byte) bool {
	_, ok := parseFrame(string(line))
	return ok
}

// parseFrames reads frames in the order of the text. A line that a terminal wrapped
// is joined with the next.
func parseFrames(lines [][]byte) []Frame {
	var frames []Frame
	held := ""
	for _, l := range lines {
		text := held + strings.TrimRight(string(l), " \t│┃|\u00a0")
		held = ""
		if f, ok := parseFrame(text); ok {
			frames = append(frames, f)
			continue
		}
		if isCutFrame(text) {
			held = text
			continue
		}
		if n := arrow(text); n > 0 && len(frames) > 0 && frames[len(frames)-1].Line == 0 {
			frames[len(frames)-1].Line = n
		}
	}
	return frames
}

// isCutFrame reports whether text begins a frame and breaks off before its end.
func isCutFrame(text string) bool {
	if !strings.HasPrefix(strings.TrimLeft(text, " "), `File "`) {
		return false
	}
	return !strings.Contains(text, `", line `) && len(text) < 1000 || strings.HasSuffix(text, ", in") || strings.HasSuffix(text, ", line")
}

// parseFrame reads a line of a traceback by CPython, IPython, rich or pytest.
func parseFrame(line string) (Frame, bool) {
	t := string(trimPanel([]byte(line)))
	for _, read := range []func(string) (Frame, bool){pythonFrame, ipythonFrame, cellFrame, positionFrame, oldIPythonFrame} {
		if f, ok := read(t); ok && len(f.File) < 1000 && len(f.Func) < 300 {
			return f, true
		}
	}
	return Frame{}, false
}

// pythonFrame reads `File "x.py", line 12, in f`.
func pythonFrame(t string) (Frame, bool) {
	rest, ok := strings.CutPrefix(t, `File "`)
	if !ok {
		return Frame{}, false
	}
	file, rest, ok := strings.Cut(rest, `", line `)
	if !ok {
		return Frame{}, false
	}
	n, rest := leadingInt(rest)
	name, ok := strings.CutPrefix(rest, ", in ")
	if !ok || name == "" {
		return Frame{}, false
	}
	return Frame{File: file, Line: n, Func: strings.TrimSpace(name)}, n > 0
}

// ipythonFrame reads "File x.py:12, in f(args)", of IPython 8.
func ipythonFrame(t string) (Frame, bool) {
	rest, ok := strings.CutPrefix(t, "File ")
	if !ok {
		return Frame{}, false
	}
	pos, name, _ := strings.Cut(rest, ", in ")
	file, n := splitPosition(pos)
	return Frame{File: file, Line: n, Func: funcName(name)}, n > 0
}

// cellFrame reads "Cell In[9], line 3" and "Input In [9], in f(x)".
func cellFrame(t string) (Frame, bool) {
	if !strings.HasPrefix(t, "Cell In") && !strings.HasPrefix(t, "Input In") {
		return Frame{}, false
	}
	cell, rest, ok := strings.Cut(t, "]")
	if !ok {
		return Frame{}, false
	}
	f := Frame{File: cell + "]"}
	if _, after, ok := strings.Cut(rest, "line "); ok {
		f.Line, _ = leadingInt(after)
	}
	if _, after, ok := strings.Cut(rest, "in "); ok && !strings.HasPrefix(after, "<cell line") {
		f.Func = funcName(after)
	}
	return f, true
}

// positionFrame reads "/x.py:12 in f" of rich and "x.py:12: in f" of pytest.
func positionFrame(t string) (Frame, bool) {
	pos, name, ok := strings.Cut(t, " in ")
	if !ok {
		return Frame{}, false
	}
	file, n := splitPosition(strings.TrimSuffix(pos, ":"))
	return Frame{File: file, Line: n, Func: funcName(name)}, n > 0 && strings.HasSuffix(file, ".py") && !strings.Contains(file, " ")
}

// oldIPythonFrame reads "/x.py in f(args)", of IPython 7; the line number follows
// in the source below, after an arrow.
func oldIPythonFrame(t string) (Frame, bool) {
	file, name, ok := strings.Cut(t, " in ")
	if !ok || strings.Contains(file, " ") || !strings.HasSuffix(file, ".py") && !strings.HasPrefix(file, "<ipython-input-") {
		return Frame{}, false
	}
	return Frame{File: file, Func: funcName(name)}, true
}

func funcName(s string) string {
	s, _, _ = strings.Cut(s, "(")
	return strings.TrimSpace(s)
}

// splitPosition splits "x.py:12"; 0 if there is no line number.
func splitPosition(s string) (string, int) {
	i := strings.LastIndexByte(s, ':')
	if i <= 0 || !allDigits(s[i+1:]) {
		return s, 0
	}
	n, _ := leadingInt(s[i+1:])
	return s[:i], n
}

func leadingInt(s string) (int, string) {
	n := 0
	for n < len(s) && n < 9 && isDigit(s[n]) {
		n++
	}
	v, _ := strconv.Atoi(s[:n])
	return v, s[n:]
}

// arrow reads the line number of IPython's "---> 12 code"; 0 for other lines.
func arrow(text string) int {
	t := strings.TrimLeft(text, " ")
	rest := strings.TrimLeft(t, "-")
	if len(t)-len(rest) < 1 || !strings.HasPrefix(rest, "> ") {
		return 0
	}
	n, _ := leadingInt(strings.TrimLeft(rest[2:], " "))
	return n
}

// userFrame returns the index of the innermost frame outside of libraries, or -1.
func userFrame(frames []Frame) int {
	for i, f := range frames {
		if !isLibrary(f.File) {
			return i
		}
	}
	return -1
}

// isLibrary reports whether a source file belongs to an installed package, to
// Python itself or to generated code.
func isLibrary(file string) bool {
	f := strings.ReplaceAll(file, `\`, "/")
	for _, s := range []string{"/site-packages/", "/dist-packages/", "/lib/python3", "/Lib/", "/torchinductor_", "/pytorch/torch/", "importlib"} {
		if strings.Contains(f, s) {
			return true
		}
	}
	if strings.HasPrefix(f, "site-packages/") || strings.HasPrefix(f, "torch/") {
		return true
	}
	return strings.HasPrefix(f, "<") && !strings.HasPrefix(f, "<ipython-input") && f != "<stdin>" && f != "<string>"
}
