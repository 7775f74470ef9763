package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/fit"
	"github.com/ullage-dev/ullage/internal/report"
)

// sweepFlag is the argument of the program that --sweep varies.
type sweepFlag struct {
	name      string
	low, high int
	at        int    // index of the argument that has the number
	prefix    string // of that argument, before the number
}

// parseSweep reads --sweep NAME=LOW..HIGH and finds the program's argument: --NAME N,
// --NAME=N, or NAME=N as Hydra has it.
func (r *fitter) parseSweep() error {
	if r.f.sweep == "" {
		return nil
	}
	name, span, ok := strings.Cut(r.f.sweep, "=")
	first, last, isRange := strings.Cut(span, "..")
	low, err1 := strconv.Atoi(first)
	high, err2 := strconv.Atoi(last)
	if !ok || name == "" || !isRange || err1 != nil || err2 != nil || low < 1 || high < low {
		return usageErrorf("--sweep: %q is not NAME=LOW..HIGH, as in batch=8..512", r.f.sweep)
	}
	s := &sweepFlag{name: strings.TrimLeft(name, "-"), low: low, high: high, at: -1}
	for i, arg := range r.args {
		s.match(r.args, i, arg)
	}
	if s.at < 0 {
		return withHint(usageErrorf("--sweep: the command has no argument --%s with a number", s.name), "give it one, as in --%s %d: it is varied from there", s.name, low)
	}
	r.sweep = s
	return nil
}

// match notes the argument if it is the one that is varied. Of several the last counts, as
// it does for programs.
func (s *sweepFlag) match(args []string, i int, arg string) {
	dashed := strings.HasPrefix(arg, "-")
	name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if strings.ReplaceAll(name, "_", "-") != strings.ReplaceAll(s.name, "_", "-") {
		return
	}
	switch {
	case joined && isNumber(value):
		s.at, s.prefix = i, strings.TrimSuffix(arg, value)
	case dashed && !joined && i+1 < len(args) && isNumber(args[i+1]):
		s.at, s.prefix = i+1, ""
	}
}

func isNumber(s string) bool { _, err := strconv.Atoi(s); return err == nil }

// with returns the command with another number.
func (s *sweepFlag) with(args []string, value int) []string {
	out := slices.Clone(args)
	out[s.at] = s.prefix + strconv.Itoa(value)
	return out
}

// runSweep traces the program with several values, and returns the prediction for the
// largest that is safe; for the lowest where none is.
func (r *fitter) runSweep(ctx context.Context) (*report.Fitting, error) {
	s := fit.Sweep{Low: r.sweep.low, High: r.sweep.high}
	args, found := r.args, map[int]*report.Fitting{}
	for value, more := s.Next(); more; value, more = s.Next() {
		r.args = r.sweep.with(args, value)
		traces, err := r.record(ctx)
		if err != nil {
			return nil, fmt.Errorf("with %s=%d: %w", r.sweep.name, value, err)
		}
		v, err := r.predictRanks(traces)
		if err != nil {
			return nil, err
		}
		found[value] = v
		s.Tried = append(s.Tried, fit.SweepPoint{Value: value, NeedBytes: v.Prediction.Safe, RoomBytes: v.Prediction.RoomBytes()})
	}
	best, ok := s.Best()
	if !ok {
		best = s.Low
	}
	v := found[best]
	v.Sweep = &report.SweptFlag{Name: r.sweep.name, Sweep: s}
	return v, nil
}
