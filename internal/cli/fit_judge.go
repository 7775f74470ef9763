package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ullage-dev/ullage/internal/child"
	"github.com/ullage-dev/ullage/internal/fit"
	"github.com/ullage-dev/ullage/internal/units"
)

// faultHints say what to do about an error of the program, by whose fault it is:
// docs/formats/trace.md.
var faultHints = map[string]string{
	"unsupported": "this is something that fit cannot do without a GPU; what it can do: docs/fit.md",
	"extension":   "code that runs on the GPU by itself (extensions, Triton, CuPy) cannot run without one: leave it out by an option of the program, as attn_implementation=\"sdpa\", or give its operators shapes with torch.library.register_fake",
	"network":     "the program wants the network: run it where there is one, or where what it fetches is in its cache",
	"command":     "the program starts another that this machine lacks; what it asks of the GPU by such a one, as by nvidia-smi, has no answer without a GPU: leave that part out by an option of the program",
	"file":        "the program needs a file: run it in its folder, with its data; contents do not matter to memory, sizes do",
	"torch":       "this Python has no PyTorch: name the one that has, as in: ullage fit -- .venv/bin/python train.py; a build for the CPU will do",
	"module":      "this Python lacks a module that the program needs: is it the environment that the job has?",
	"input":       "the program reads standard input, and there was none: pipe it in",
	"program":     "the error is the program's own; does it run with a GPU?",
}

// tornDown are the exit codes of a process that aborted or crashed. Of one whose trace is whole
// that was while Python tore itself down, where threads of autograd may be in its way.
var tornDown = []int{128 + 6, 128 + 11}

// judge returns an error for a trace that shows no step of the program, because the program
// failed, or ended before it came to one. code is what the program ended with.
func judge(t *fit.Trace, code int) error {
	e := t.End
	switch {
	case e == nil && stepsSeen(t) == 0:
		return fmt.Errorf("the program was killed%s before its first optimizer step%s", bySignal(code), soFar(t))
	case e == nil:
		return nil // what it did counts, in part
	case e.Reason == "error":
		return failed(e)
	case e.Reason != "ended" || e.Steps > 0 || e.Calls > 0:
		return nil
	case e.Caught != "":
		return withHint(fmt.Errorf("the program caught an error of the prediction's, and ended without an optimizer step: %s", e.Caught), "%s", faultHints["unsupported"])
	case e.Status != 0:
		code = e.Status
	}
	if code == 0 || slices.Contains(tornDown, code) {
		return nil
	}
	return withHint(fmt.Errorf("the program ended by itself with exit code %d, before its first optimizer step%s", code, soFar(t)), "what it printed above may say why")
}

// failed is the error that ended the program, at its line.
func failed(e *fit.End) error {
	where := ""
	if e.Where != "" {
		where = " at " + e.Where
	}
	return withHint(fmt.Errorf("the program failed%s: %s: %s", where, e.Error, strings.TrimSpace(e.Message)), "%s", hintFor(e.Fault))
}

// hintFor says what to do about a fault; about one that is not known, what to do about most.
func hintFor(fault string) string {
	return cmp.Or(faultHints[fault], faultHints["program"])
}

// inPart says why a trace does not show whole steps of the program; "" where it does.
func inPart(t *fit.Trace) string {
	e := t.End
	switch {
	case e == nil:
		return fmt.Sprintf("the program was killed after %s", units.FormatPlural(stepsSeen(t), "step", "steps"))
	case e.Reason == "backward":
		return "the program was stopped after many backward passes without a step of an optimizer of torch.optim"
	case e.Steps == 0 && e.Calls == 0:
		return "the program ended without an optimizer step, and without a call of a model without gradients"
	}
	return ""
}

// toSeeAll says what would make a trace in part a whole one, by inPart.
func toSeeAll(t *fit.Trace) string {
	e := t.End
	switch {
	case e == nil:
		return "what killed the program is not seen from here: a limit of main memory or of time, or another process"
	case e.Reason == "backward":
		return "an optimizer that is none of torch.optim is not seen: what it keeps for each parameter counts only where it is made by the first backward passes"
	}
	return "a whole step is one of an optimizer of torch.optim, or a call of a model under torch.no_grad(): do the arguments lead the program there? What it printed may say why not"
}

// stepsSeen counts the steps of a trace, as of one that has no end.
func stepsSeen(t *fit.Trace) int {
	n := 0
	for i := range t.Events {
		if t.Events[i].Kind == fit.Step {
			n++
		}
	}
	return n
}

// soFar tells how far a program came that ended too soon.
func soFar(t *fit.Trace) string {
	if len(t.DeviceUses()) == 0 {
		return ", and put nothing on the GPU"
	}
	return ""
}

// bySignal names the signal of an exit code above 128.
func bySignal(code int) string {
	if code <= 128 {
		return ""
	}
	return fmt.Sprintf(" by signal %d (%v)", code-128, syscall.Signal(code-128))
}

// usersOf counts the processes that put something on the GPU, each for itself: not as ranks
// of a job.
func usersOf(all []tracedProcess) (n int) {
	for _, p := range all {
		if len(p.trace.DeviceUses()) > 0 && !p.trace.Ranks.Joined {
			n++
		}
	}
	return n
}

// otherDevices says what a program that is no rank of a job needs on its further GPUs.
func (r *fitter) otherDevices(t *fit.Trace) (notes []string) {
	uses := t.DeviceUses()
	if t.Ranks.Joined || len(uses) < 2 {
		return nil
	}
	for _, u := range uses[1:] {
		job, err := fit.Compile(t, r.profile, u.Device)
		if err != nil {
			continue // memory that is no storage of its own
		}
		if p, err := fit.Predict(job, fit.Options{Config: r.config, LimitBytes: r.limit}); err == nil {
			notes = append(notes, fmt.Sprintf("GPU %d beside it reserves %s (%s allocated), is safe with a limit of %s, and takes %s with the context",
				u.Device, units.FormatBytes(p.Best.PeakReserved), units.FormatBytes(p.Best.PeakAllocated), units.FormatBytes(p.Safe), units.FormatBytes(p.ProcessBytes)))
		}
	}
	return notes
}

// whyNoTrace says why nothing was traced.
func (r *fitter) whyNoTrace(session *child.TraceSession, code int) error {
	for _, p := range session.Problems() {
		return withHint(errors.New(p.Message), "%s", cmp.Or(p.Hint, hintFor(p.Fault)))
	}
	ended := ""
	if code != 0 {
		ended = fmt.Sprintf("; it ended with exit code %d", code)
	}
	switch session.Reached() {
	case child.Torch:
		return withHint(fmt.Errorf("the program imported torch, but used no CUDA%s", ended), "%s", noCUDAHint)
	case child.Python:
		return withHint(fmt.Errorf("the program never imported torch%s", ended), "fit predicts what PyTorch puts on a GPU")
	}
	return withHint(fmt.Errorf("no Python 3.9 or newer started%s", ended), "fit traces Python programs, started as in: ullage fit -- python train.py; options -I, -E and -S keep it out")
}

const noCUDAHint = "fit predicts what is put on \"cuda\"; a program that asks torch.cuda.is_available() is told yes"

// startFailed is the error of a program that could not be started.
func (r *fitter) startFailed(start *child.StartError, err error) error {
	wrapped := error(&programError{start.Code, err})
	if filepath.Ext(r.args[0]) == ".py" {
		return withHint(wrapped, "as in: ullage fit -- python %s", strings.Join(r.args, " "))
	}
	return wrapped
}
