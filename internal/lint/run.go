package lint

import (
	"context"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// inFlight bounds the bytes of files that are checked at a time, and with them the memory: a
// tree takes some fifteen times its source. A larger file is checked alone.
const inFlight = 8 << 20

// Run checks what the options name. The error is about the options, the configuration or the
// context; a file that cannot be read is a notice.
func Run(ctx context.Context, opt Options) (*Result, error) {
	w := newWalker(&opt)
	if err := w.walk(ctx); err != nil {
		return nil, err
	}
	if opt.Witness != nil {
		paths := make([]string, len(w.files))
		for i, f := range w.files {
			paths[i] = f.abs
		}
		opt.Witness.Files(paths)
	}
	l := &linter{opt: &opt}
	done, err := l.all(ctx, w.files)
	if err != nil {
		return nil, err
	}
	r := &Result{files: w.files, done: done, noticed: w.notices}
	if !opt.NoBaseline {
		r.noticed = append(r.noticed, r.gone(opt.Dir)...)
	}
	r.total()
	return r, nil
}

// total adds up what the files came to.
func (r *Result) total() {
	r.Findings, r.Files, r.Bytes, r.Hidden = nil, 0, 0, Hidden{}
	r.Notices = slices.Clone(r.noticed)
	for _, d := range r.done {
		if !d.unread {
			r.Files++
		}
		r.Bytes += d.bytes
		r.Findings = append(r.Findings, d.findings...)
		r.Notices = append(r.Notices, d.notices...)
		r.Hidden.Level += d.hidden.Level
		r.Hidden.Comments += d.hidden.Comments
		r.Hidden.Baseline += d.hidden.Baseline
	}
}

// all does the files, several at a time, and returns what they came to, in their order.
func (l *linter) all(ctx context.Context, files []*file) ([]fileResult, error) {
	workers := l.opt.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	done := make([]fileResult, len(files))
	room := semaphore.NewWeighted(inFlight)
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, f := range files {
		takes := min(max(f.size, 1), inFlight)
		if room.Acquire(inner, takes) != nil {
			break // it ends below
		}
		group.Go(func() (err error) {
			defer room.Release(takes)
			done[i], err = l.do(inner, f)
			if l.opt.Progress != nil {
				l.opt.Progress(f.size)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return done, ctx.Err()
}
