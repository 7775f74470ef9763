package term

import (
	"io"
	"strings"
	"testing"
	"time"
)

// clock is a time that a test moves.
type clock struct{ t time.Time }

func (c *clock) now() time.Time        { return c.t }
func (c *clock) pass(d time.Duration)  { c.t = c.t.Add(d) }
func screen(b *strings.Builder) string { s := b.String(); b.Reset(); return s }
func newClock() *clock                 { return &clock{time.Unix(1_700_000_000, 0)} }
func watched(width int) Look           { return Look{Terminal: true, Unicode: true, Width: width} }

func TestProgress(t *testing.T) {
	var b strings.Builder
	c := newClock()
	p := NewProgress(&b, watched(80), c.now, "reading run.pickle", 100<<20)
	step := func(d time.Duration, n int64, want string) {
		t.Helper()
		c.pass(d)
		p.Add(n)
		if got := screen(&b); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	step(499*time.Millisecond, 10<<20, "") // what is quick needs no progress
	step(time.Millisecond, 0, "\rreading run.pickle  10.00 MiB of 100.00 MiB  10 %  20.00 MiB/s  5 s left")
	step(99*time.Millisecond, 1, "") // ten frames a second at most
	step(401*time.Millisecond, 40<<20-1, "\rreading run.pickle  50.00 MiB of 100.00 MiB  50 %  50.00 MiB/s  1 s left")
	step(time.Second, 50<<20, "\rreading run.pickle  100.00 MiB of 100.00 MiB  100 %  50.00 MiB/s        ")
	p.End()
	if got, want := screen(&b), "\r"+strings.Repeat(" ", 64)+"\r"; got != want {
		t.Errorf("End wrote %q, want %q", got, want)
	}
	p.End()
	if got := screen(&b); got != "" {
		t.Errorf("a second End wrote %q", got)
	}
}

// TestProgressUnknownTotal also cuts the label, not the figures, to the width.
func TestProgressUnknownTotal(t *testing.T) {
	var b strings.Builder
	c := newClock()
	p := NewProgress(&b, watched(44), c.now, "reading a file of a long name\x1b[2J", 0)
	r := p.Reader(strings.NewReader(strings.Repeat("x", 3<<20)))
	c.pass(time.Second)
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, 3<<20)); err != nil {
		t.Fatal(err)
	}
	if got, want := screen(&b), "\rreading a file of a …  3.00 MiB  3.00 MiB/s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestProgressUnwatched: in a pipe there is no progress, and nothing breaks.
func TestProgressUnwatched(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, Look{}, newClock().now, "reading", 1)
	p.Add(1)
	r := strings.NewReader("")
	if p.Reader(r) != io.Reader(r) {
		t.Error("the reader is wrapped for nothing")
	}
	p.End()
	if p != nil || b.Len() > 0 {
		t.Errorf("progress %v wrote %q", p, b.String())
	}
}
