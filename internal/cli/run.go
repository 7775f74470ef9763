package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/child"
	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/units"
)

const runLong = `Run starts a program and watches the GPU memory of every Python process in it
that uses CUDA through PyTorch: of workers, of the ranks that torchrun starts,
of what they start in turn. The program needs no change and no package. When
memory runs out, a recording is written that goes back to before it did, and
once the program has ended it is explained, on standard error.

Watching keeps the newest events of the allocator in main memory, from the
program's first use of CUDA; it makes no CUDA context, prints nothing and
changes no result. It works through PYTHONPATH: under python -I, -E or -S it
cannot, and says so.

The exit code is the program's own. Signals are handed on to it.

  ullage run -- python train.py --epochs 3
  ullage run --out runs/7 -- torchrun --nproc-per-node 8 train.py
  ullage run --snapshot-at 70GiB --snapshot-at exit -- python serve.py
  ullage run --limit 16GiB --fail-on leak,oom -- python -m pytest tests/gpu

With --lease it first asks the machine's agent for GPU memory, as 'ullage lease
request' does, and then has PyTorch keep to what the lease leaves it beside
contexts and libraries. Where an agent runs, processes tell it what PyTorch has
allocated, under a lease or not.

  ullage run --lease 8GiB -- python train.py`

// runFlags are the command's flags as they were given.
type runFlags struct {
	out        string
	history    int
	snapshotAt []string
	limit      string
	allocConf  string
	failOn     string
	leaseFlags
	connection
}

const (
	defaultHistory = 200_000    // 30 steps of BERT-large, 90 of ResNet-50
	maxHistory     = 50_000_000 // an event takes up to some KB of main memory
)

func newRun(app *App) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:     "run [flags] -- COMMAND...",
		Short:   "Run a program, and explain its GPU memory if it runs out",
		Long:    runLong,
		GroupID: groupRun,
		Args:    atLeast(1, "a command to run, as in: ullage run -- python train.py"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := newRunner(app, &f, args)
			if err == nil {
				err = r.checkLeaseFlags(cmd)
			}
			if err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
		DisableFlagsInUseLine: true,
	}
	fl := cmd.Flags()
	fl.SetInterspersed(false) // what follows the command's name is its own
	fl.StringVar(&f.out, "out", "", "`folder` for what is written (default: ullage-DATE-TIME, made when there is something)")
	fl.IntVar(&f.history, "history", defaultHistory, "`events` of the allocator to keep for each device; 0 keeps none")
	fl.StringArrayVar(&f.snapshotAt, "snapshot-at", nil, "write a recording at this `moment` too: exit, or a size of reserved memory; may be repeated")
	fl.StringVar(&f.limit, "limit", "", "the `size` that PyTorch may reserve on a GPU, for each process")
	fl.StringVar(&f.allocConf, "alloc-conf", "", "`settings` of PyTorch's allocator, as in expandable_segments:True")
	fl.StringVar(&f.failOn, "fail-on", "", "record at exit too, and exit with 3 on a finding of these `rules` (beginnings of ids, by commas) if the program succeeded")
	fl.StringVar(&f.memory, "lease", "", "ask for a lease of this `size` on each GPU first, as in 8GiB")
	f.leaseFlags.addTo(app, cmd, &f.connection)
	f.connection.addTo(cmd, false)
	return cmd
}

// runner carries one run of the command.
type runner struct {
	app     *App
	f       *runFlags
	args    []string
	cfg     child.Config
	out     child.Place
	explain *explainer
	agent   *client.Client // of the lease that was asked for
	leased  *client.Lease  // that was asked for and is granted; nil: none was
}

func newRunner(app *App, f *runFlags, args []string) (*runner, error) {
	r := &runner{app: app, f: f, args: args}
	if err := checkCommand(args); err != nil {
		return nil, err
	}
	r.cfg = child.Config{Job: child.JobName(args), History: f.history, AtExit: f.failOn != ""}
	for _, step := range []func() error{r.checkHistory, r.parseMoments, r.parseLimit, r.checkAllocConf, r.prepareExplain} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *runner) checkHistory() error {
	if r.f.history < 0 || r.f.history > maxHistory {
		return usageErrorf("--history: %d is not a number of events from 0 to %d", r.f.history, maxHistory)
	}
	return nil
}

func (r *runner) parseMoments() error {
	for _, at := range r.f.snapshotAt {
		if at == "exit" {
			r.cfg.AtExit = true
			continue
		}
		size, err := positiveBytes(at)
		if err != nil {
			return usageErrorf("--snapshot-at: neither exit nor a size: %w", err)
		}
		r.cfg.Budgets = append(r.cfg.Budgets, size)
	}
	return nil
}

func (r *runner) parseLimit() error {
	if r.f.limit == "" {
		return nil
	}
	var err error
	if r.cfg.LimitBytes, err = positiveBytes(r.f.limit); err != nil {
		return usageErrorf("--limit: %w", err)
	}
	return nil
}

func positiveBytes(text string) (int64, error) {
	n, err := units.ParseBytes(text)
	if err == nil && n == 0 {
		return 0, errors.New("0 leaves nothing")
	}
	return n, err
}

// checkAllocConf refuses settings at which every release of PyTorch would stop; which
// release the program has is not known before it runs. 2.9 parses another way than before.
func (r *runner) checkAllocConf() error {
	_, oldErr := allocator.ParseConfig(allocator.Version{Major: 2, Minor: 8}, r.f.allocConf)
	_, newErr := allocator.ParseConfig(allocator.Newest, r.f.allocConf)
	if oldErr != nil && newErr != nil {
		return usageErrorf("--alloc-conf: %w", newErr)
	}
	return nil
}

// place settles where recordings go. The program may change its folder, so the path is made
// absolute.
func (r *runner) place() {
	out := r.f.out
	if out == "" {
		out = "ullage-" + r.app.Now().UTC().Format("20060102-150405")
	}
	var elsewhere error
	if r.out, elsewhere = child.Choose(out); elsewhere != nil {
		r.app.Warn("%v", elsewhere)
	}
	r.cfg.Out = r.out.Dir
}

// prepareExplain parses what concerns the explanation before the program runs for hours. It
// is printed on standard error: standard output is the program's.
func (r *runner) prepareExplain() (err error) {
	onStderr := *r.app
	onStderr.Stdout, onStderr.outTTY = r.app.Stderr, r.app.errTTY
	r.explain, err = newExplainer(&onStderr, &explainFlags{by: "line", top: 5, device: -1, failOn: r.f.failOn})
	return err
}

func (r *runner) run(ctx context.Context) error {
	if option := child.ShutsOut(r.args); option != "" {
		r.app.Warn("Python ignores what ullage adds to its path under %s: this program cannot be watched", option)
	}
	if err := r.prepareLease(ctx); err != nil {
		return err
	}
	r.place()
	defer r.out.Close()
	session, err := r.open()
	if err != nil {
		return err
	}
	defer session.Close()

	r.app.keepQuiet()
	signals := make(chan os.Signal, 16)
	defer r.app.Signals(signals, child.Signals()...)()
	code, err := r.runProgram(session, signals)
	if child.TooLong(err) && session != nil && !r.mustWatch() {
		r.app.Warn("the program is not watched: its environment is so long that nothing can be added to it")
		session.Close()
		session = nil
		code, err = r.runProgram(nil, signals)
	}
	if err != nil {
		return startedError(err)
	}
	ctx, cancel := interruptedBy(context.WithoutCancel(ctx), signals)
	defer cancel()
	return r.outcome(code, r.after(ctx, session, code == 0))
}

// startedError gives an error of running a program its exit code.
func startedError(err error) error {
	if start := new(child.StartError); errors.As(err, &start) {
		return &programError{start.Code, err}
	}
	return err
}

// mustWatch tells whether the user asked for what only watching gives. Else a program that
// cannot be watched runs all the same.
func (r *runner) mustWatch() bool {
	return r.f.limit != "" || r.f.failOn != "" || r.wantsLease()
}

// open makes the run's folder. The session is nil where it cannot be made and need not.
func (r *runner) open() (*child.Session, error) {
	session, err := child.Open(child.Bases(r.app.LookupEnv), r.cfg)
	if err == nil {
		child.TellOuter(r.app.LookupEnv)
		return session, nil
	}
	const hint = "set HOME, XDG_CACHE_HOME or TMPDIR to a folder that only you can write to"
	if r.mustWatch() {
		return nil, withHint(err, hint)
	}
	r.app.Warn("the program is not watched: %v; %s", err, hint)
	return nil, nil
}

// outcome settles what ullage ends with: the program's own failure counts more than what
// was found, or could not be found, about it.
func (r *runner) outcome(code int, found error) error {
	if code == 0 {
		return found
	}
	switch {
	case errors.Is(found, context.Canceled):
		r.app.Warn("not explained: interrupted; for the explanation: ullage explain %s", shellWord(r.cfg.Out))
	case found != nil && exitCode(found) != exitFinding:
		r.app.Warn("not explained: %v", found)
	}
	return &programError{code: code}
}

// command is the program with the companion on its path.
func (r *runner) command(session *child.Session) child.Command {
	environ := r.app.Environ()
	if r.leased != nil {
		environ = child.WithEnv(environ, leaseVariables(r.leased, r.cfg.Socket)...)
	}
	if session != nil {
		environ = session.Environ(environ)
	}
	if conf := r.f.allocConf; conf != "" {
		// PyTorch 2.9 and newer read the first, older ones the second.
		environ = child.WithEnv(environ, "PYTORCH_ALLOC_CONF="+conf, "PYTORCH_CUDA_ALLOC_CONF="+conf)
	}
	return child.Command{Args: r.args, Environ: environ, Stdin: r.app.stdin, Stdout: r.app.out.w, Stderr: r.app.Stderr}
}

// interruptedBy ends a context at the next signal. Those before were for the program.
func interruptedBy(ctx context.Context, signals chan os.Signal) (context.Context, context.CancelFunc) {
	for len(signals) > 0 {
		<-signals
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// after tells what came of the watching, once the program has ended. Its error is a finding
// that the user asked to fail on, or says that nothing could be judged.
func (r *runner) after(ctx context.Context, session *child.Session, succeeded bool) error {
	if session == nil {
		return nil
	}
	lines, more := session.Problems()
	for _, line := range lines {
		r.app.Warn("%s", line)
	}
	if more > 0 {
		r.app.Warn("and %d more such problems", more)
	}
	if files := r.app.recordingsOf(r.cfg.Out, session.Run()); len(files) > 0 {
		return r.explainFiles(ctx, files)
	}
	r.whyNone(session.Reached(), session.Dir())
	if r.f.failOn != "" && succeeded {
		return fmt.Errorf("--fail-on: no recording was written, so there is nothing to judge")
	}
	return nil
}

// whyNone says why there is no recording, where the reason may not be the one that the user
// thinks: that nothing ran out of memory.
func (r *runner) whyNone(reached child.Reached, dir string) {
	switch reached {
	case child.Removed:
		r.app.Warn("the folder in which the program's processes meet ullage is gone, so what they had to say is lost: something has removed %s", dir)
	case child.Nothing:
		r.app.Warn("the companion never reported in, so nothing was watched: no Python 3.9 or newer was started, or it ignores PYTHONPATH (options -I, -E and -S, or an environment of its own)")
	case child.Nested:
		r.app.Warn("nothing was watched by this ullage run: another one was started within it, and watched with the flags of its own")
	case child.Python:
		r.app.Warn("nothing was watched: no process imported torch")
	case child.Torch:
		r.app.Warn("nothing was watched: torch was imported, but CUDA was not used")
	case child.CUDA: // it was watched, and nothing happened
	}
}
