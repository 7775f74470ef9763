package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/child"
	"github.com/ullage-dev/ullage/internal/fit"
	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/tune"
	"github.com/ullage-dev/ullage/internal/units"
)

// remedyAsked is one remedy to try, or several at once ("autocast+checkpoint").
type remedyAsked struct {
	name   string // as it was asked for
	parts  []fit.Remedy
	always bool // it was named: why it does not apply is of interest
}

// Remedies that are no row of fit.Remedies: a number of the program's own halved, and the
// allocator's settings.
const (
	halfPrefix   = "half:"
	settingsName = "settings"
)

// usualOptions are the names by which programs take the numbers that remedies make
// smaller.
var usualOptions = map[string][]string{
	"batch":  {"batch", "batch-size", "per-device-train-batch-size", "train-batch-size", "micro-batch-size", "bs"},
	"tokens": {"tokens", "seq-len", "seq-length", "sequence-length", "max-seq-len", "max-seq-length", "max-length", "block-size", "context-length", "seqlen"},
	"image":  {"image", "image-size", "img-size", "imgsz", "img", "resolution", "crop-size", "train-crop-size", "input-size"},
}

// parseRemedies reads --remedies: "all", or names by commas; "+" joins what is tried
// together, and "=" gives a value.
func (r *fitter) parseRemedies() error {
	for _, name := range list(r.f.remedies) {
		if name == "all" {
			for _, each := range fit.Remedies() {
				r.remedies = append(r.remedies, remedyAsked{name: each.Name, parts: []fit.Remedy{each}})
			}
			for _, each := range []string{"autocast+checkpoint", halfPrefix + "batch", halfPrefix + "tokens", halfPrefix + "image", settingsName} {
				asked, err := parseRemedy(each)
				if err != nil {
					return err
				}
				asked.always = false
				r.remedies = append(r.remedies, asked)
			}
			continue
		}
		asked, err := parseRemedy(name)
		if err != nil {
			return err
		}
		r.remedies = append(r.remedies, asked)
	}
	return nil
}

func parseRemedy(text string) (remedyAsked, error) {
	asked := remedyAsked{name: text, always: true}
	for _, part := range strings.Split(text, "+") {
		name, value, given := strings.Cut(part, "=")
		remedy, err := knownRemedy(name)
		if err != nil {
			return asked, withHint(usageErrorf("--remedies: %w", err), "all, or some of %s", strings.Join(remedyNames(), ", "))
		}
		if given {
			n, err := strconv.Atoi(value)
			if remedy.Takes == "" || err != nil || n < 1 || n > 1<<16 {
				return asked, usageErrorf("--remedies: %s takes %s, not %q", name, cmpWord(remedy.Takes), value)
			}
			remedy.Value = n
		}
		asked.parts = append(asked.parts, remedy)
	}
	if len(asked.parts) > 1 && slices.ContainsFunc(asked.parts, func(p fit.Remedy) bool { return !p.Traced }) {
		return asked, usageErrorf("--remedies: in %q not all are tried on the program: only these can be joined", text)
	}
	return asked, nil
}

func cmpWord(takes string) string {
	if takes == "" {
		return "no value"
	}
	return "a number of " + takes
}

func knownRemedy(name string) (fit.Remedy, error) {
	if option, isHalf := strings.CutPrefix(name, halfPrefix); isHalf && option != "" {
		return fit.Remedy{Name: name, Traced: true, Option: option, Takes: "parts", Value: 2, Do: "give the program half of its " + option, Cost: "other input"}, nil
	}
	if name == settingsName {
		return fit.Remedy{Name: name, Do: "set the allocator"}, nil
	}
	return fit.FindRemedy(name)
}

func remedyNames() (names []string) {
	for _, r := range fit.Remedies() {
		names = append(names, r.Name)
	}
	return append(names, halfPrefix+"OPTION", settingsName)
}

// tryRemedies adds to a prediction what remedies save, the one that saves most first.
func (r *fitter) tryRemedies(ctx context.Context, v *report.Fitting) error {
	bar := r.app.Progress("trying remedies", int64(len(r.remedies)))
	defer bar.End()
	for _, asked := range r.remedies {
		row := report.FitRemedy{Name: asked.name, Do: asked.parts[0].Do, Cost: asked.parts[0].Cost}
		for _, more := range asked.parts[1:] {
			row.Do, row.Cost = row.Do+"; "+more.Do, row.Cost+"; "+more.Cost
		}
		if err := r.tryRemedy(ctx, v.Prediction, &asked, &row); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			row.WhyNot = err.Error()
		}
		v.Remedies = append(v.Remedies, row)
		bar.Add(1)
	}
	slices.SortStableFunc(v.Remedies, func(a, b report.FitRemedy) int { return int((b.SavedBytes(v) - a.SavedBytes(v)) >> 10) })
	return nil
}

// tryRemedy fills in what a remedy comes to. An error says why it does not apply.
func (r *fitter) tryRemedy(ctx context.Context, was *fit.Prediction, asked *remedyAsked, row *report.FitRemedy) error {
	first := &asked.parts[0]
	switch {
	case first.Name == settingsName:
		return r.trySettings(was, row)
	case !first.Traced:
		row.Method = report.ByFormula
		change, err := first.Formula(was, first.Value)
		if err != nil {
			return err
		}
		row.Did = change.Text
		row.Prediction, err = change.Predict(was, r.options())
		return err
	case len(r.f.trace) > 0:
		return errors.New("the program has to run for it: a trace is not enough")
	}
	return r.traceRemedy(ctx, was, asked, row)
}

// traceRemedy runs the program with a remedy.
func (r *fitter) traceRemedy(ctx context.Context, was *fit.Prediction, asked *remedyAsked, row *report.FitRemedy) error {
	row.Method = report.ByTrace
	with := r
	var tried []string
	for _, part := range asked.parts {
		if part.Option != "" {
			smaller, did, err := with.divide(part.Option, part.Value)
			if err != nil {
				return err
			}
			with, row.Did = smaller, did
		}
		if !strings.HasPrefix(part.Name, halfPrefix) {
			tried = append(tried, spec(&part, was.Job.Profile))
		}
	}
	try := *with
	try.tried, try.silent = tried, true
	flags := *r.f
	flags.out = ""
	try.f = &flags
	traces, err := try.record(ctx)
	if err != nil {
		return fmt.Errorf("with it, %w", err)
	}
	v, err := try.mostOf(traces)
	if err != nil {
		return err
	}
	for _, a := range v.Prediction.Job.Trace.Remedies {
		if a.Places == 0 {
			return errors.New(a.Text)
		}
		row.Did = joined(row.Did, a.Text)
	}
	if after, before := stepsOf(v.Prediction), stepsOf(was); after < min(before, 2) {
		return fmt.Errorf("with it, the program ends after %s of the optimizer: give it more batches", units.FormatPlural(after, "step", "steps"))
	}
	row.Prediction = v.Prediction
	return nil
}

// stepsOf is how many steps of the optimizer were traced. In the first the state is not
// there yet where most is allocated.
func stepsOf(p *fit.Prediction) int {
	if e := p.Job.Trace.End; e != nil {
		return e.Steps
	}
	return 0
}

// spec is a remedy as the tracer takes it.
func spec(part *fit.Remedy, card *fit.Profile) string {
	switch {
	case part.Name == "autocast" && card.Major < 8: // no bfloat16 in the tensor cores
		return "autocast=float16"
	case part.Takes != "":
		return part.Name + "=" + strconv.Itoa(part.Value)
	}
	return part.Name
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// divide returns a fitter of the program with a part of one of its numbers.
func (r *fitter) divide(name string, by int) (*fitter, string, error) {
	names := usualOptions[name]
	if names == nil {
		names = []string{name}
	}
	var o child.Option
	var err error
	for _, n := range names {
		if o, err = child.FindOption(r.args, r.environ, n); err == nil {
			break
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("the command has no option for the %s: it would be divided", name)
	}
	if o.Value < by {
		return nil, "", fmt.Errorf("%s is %d already", o.Name, o.Value)
	}
	return r.with(&o, o.Value/by), fmt.Sprintf("%s %d in place of %d", o.Name, o.Value/by, o.Value), nil
}

// options are those with which everything is predicted.
func (r *fitter) options() fit.Options { return fit.Options{Config: r.config, LimitBytes: r.limit} }

// trySettings searches for settings of the allocator, as tune does, and predicts with them.
func (r *fitter) trySettings(was *fit.Prediction, row *report.FitRemedy) error {
	row.Method = report.BySimulation
	rec, _ := was.Record()
	rec.Source.Name = "prediction"
	program, err := tune.Compile(timeline.Build(rec, rec.Devices[0]), -1)
	if err != nil {
		return err
	}
	tuner := tune.New(was.Job.Version, []*tune.Program{program}, tune.Room{}, tune.Options{})
	advice := tuner.Advise(tuner.Search())
	if advice.Verdict != tune.Change {
		return errors.New("no settings were found that need less")
	}
	conf := advice.Best.Conf
	s, err := allocator.ParseConfig(was.Job.Version, conf)
	if err != nil {
		return err
	}
	config := s.ForDevice(was.Job.Profile.TotalBytes)
	row.Do, row.Did, row.Cost = tune.Export(was.Job.Version, conf), fmt.Sprintf("it lives under a limit of %s", units.FormatBytes(advice.Best.SmallestLimit())), strings.Join(advice.Risks, "; ")
	row.Prediction, err = fit.Predict(was.Job, fit.Options{Config: &config, LimitBytes: r.limit})
	return err
}
