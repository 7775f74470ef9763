package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/child"
	"github.com/ullage-dev/ullage/internal/fit"
	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/timeline"
)

const fitLong = `Fit runs a program, unmodified, on a machine without a GPU, and predicts the
peak of its GPU memory: what it will reserve, a limit under which it is safe,
whose memory it is, and the cards that hold it.

The program sees a CUDA device that is not there. Its CUDA tensors have no
contents, so it is fast and small, and is stopped after a few optimizer steps;
models of any size need little main memory. Python with PyTorch 2.10 or newer
does, a build without CUDA too. What depends on values that only a GPU could
compute is given a stand-in, and listed.

What the program prints goes to standard error.

  ullage fit -- python train.py --batch 64
  ullage fit --ranks 8 -- python train.py
  ullage fit -- torchrun --nproc-per-node 8 train.py
  ullage fit --gpu a100-40 --budget process=38GiB -- python train.py
  ullage fit --gpu l4 --sweep batch=8..512 -- python train.py --batch 8
  ullage fit --gpu l4 --remedies all -- python train.py --batch 64
  ullage fit --out job.trace -- python train.py
  ullage fit --trace job.trace --gpu l4

With --calibrate it measures the GPU of this machine instead, in less than a
minute, and writes a file that --gpu takes:

  ullage fit --calibrate --out mine.json -- .venv/bin/python
  ullage fit --gpu mine.json -- python train.py`

// fitFlags are the command's flags as they were given.
type fitFlags struct {
	gpu          string
	deviceMemory string
	steps        int
	ranks        int
	rank         string
	allocConf    string
	limit        string
	out          string
	trace        []string
	recording    string
	budget       string
	torch        string
	sweep        string
	remedies     string
	top          int
	json         bool
	markdown     bool
	calibrate    bool
	gpuIndex     int
}

const defaultSteps = 3 // the optimizer's state is there in the second; in the third nothing is new

func newFit(app *App) *cobra.Command {
	var f fitFlags
	cmd := &cobra.Command{
		Use:     "fit [flags] -- COMMAND...",
		Short:   "Predict a program's GPU memory, without a GPU",
		Long:    fitLong,
		GroupID: groupRun,
		Args:    cobra.ArbitraryArgs, // newFitter knows whether a command must be given
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.calibrate {
				return calibrate(app, &f, cmd, args)
			}
			if cmd.Flags().Changed("gpu-index") {
				return usageErrorf("--gpu-index says which GPU --calibrate measures; fit itself needs none")
			}
			r, err := newFitter(cmd.Context(), app, &f, args, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
		DisableFlagsInUseLine: true,
	}
	fl := cmd.Flags()
	fl.SetInterspersed(false) // what follows the command's name is its own
	fl.StringVar(&f.gpu, "gpu", "h200", "the card: a `name`, or a file with its numbers as JSON")
	fl.StringVar(&f.deviceMemory, "device-memory", "", "the `size` of the card's memory, in place of the card's own")
	fl.IntVar(&f.steps, "steps", defaultSteps, "`number` of optimizer steps, or of calls of a model without gradients, after which the program is stopped")
	fl.StringVar(&f.allocConf, "alloc-conf", "", "`settings` of PyTorch's allocator, in place of the program's own")
	fl.StringVar(&f.limit, "limit", "", "the `size` that PyTorch may reserve")
	fl.StringVar(&f.out, "out", "", "keep the trace, or what --calibrate measured, in this `file`; the trace of several ranks with -rankN before the extension")
	fl.IntVar(&f.ranks, "ranks", 0, "the `number` of ranks of a job of torch.distributed, each with a GPU; without it, as the program's launcher says")
	fl.StringVar(&f.rank, "rank", "", "the `ranks` to trace: all, or numbers as in 0,7 or 0-3; without it, the first and the last")
	fl.StringArrayVar(&f.trace, "trace", nil, "predict from a trace that --out kept, in a `file`; run nothing; again for each further rank")
	fl.StringVar(&f.recording, "recording", "", "write the prediction as a recording to this `file`, for explain, tune and view; packed where its name ends in .gz")
	fl.StringVar(&f.budget, "budget", "", "exit with 3 above these `peaks`: process=SIZE, reserved=SIZE, safe=SIZE, allocated=SIZE, by commas")
	fl.StringVar(&f.torch, "torch", "", "take PyTorch from this `folder`, an environment or its site-packages, where the program's Python has none or another is asked of")
	fl.StringVar(&f.sweep, "sweep", "", "find the largest number that is safe for an option of the program, or a variable env:NAME, as in `batch=8..512`")
	fl.StringVar(&f.remedies, "remedies", "", "say what these `remedies` save: all, or names by commas; most trace the program again")
	fl.IntVar(&f.top, "top", 5, "`rows` of each list; -1 is all")
	fl.BoolVar(&f.calibrate, "calibrate", false, "measure the GPU of this machine for --gpu; after -- comes the Python that has PyTorch (default: python3)")
	fl.IntVar(&f.gpuIndex, "gpu-index", 0, "`number` of the GPU that --calibrate measures, from 0, among those that CUDA sees")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	fl.BoolVar(&f.markdown, "markdown", false, "print Markdown")
	allowEmpty(cmd, "alloc-conf")
	exclusive(cmd, "json", "markdown")
	exclusive(cmd, "trace", "out", "sweep")
	exclusive(cmd, "sweep", "remedies")
	return cmd
}

// fitter carries one run of the command.
type fitter struct {
	app      *App
	f        *fitFlags
	args     []string
	profile  *fit.Profile
	config   *allocator.Config // nil: the program's own
	limit    int64
	budgets  []budget
	rank     []int // that are traced; none: the first and the last
	sweep    *sweepFlag
	environ  []string // of the program
	remedies []remedyAsked
	tried    []string // remedies that the tracer tries
	silent   bool     // what the program prints is not shown: it was, before
	users    int      // processes of the program that put something on the GPU, other than as ranks of a job
}

func newFitter(ctx context.Context, app *App, f *fitFlags, args []string, given func(flag string) bool) (*fitter, error) {
	r := &fitter{app: app, f: f, args: args, environ: app.Environ()}
	switch {
	case len(f.trace) == 0 && len(args) == 0:
		return nil, withHint(usageErrorf("a command to run is missing"), "as in: ullage fit -- python train.py")
	case len(f.trace) > 0 && len(args) > 0:
		return nil, usageErrorf("--trace reads a trace and runs nothing, but a command was given: %s", args[0])
	case f.steps < 1 || f.steps > 1000:
		return nil, usageErrorf("--steps: %d is not a number from 1 to 1000", f.steps)
	case given("ranks") && f.ranks == 0:
		return nil, usageErrorf("--ranks: 0 is not a number from 1 to %d", maxFitRanks)
	}
	readCard := func() error { return r.readCard(ctx) }
	for _, step := range []func() error{r.checkArgs, readCard, r.parseSizes, r.parseBudgets, r.parseTorch, r.parseRanks, r.parseSweep, r.parseRemedies} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if given("alloc-conf") {
		return r, r.parseConf()
	}
	return r, nil
}

func (r *fitter) run(ctx context.Context) error {
	v, err := r.fitting(ctx)
	if err != nil {
		return err
	}
	for _, note := range r.otherReleases(v.Prediction.Job.Trace) {
		r.app.Warn("%s", note)
	}
	if err := r.writeRecording(v.Prediction); err != nil {
		return err
	}
	if r.f.json {
		err = printJSON(r.app.Stdout, report.NewFitJSON(v))
	} else {
		err = report.Fit(r.app.Stdout, r.app.OutLook(), v, r.f.markdown)
	}
	if err != nil {
		return err
	}
	for _, b := range v.Budgets {
		if !b.Kept {
			return findingErrorf("%s", b.Text())
		}
	}
	if v.Partial != "" && len(v.Budgets) > 0 {
		return withHint(fmt.Errorf("the prediction is in part only, which does not show that the program keeps within its budget: %s", v.Partial), "%s", toSeeAll(v.Prediction.Job.Trace))
	}
	return nil
}

// fitting predicts from the traces there are, or will be.
func (r *fitter) fitting(ctx context.Context) (*report.Fitting, error) {
	if r.sweep != nil {
		return r.runSweep(ctx)
	}
	traces, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	v, err := r.mostOf(traces)
	if err != nil {
		return nil, err
	}
	if err := r.explain(v); err != nil {
		return nil, err
	}
	return v, r.tryRemedies(ctx, v)
}

// read takes the traces from files, or of the program.
func (r *fitter) read(ctx context.Context) ([]*fit.Trace, error) {
	if len(r.f.trace) == 0 {
		return r.record(ctx)
	}
	var traces []*fit.Trace
	for _, name := range r.f.trace {
		t, err := r.readFile(ctx, name)
		if err != nil {
			return nil, inputError(err)
		}
		traces = append(traces, t)
	}
	return traces, nil
}

func (r *fitter) readFile(ctx context.Context, name string) (*fit.Trace, error) {
	file, _, err := r.app.open(ctx, name, r.app.Stdin)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readTraceFrom(&cancelReader{ctx, file}, name)
}

// predict compiles the trace and simulates it.
func (r *fitter) predict(t *fit.Trace) (*report.Fitting, error) {
	job, err := fit.Compile(t, r.profile, t.MainDevice())
	if errors.Is(err, fit.ErrNoCUDA) {
		return nil, r.noCUDA(err)
	}
	if err != nil {
		return nil, inputError(err)
	}
	p, err := fit.Predict(job, fit.Options{Config: r.config, LimitBytes: r.limit})
	if err != nil {
		return nil, inputError(err)
	}
	v := &report.Fitting{Command: strings.Join(t.Meta.Argv, " "), Prediction: p, Partial: inPart(t), Notes: slices.Concat(r.otherDevices(t), r.notesOf(t), unsteady(job), r.otherReleases(t))}
	if v.Partial != "" {
		v.Notes = append(v.Notes, toSeeAll(t))
	}
	return v, nil
}

// noCUDA is the error of a program that put nothing on the GPU; of its trace, where only
// that was given.
func (r *fitter) noCUDA(err error) error {
	if len(r.f.trace) == 0 {
		err = fit.ErrNoCUDA
	} else {
		err = inputError(err)
	}
	return withHint(err, noCUDAHint)
}

// explain adds to a prediction whose memory it is, the cards that hold it, and the budgets.
func (r *fitter) explain(v *report.Fitting) (err error) {
	if v.Cards, err = v.Prediction.Cards(); err != nil {
		return err
	}
	if v.X, err = r.whose(v.Prediction); err != nil {
		return err
	}
	r.check(v)
	return nil
}

// whose explains the predicted recording at its peak.
func (r *fitter) whose(p *fit.Prediction) (*analyze.Explanation, error) {
	rec, _ := p.Record()
	rec.Source.Name = "prediction"
	tl := timeline.Build(rec, rec.Devices[0])
	return analyze.Explain(tl, analyze.NewSites(rec), analyze.Options{By: analyze.ByLine, Top: r.f.top, CapacityBytes: p.Job.Profile.TotalBytes})
}

// check holds the prediction against the budgets.
func (r *fitter) check(v *report.Fitting) {
	p := v.Prediction
	for _, b := range r.budgets {
		peak := peakOf(p, b.name)
		v.Budgets = append(v.Budgets, report.BudgetJSON{File: "prediction", Device: p.Job.Device, Name: b.name, LimitBytes: b.bytes, PeakBytes: peak, Kept: peak <= b.bytes})
	}
}

// peakOf is what a budget of a name is held against.
func peakOf(p *fit.Prediction, name string) int64 {
	switch name {
	case "process":
		return p.ProcessBytes
	case "reserved":
		return p.Best.PeakReserved
	case "safe":
		return p.Safe
	}
	return p.Best.PeakAllocated
}

// record runs the program and reads the traces of the processes that used the GPU.
func (r *fitter) record(ctx context.Context) ([]*fit.Trace, error) {
	if option := child.ShutsOut(r.args); option != "" {
		return nil, withHint(fmt.Errorf("python ignores what ullage adds to its path under %s: this program cannot be traced", option), "run it without %s", option)
	}
	session, err := child.OpenTrace(child.Bases(r.app.LookupEnv), r.traceConfig())
	if err != nil {
		return nil, withHint(err, "set HOME, XDG_CACHE_HOME or TMPDIR to a folder that only you can write to")
	}
	defer session.Close()
	code, err := r.runRanks(ctx, session)
	if err != nil {
		return nil, err
	}
	return r.traced(ctx, session, code)
}

func (r *fitter) traceConfig() child.TraceConfig {
	p := r.profile
	return child.TraceConfig{
		Steps: r.f.steps, Calls: r.f.steps, Devices: localRanks(r.f.ranks), Driver: 13000, Ranks: r.f.ranks, Rank: r.rank, Remedies: r.tried,
		Device: child.TraceDevice{Name: p.Device, TotalBytes: p.TotalBytes, Major: p.Major, Minor: p.Minor, Multiprocessors: p.Multiprocessors, MaxThreads: p.MaxThreadsPerMultiprocessor()},
	}
}

// start runs the program to its end, as a rank or as it is with one below 0. Its standard
// output is not ours: results go there.
func (r *fitter) start(ctx context.Context, session *child.TraceSession, rank int) (int, error) {
	environ := rankEnviron(session.Environ(r.environ), rank, r.f.ranks)
	if r.f.allocConf != "" {
		environ = child.WithEnv(environ, "PYTORCH_ALLOC_CONF="+r.f.allocConf, "PYTORCH_CUDA_ALLOC_CONF="+r.f.allocConf)
	}
	output := r.app.Stderr
	if r.silent {
		output = io.Discard
	}
	signals := make(chan os.Signal, 16)
	defer r.app.Signals(signals, child.Signals()...)()
	ended := make(chan os.Signal, 1)
	defer r.app.Signals(ended, os.Interrupt, syscall.SIGTERM)()
	code, err := child.Run(child.Command{Args: r.args, Environ: environ, Stdin: r.app.stdin, Stdout: output, Stderr: output}, signals)
	if start := new(child.StartError); errors.As(err, &start) {
		return 0, r.startFailed(start, err)
	}
	if err == nil && len(ended) > 0 {
		return code, context.Canceled // what asked the program to end asked for this too
	}
	return code, errors.Join(err, ctx.Err())
}
