package cli

import (
	"context"
	"io"
	"os"
)

// stdinBuffer is what one read of standard input takes at most: four times what a pipe
// holds on Linux.
const stdinBuffer = 256 << 10

// interruptible makes a read that waits for input, from a keyboard or from a slow program,
// end when ctx is cancelled. The system has no way to call off such a read, so it goes on
// in a goroutine until input comes or the process ends, which it does next. A regular
// file never waits, and stays what it is, so that readers can look at its size.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return r
		}
	}
	return &waitingReader{ctx: ctx, r: r, done: make(chan readResult, 1)}
}

type waitingReader struct {
	ctx  context.Context
	r    io.Reader
	done chan readResult
	buf  []byte // belongs to the goroutine while it reads
	rest []byte // what was read and not asked for yet
	err  error
}

type readResult struct {
	n   int
	err error
}

func (w *waitingReader) Read(p []byte) (int, error) {
	if len(w.rest) == 0 && w.err == nil && len(p) > 0 {
		w.fill()
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	if n == 0 {
		return 0, w.err
	}
	return n, nil
}

func (w *waitingReader) fill() {
	if w.buf == nil {
		w.buf = make([]byte, stdinBuffer)
	}
	if w.err = w.ctx.Err(); w.err != nil {
		return
	}
	go func() {
		n, err := w.r.Read(w.buf)
		w.done <- readResult{n, err}
	}()
	select {
	case got := <-w.done:
		w.rest, w.err = w.buf[:got.n], got.err
	case <-w.ctx.Done():
		w.err = w.ctx.Err() // for good: the goroutine may still write to buf
	}
}
