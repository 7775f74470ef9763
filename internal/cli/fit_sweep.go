package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/child"
	"github.com/ullage-dev/ullage/internal/fit"
	"github.com/ullage-dev/ullage/internal/report"
)

// sweepFlag is the option of the program that --sweep varies.
type sweepFlag struct {
	name      string
	low, high int
	option    child.Option
}

// parseSweep reads --sweep NAME=LOW..HIGH and finds the program's option.
func (r *fitter) parseSweep() error {
	if r.f.sweep == "" {
		return nil
	}
	at := strings.LastIndexByte(r.f.sweep, '=')
	first, last, isRange := strings.Cut(r.f.sweep[at+1:], "..")
	low, err1 := strconv.Atoi(first)
	high, err2 := strconv.Atoi(last)
	if at < 1 || !isRange || err1 != nil || err2 != nil || low < 1 || high < low {
		return usageErrorf("--sweep: %q is not NAME=LOW..HIGH with whole numbers from 1, the lower first, as in batch=8..512", r.f.sweep)
	}
	s := &sweepFlag{name: strings.TrimLeft(r.f.sweep[:at], "-"), low: low, high: high}
	var err error
	if s.option, err = child.FindOption(r.args, r.app.Environ(), s.name); err != nil {
		return usageErrorf("--sweep: %w", err)
	}
	r.sweep = s
	return nil
}

// with returns a fitter of the same program with another number.
func (r *fitter) with(o *child.Option, value int) *fitter {
	other := *r
	other.args, other.environ = o.With(r.args, r.environ, value)
	return &other
}

// sweeper looks for the largest value that is safe.
type sweeper struct {
	r      *fitter
	traces map[int][]*fit.Trace // by value
	found  map[int]*report.Fitting
	kept   map[int]fit.SweepPoint // estimates
}

// runSweep traces the program with a few values, and returns the prediction for the largest
// that is safe; for the lowest where none is.
func (r *fitter) runSweep(ctx context.Context) (*report.Fitting, error) {
	w := &sweeper{r, map[int][]*fit.Trace{}, map[int]*report.Fitting{}, map[int]fit.SweepPoint{}}
	s := fit.Sweep{Low: r.sweep.low, High: r.sweep.high, Estimate: w.estimate}
	for value, more := s.Next(); more; value, more = s.Next() {
		if err := w.trace(ctx, value); err != nil {
			return nil, fmt.Errorf("with %s=%d: %w", r.sweep.name, value, err)
		}
		s.Tried = append(s.Tried, r.point(value, w.found[value].Prediction))
		clear(w.kept) // from traces that were farther away
	}
	best, ok := s.Best()
	if !ok {
		best = s.Low
	}
	v := w.found[best]
	v.Sweep = &report.SweptFlag{Name: r.sweep.name, Sweep: s}
	return v, r.explain(v)
}

// trace runs the program with a value.
func (w *sweeper) trace(ctx context.Context, value int) (err error) {
	if w.traces[value], err = w.r.with(&w.r.sweep.option, value).record(ctx); err == nil {
		w.found[value], err = w.r.mostOf(w.traces[value])
	}
	return err
}

// estimate predicts a value from the traces of two others, rank by rank.
func (w *sweeper) estimate(below, above, value int) (fit.SweepPoint, bool) {
	if p, ok := w.kept[value]; ok {
		return p, true
	}
	a, b := w.traces[below], w.traces[above]
	if len(a) != len(b) {
		return fit.SweepPoint{}, false
	}
	mixed := make([]*fit.Trace, len(a))
	for i := range a {
		var err error
		if mixed[i], err = fit.Between(a[i], b[i], below, above, value); err != nil {
			return fit.SweepPoint{}, false
		}
	}
	v, err := w.r.mostOf(mixed)
	if err != nil {
		return fit.SweepPoint{}, false
	}
	w.kept[value] = w.r.point(value, v.Prediction)
	return w.kept[value], true
}

// point is what a value comes to. Budgets leave as much room as the tightest of them does.
func (r *fitter) point(value int, p *fit.Prediction) fit.SweepPoint {
	spare := p.RoomBytes() - p.Safe
	for _, b := range r.budgets {
		spare = min(spare, b.bytes-peakOf(p, b.name))
	}
	return fit.SweepPoint{Value: value, ReservedBytes: p.Best.PeakReserved, NeedBytes: p.Safe, RoomBytes: max(p.Safe+spare, 0)}
}
