package message

import (
	"bytes"
	"fmt"
	"io"
)

// Limits of the window. What lies further back than history is not part of a
// traceback that is found; what lies further ahead than lookahead is not part of
// a message. A line of interest that is longer is cut.
const (
	history   = 256 << 10
	lookahead = 64 << 10
	chunk     = 512 << 10
)

// window is the part of the text that is in memory. Offsets are into buf and hold
// until the next call of ensure.
type window struct {
	r       io.Reader
	buf     []byte
	pos     int   // everything before it was dealt with
	lines   int   // line breaks before counted
	counted int   // offset up to which lines counts
	base    int64 // bytes of the text before buf
	eof     bool
	err     error
}

func newWindow(r io.Reader) *window {
	return &window{r: r, buf: make([]byte, 0, history+chunk+2*lookahead)}
}

// ensure makes more than lookahead bytes available after pos, or all that is left,
// and keeps history before it.
func (w *window) ensure() {
	if w.eof || len(w.buf)-w.pos >= 2*lookahead {
		return
	}
	if n := w.pos - history; n > 0 {
		w.count(n)
		w.buf = w.buf[:copy(w.buf, w.buf[n:])]
		w.base += int64(n)
		w.pos -= n
		w.counted -= n
	}
	for idle := 0; len(w.buf) < cap(w.buf) && !w.eof; {
		n, err := w.r.Read(w.buf[len(w.buf):cap(w.buf)])
		w.buf = w.buf[:len(w.buf)+n]
		if idle++; n > 0 {
			idle = 0
		} else if idle > 100 && err == nil {
			err = io.ErrNoProgress
		}
		if err != nil {
			w.eof = true
			if err != io.EOF {
				w.err = fmt.Errorf("reading at byte %d: %w", w.base+int64(len(w.buf)), err)
			}
		}
	}
}

// limit returns the offset up to which every byte has its lookahead in memory.
func (w *window) limit() int {
	if w.eof {
		return len(w.buf)
	}
	return len(w.buf) - lookahead
}

// count brings lines up to offset at.
func (w *window) count(at int) {
	if at > w.counted {
		w.lines += bytes.Count(w.buf[w.counted:at], []byte{'\n'})
		w.counted = at
	}
}

// lineNumber returns the number of the line in which offset at lies, from 1.
func (w *window) lineNumber(at int) int {
	if at >= w.counted {
		w.count(at)
		return w.lines + 1
	}
	return w.lines + 1 - bytes.Count(w.buf[at:w.counted], []byte{'\n'})
}

// isBreak reports whether c ends a line: progress bars end theirs with a carriage
// return alone.
func isBreak(c byte) bool { return c == '\n' || c == '\r' }

// lineStart returns where the line of offset at begins, not before low.
func (w *window) lineStart(at, low int) int {
	for at > low && !isBreak(w.buf[at-1]) {
		at--
	}
	return at
}

// lineEnd returns where the line of offset at ends, not after high.
func (w *window) lineEnd(at, high int) int {
	for at < high && !isBreak(w.buf[at]) {
		at++
	}
	return at
}

// after returns the start of the line after the one that ends at end.
func (w *window) after(end int) int {
	if end+1 < len(w.buf) && w.buf[end] == '\r' && w.buf[end+1] == '\n' {
		return end + 2
	}
	return min(end+1, len(w.buf))
}
