package cli

import (
	"bytes"
	"context"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/message"
	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

const explainLong = `Explain reads recordings of GPU memory, logs and error messages, and says what
holds the memory, what leaks, whether it was fragmentation or true shortage, and
what to change. Any form of a recording will do (pickle, JSON, the HTML of
PyTorch's plotters; plain or compressed), and so will the text of an error, a
whole log, memory_summary() or memory_stats(). Several files, or a folder, are
taken for the ranks of one job and compared; - is standard input.

Moments (--at, --since, --until) are an event (e1234), a step (s12), a time from
the start (12.5s), or one of peak, oom and end. A step given to --at is the
moment in it with the most allocated.

  ullage explain oom.pickle
  ullage explain train.log
  ullage explain --at s12 --by tree run.pickle.gz
  ullage explain --against before.pickle after.pickle
  ullage explain --budget reserved=20GiB --fail-on leak,frag run.pickle`

// explainFlags are the command's flags as they were given.
type explainFlags struct {
	at, since, until string
	by               string
	top              int
	device           int
	deviceMemory     string
	against          string
	failOn, budget   string
	source           string
	redact           bool
	json, markdown   bool
	verbose          bool
}

func newExplain(app *App) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:     "explain FILE...",
		Short:   "Say what holds the memory, what leaks, and why it ran out",
		Long:    explainLong,
		GroupID: groupRead,
		Args:    atLeast(1, "a file, a folder, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := newExplainer(app, &f)
			if err != nil {
				return err
			}
			if f.redact && f.source != "" {
				return usageErrorf("--source: under --redact no source is read")
			}
			if !f.redact {
				e.sources = newSources(app, f.source)
				defer e.sources.close()
			}
			return e.run(cmd.Context(), args)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.at, "at", "", "take the accounting at this `moment` (default: the most allocated)")
	fl.StringVar(&f.since, "since", "", "look only at what follows this `moment`")
	fl.StringVar(&f.until, "until", "", "look only at what precedes this `moment`")
	fl.StringVar(&f.by, "by", "line", "group what holds the memory by `what`: line, category, module, stack or tree")
	fl.IntVar(&f.top, "top", 10, "rows of each list; -1 is all")
	fl.IntVar(&f.device, "device", -1, "look only at this device `ordinal`; -1 is all")
	fl.StringVar(&f.deviceMemory, "device-memory", "", "the device's `size`, to tell when a leak fills it")
	fl.StringVar(&f.against, "against", "", "compare with this earlier `file`, by site")
	fl.StringVar(&f.failOn, "fail-on", "", "exit with 3 on a finding of these `rules` (beginnings of ids, by commas)")
	fl.StringVar(&f.budget, "budget", "", "exit with 3 when a peak is over its `budget`: reserved=20GiB,allocated=18GiB")
	fl.StringVar(&f.source, "source", "", "look for the sources that are named below this `folder` too")
	fl.BoolVar(&f.redact, "redact", false, "leave out paths and names of the program, for a public report")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	fl.BoolVar(&f.markdown, "markdown", false, "print Markdown")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print how exactly the recording was replayed, and every rank in full")
	exclusive(cmd, "json", "markdown")
	return cmd
}

// explainer carries one run of the command.
type explainer struct {
	app  *App
	f    *explainFlags
	opt  analyze.Options
	gate gate

	sources *sources          // nil where no source is to be read
	names   map[string]string // what files are called in the output, under --redact
	mu      sync.Mutex
	texts   []textResult
	budget  []report.BudgetJSON
	failed  []rules.Finding
}

// textResult is one text that was read.
type textResult struct {
	file   string
	report *message.Report
	result *analyze.TextResult
}

// explained is one device of one recording, explained.
type explained struct {
	row      analyze.RankRow
	findings []rules.Finding
	json     report.DeviceJSON
	text     string
}

var groupings = map[string]analyze.By{"line": analyze.ByLine, "category": analyze.ByCategory, "module": analyze.ByModule, "stack": analyze.ByStack, "tree": analyze.ByTree}

func newExplainer(app *App, f *explainFlags) (*explainer, error) {
	e := &explainer{app: app, f: f, opt: analyze.Options{Top: f.top}}
	if err := checkTop(f.top); err != nil {
		return nil, err
	}
	if err := checkOrdinal(f.device); err != nil {
		return nil, err
	}
	for _, w := range []struct {
		flag, text string
		to         *analyze.When
	}{{"at", f.at, &e.opt.At}, {"since", f.since, &e.opt.Since}, {"until", f.until, &e.opt.Until}} {
		if w.text == "" {
			continue
		}
		when, err := analyze.ParseWhen(w.text)
		if err != nil {
			return nil, usageErrorf("--%s: %w", w.flag, err)
		}
		*w.to = when
	}
	var ok bool
	if e.opt.By, ok = groupings[f.by]; !ok {
		return nil, usageErrorf("--by: %q is not one of line, category, module, stack, tree", f.by)
	}
	if f.deviceMemory != "" {
		n, err := units.ParseBytes(f.deviceMemory)
		if err != nil {
			return nil, usageErrorf("--device-memory: %w", err)
		}
		e.opt.CapacityBytes = n
	}
	var err error
	e.gate, err = parseGate(f.failOn, f.budget)
	return e, err
}

func (e *explainer) run(ctx context.Context, args []string) error {
	in, err := e.app.resolve(args)
	if err != nil {
		return err
	}
	e.take(in)
	if e.f.against != "" {
		return e.compare(ctx, in.files)
	}
	devices, err := e.explainAll(ctx, in.files)
	if err != nil {
		return err
	}
	if err := e.print(devices); err != nil {
		return err
	}
	return e.verdict()
}

// take tells what of the inputs is left out, and gives files their names.
func (e *explainer) take(in *inputs) {
	for _, note := range in.notes {
		if e.f.redact { // a note names files
			note = "of a folder not every file is explained; without --redact it is said which"
		}
		e.app.Warn("%s", note)
	}
	e.rename(in.files)
}

// explain explains every device of a recording.
func (e *explainer) explain(rec *snapshot.Recording, ahead *timeline.Ahead, beside *sidecar) ([]explained, error) {
	var list []explained
	devices, err := e.analyze(rec, ahead, beside)
	for _, x := range devices {
		one, err := e.explained(x)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, err
}

// analyze answers the questions about every device of a recording, the devices side by side.
func (e *explainer) analyze(rec *snapshot.Recording, ahead *timeline.Ahead, beside *sidecar) ([]*analyze.Explanation, error) {
	sites := analyze.NewSites(rec)
	devices := e.devicesOf(rec)
	if len(devices) == 0 {
		return nil, e.noDeviceError(rec)
	}
	out := make([]*analyze.Explanation, len(devices))
	errs := make([]error, len(devices))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	for i, dev := range devices {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			out[i], errs[i] = e.analyzeDevice(ahead.Build(rec, dev), sites, beside)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, usageErrorf("%s: %w", rec.Source.Name, err)
		}
	}
	return out, nil
}

func (e *explainer) analyzeDevice(tl *timeline.Timeline, sites *analyze.Sites, beside *sidecar) (*analyze.Explanation, error) {
	x, err := analyze.Explain(tl, sites, e.options(beside, tl.Dev))
	if err != nil {
		return nil, err
	}
	addEffects(x)
	if e.sources != nil {
		e.sources.name(x)
	}
	return x, nil
}

// options are what is known of a device from the flags, the texts, and what stands beside the
// recording.
func (e *explainer) options(beside *sidecar, dev *snapshot.Device) analyze.Options {
	opt := beside.joined(e.joined(), dev.Index)
	if e.f.redact {
		opt.Census = analyze.RedactCensus(opt.Census)
	}
	return opt
}

// explained holds an explanation against what the user asked to fail on, and prints it.
func (e *explainer) explained(x *analyze.Explanation) (explained, error) {
	e.mu.Lock()
	if given := e.opt.CapacityBytes; given > 0 && x.Peak.Reserved.Bytes > given {
		e.app.Warn("--device-memory %s is less than the %s that were reserved on %s", e.f.deviceMemory, units.FormatBytes(x.Peak.Reserved.Bytes), report.DeviceName(x.TL.Dev))
	}
	e.budget = append(e.budget, e.gate.check(x)...)
	if f, ok := e.gate.matches(x.Findings); ok {
		e.failed = append(e.failed, f)
	}
	e.mu.Unlock()
	out := explained{row: x.Row(), findings: x.Findings}
	if e.f.json {
		out.json = report.NewDeviceJSON(x)
		return out, nil
	}
	var b bytes.Buffer
	o := report.ExplainOptions{Verbose: e.f.verbose, Markdown: e.f.markdown}
	err := report.Explanation(&b, e.app.OutLook(), x, o)
	out.text = b.String()
	return out, err
}

// joined adds what the texts beside a recording tell of the device.
func (e *explainer) joined() analyze.Options {
	opt := e.opt
	for _, t := range e.texts {
		for _, o := range t.result.OOMs {
			opt.CapacityBytes = max(opt.CapacityBytes, o.Account.CapacityBytes)
			opt.LimitBytes = max(opt.LimitBytes, o.Account.LimitBytes)
			opt.OthersBytes = max(opt.OthersBytes, o.Account.OthersBytes)
		}
	}
	return opt
}
