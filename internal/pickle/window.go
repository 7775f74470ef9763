package pickle

import (
	"errors"
	"io"
	"unicode/utf8"
)

const (
	// windowBytes is read at a time. It stays in the second-level cache, and calls of
	// read(2) of this size cost less than page faults on a mapped file.
	windowBytes = 256 << 10

	// firstBytes is read at first: most things that are looked at are small, or no recordings.
	firstBytes = 16 << 10

	// slack bytes beyond the current opcode are always in the window while the
	// input lasts: the opcode with its fixed argument, and a short look ahead.
	slack = 32
)

// window is the part of the input that is in memory.
type window struct {
	r    io.Reader
	buf  []byte // bytes [0:end) are input, slack zero bytes follow
	pos  int
	end  int
	lim  int   // end - slack: the loop asks for more when pos is beyond it
	base int64 // offset of buf[0] in the input
	err  error // why there is no more

	progress func(offset int64)
}

func newWindow(r io.Reader, progress func(int64)) window {
	return window{r: r, buf: make([]byte, firstBytes+slack), lim: -slack, progress: progress}
}

// offset returns where in the input pos is.
func (w *window) offset() int64 { return w.base + int64(w.pos) }

// more moves what is left to the front and reads until at least n bytes are there
// or the input ends. n must be at most windowBytes.
func (w *window) more(n int) {
	if w.err != nil || w.end-w.pos >= n {
		return
	}
	w.base += int64(w.pos)
	rest := w.buf[w.pos:w.end]
	if len(w.buf) < windowBytes && (w.base > 0 || n > firstBytes) {
		w.buf = make([]byte, windowBytes+slack)
	}
	w.end = copy(w.buf, rest)
	w.pos = 0
	for idle := 0; w.end < n && w.err == nil; {
		k, err := w.r.Read(w.buf[w.end : len(w.buf)-slack])
		w.end += max(k, 0)
		w.err = err
		if idle++; k > 0 {
			idle = 0
		} else if idle > 100 && err == nil {
			w.err = io.ErrNoProgress
		}
	}
	clear(w.buf[w.end : w.end+slack])
	w.lim = w.end - slack
	if w.progress != nil {
		w.progress(w.base + int64(w.end))
	}
}

// take returns the next n bytes and moves past them. They are valid until the next
// call. Strings larger than the window are collected as they arrive, so a length
// that the input does not keep costs no memory.
func (w *window) take(n int64) ([]byte, bool) {
	if n <= int64(w.end-w.pos) {
		b := w.buf[w.pos : w.pos+int(n)]
		w.pos += int(n)
		return b, true
	}
	if n <= windowBytes {
		w.more(int(n))
		if int64(w.end-w.pos) < n {
			return nil, false
		}
		return w.take(n)
	}
	var all []byte
	for int64(len(all)) < n {
		w.more(1)
		k := min(int64(w.end-w.pos), n-int64(len(all)))
		if k == 0 {
			return nil, false
		}
		all = append(all, w.buf[w.pos:w.pos+int(k)]...)
		w.pos += int(k)
	}
	return all, true
}

var errLongLine = errors.New("line too long")

// line returns the bytes up to the next line end, without it, and moves past it.
func (w *window) line(limit int) ([]byte, error) {
	limit = min(limit, windowBytes-1)
	for n := 0; ; n++ {
		if n >= w.end-w.pos {
			w.more(n + 1)
			if n >= w.end-w.pos {
				return nil, io.ErrUnexpectedEOF
			}
		}
		if w.buf[w.pos+n] == '\n' {
			b := w.buf[w.pos : w.pos+n]
			w.pos += n + 1
			return trimCR(b), nil
		}
		if n >= limit {
			return nil, errLongLine
		}
	}
}

func trimCR(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		return b[:n-1]
	}
	return b
}

// appendRune is utf8.AppendRune that keeps lone surrogates in the three bytes that
// Python's binary opcodes give them.
func appendRune(b []byte, r rune) []byte {
	if r >= 0xd800 && r <= 0xdfff {
		return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(b, r)
}
