package snapshot

import (
	"io"
	"sync"
)

const (
	aheadBuffers = 4
	aheadBytes   = 256 << 10 // large enough that handing a buffer over costs nothing
)

// readAhead unpacks in a goroutine of its own, a few buffers ahead of the reader:
// unpacking and parsing then take a core each.
type readAhead struct {
	full chan filled
	free chan []byte
	stop chan struct{}
	done chan struct{}
	once sync.Once

	cur []byte // unread part of buf
	buf []byte
	err error // met after cur
}

type filled struct {
	data []byte
	err  error
}

// startReadAhead begins to read r. cleanup runs when the goroutine ends.
func startReadAhead(r io.Reader, cleanup func()) *readAhead {
	a := &readAhead{
		full: make(chan filled, aheadBuffers),
		free: make(chan []byte, aheadBuffers),
		stop: make(chan struct{}),
		done: make(chan struct{}),
	}
	for range aheadBuffers {
		a.free <- make([]byte, aheadBytes)
	}
	go a.fill(r, cleanup)
	return a
}

// fill never blocks on full, which has room for every buffer there is.
func (a *readAhead) fill(r io.Reader, cleanup func()) {
	defer close(a.done)
	defer cleanup()
	for {
		select {
		case <-a.stop:
			return
		case buf := <-a.free:
			n, err := readFull(r, buf, a.stop)
			a.full <- filled{buf[:n], err}
			if err != nil {
				return
			}
		}
	}
}

// readFull is io.ReadFull that gives up between reads when stop is closed and
// keeps the reader's own error.
func readFull(r io.Reader, buf []byte, stop <-chan struct{}) (n int, err error) {
	for idle := 0; n < len(buf) && err == nil; {
		select {
		case <-stop:
			return n, io.ErrClosedPipe
		default:
		}
		var k int
		k, err = r.Read(buf[n:])
		n += k
		if idle++; k > 0 {
			idle = 0
		} else if idle > 100 && err == nil {
			err = io.ErrNoProgress
		}
	}
	return n, err
}

func (a *readAhead) Read(p []byte) (int, error) {
	for len(a.cur) == 0 {
		if a.err != nil {
			return 0, a.err
		}
		if a.buf != nil {
			a.free <- a.buf // never blocks: there are as many places as buffers
		}
		f := <-a.full
		a.buf, a.cur, a.err = f.data[:cap(f.data)], f.data, f.err
	}
	n := copy(p, a.cur)
	a.cur = a.cur[n:]
	return n, nil
}

// close ends the goroutine and waits for it. Reading afterwards is an error.
func (a *readAhead) close() {
	a.once.Do(func() { close(a.stop) })
	<-a.done
	a.cur, a.buf, a.err = nil, nil, io.ErrClosedPipe
}
