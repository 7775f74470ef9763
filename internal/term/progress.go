package term

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ullage-dev/ullage/internal/units"
)

const (
	progressDelay    = 500 * time.Millisecond // work that is done by then needs no progress
	progressInterval = 100 * time.Millisecond // 10 frames a second at most
)

// Progress shows on one line how far a long piece of work has come. It draws when it is
// told of progress, so it needs no goroutine and leaves nothing behind. A nil Progress is
// good for use and shows nothing. Its methods may be called from several goroutines.
type Progress struct {
	w     io.Writer
	look  Look
	now   func() time.Time
	label string
	what  string // what is counted; empty: bytes

	mu    sync.Mutex
	total int64 // bytes, or what; 0: unknown
	done  int64
	start time.Time
	drawn time.Time // zero: nothing is on the screen
	width int       // columns of what is on the screen
}

// NewProgress begins a piece of work of total bytes, 0 where that is unknown. It returns
// nil where no person is watching.
func NewProgress(w io.Writer, l Look, now func() time.Time, label string, total int64) *Progress {
	if !l.Terminal {
		return nil
	}
	return &Progress{w: w, look: l, now: now, label: Clean(label), total: total, start: now()}
}

// Counting makes p count something other than bytes, as in "calls".
func (p *Progress) Counting(what string) *Progress {
	if p != nil {
		p.what = what
	}
	return p
}

// Add tells that n more bytes, or whatever is counted, are done.
func (p *Progress) Add(n int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	now := p.now()
	if now.Sub(p.start) >= progressDelay && now.Sub(p.drawn) >= progressInterval {
		p.draw(now)
	}
}

// End takes the line off the screen.
func (p *Progress) End() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.width > 0 {
		p.show("")
		fmt.Fprint(p.w, "\r")
		p.width = 0
	}
}

// Reader returns r, counted.
func (p *Progress) Reader(r io.Reader) io.Reader {
	if p == nil {
		return r
	}
	return progressReader{r, p}
}

type progressReader struct {
	r io.Reader
	p *Progress
}

func (r progressReader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	r.p.Add(int64(n))
	return n, err
}

func (p *Progress) draw(now time.Time) {
	p.drawn = now
	text := "  " + p.figures(now.Sub(p.start))
	// One column stays free: a line that fills the last one wraps on some terminals.
	p.show(p.look.CutEnd(p.label, max(p.look.Width-1-Width(text), minColumn)) + text)
}

// figures says how much is done, how fast it goes and when it ends, as far as it is known.
func (p *Progress) figures(elapsed time.Duration) string {
	rate := float64(p.done) / elapsed.Seconds()
	text := p.amount(p.done)
	if p.total > 0 {
		text += fmt.Sprintf(" of %s  %d %%", p.amount(p.total), int64(100*min(1, float64(p.done)/float64(p.total))))
	}
	text += fmt.Sprintf("  %s/s", p.amount(int64(rate)))
	if left := p.total - p.done; left > 0 && rate >= 1 {
		text += fmt.Sprintf("  %d s left", int64(float64(left)/rate+0.5))
	}
	return text
}

func (p *Progress) amount(n int64) string {
	if p.what == "" {
		return units.FormatBytes(n)
	}
	return units.FormatCount(n) + " " + p.what
}

// show writes text over what is on the screen. Spaces clear the rest: that works on
// terminals without escape sequences too.
func (p *Progress) show(text string) {
	text = p.look.CutEnd(text, p.look.Width-1)
	width := Width(text)
	fmt.Fprintf(p.w, "\r%s%s", text, padding(text, p.width))
	p.width = width
}
