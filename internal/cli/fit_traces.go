package cli

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ullage-dev/ullage/internal/child"
	"github.com/ullage-dev/ullage/internal/fit"
	"github.com/ullage-dev/ullage/internal/units"
)

// traced reads what the processes of the program wrote, and returns the trace of each rank.
func (r *fitter) traced(ctx context.Context, session *child.TraceSession, code int) ([]*fit.Trace, error) {
	var all []tracedProcess
	for _, name := range session.Traces() {
		t, err := readTrace(ctx, name)
		if err != nil {
			return nil, inputError(err)
		}
		all = append(all, tracedProcess{t, name})
	}
	if len(all) == 0 {
		return nil, r.whyNoTrace(session, code)
	}
	ranks := byRank(all)
	traces := make([]*fit.Trace, 0, len(ranks))
	for _, p := range ranks {
		if err := r.keep(p.file, outFile(r.f.out, p.trace.Meta.Rank, len(ranks))); err != nil {
			return nil, err
		}
		if err := r.judge(p.trace); err != nil {
			return nil, err
		}
		traces = append(traces, p.trace)
	}
	return traces, nil
}

func readTrace(ctx context.Context, name string) (*fit.Trace, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readTraceFrom(&cancelReader{ctx, file}, name)
}

// readTraceFrom reads a trace, packed with gzip or not.
func readTraceFrom(r io.Reader, name string) (*fit.Trace, error) {
	in := bufio.NewReader(r)
	if magic, _ := in.Peek(2); string(magic) != "\x1f\x8b" {
		return fit.Read(in, name)
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return fit.Read(z, name)
}

// keep copies the trace to where --out says.
func (r *fitter) keep(name, out string) error {
	if out == "" {
		return nil
	}
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.Create(out)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// writeRecording writes the prediction as a recording to where --recording says.
func (r *fitter) writeRecording(p *fit.Prediction) error {
	if r.f.recording == "" {
		return nil
	}
	file, err := os.Create(r.f.recording)
	if err != nil {
		return fmt.Errorf("--recording: %w", err)
	}
	rec, _ := p.Record()
	if strings.HasSuffix(r.f.recording, ".gz") {
		z := gzip.NewWriter(file)
		err = errors.Join(fit.WriteRecording(z, rec), z.Close())
	} else {
		err = fit.WriteRecording(file, rec)
	}
	return errors.Join(err, file.Close())
}

// whyNoTrace says why nothing was traced.
func (r *fitter) whyNoTrace(session *child.TraceSession, code int) error {
	for _, p := range session.Problems() {
		return withHint(errors.New(p.Message), "%s", p.Hint)
	}
	ended := ""
	if code != 0 {
		ended = fmt.Sprintf("; it ended with exit code %d", code)
	}
	switch session.Reached() {
	case child.Torch:
		return withHint(fmt.Errorf("the program imported torch, but used no CUDA%s", ended), "fit predicts what is put on \"cuda\"; a program that asks torch.cuda.is_available() is told yes")
	case child.Python:
		return fmt.Errorf("the program never imported torch%s", ended)
	}
	return withHint(fmt.Errorf("no Python 3.9 or newer started%s", ended), "fit traces Python programs, started as in: ullage fit -- python train.py; options -I, -E and -S keep it out")
}

// judge tells of a trace that ended otherwise than it should.
func (r *fitter) judge(t *fit.Trace) error {
	e := t.End
	if e == nil {
		r.app.Warn("the program was killed before it came to the end of a step: what it had asked for by then is predicted")
		return nil
	}
	switch e.Reason {
	case "error":
		where := ""
		if e.Where != "" {
			where = " at " + e.Where
		}
		err := fmt.Errorf("the program failed%s: %s: %s", where, e.Error, e.Message)
		if e.Fault == "unsupported" {
			return withHint(err, "this is something that fit cannot do without a GPU; what it can do: docs/fit.md")
		}
		return withHint(err, "the error is the program's own; does it run with a GPU?")
	case "exit":
		if e.Status != 0 {
			r.app.Warn("the program ended with status %d before it was stopped", e.Status)
		}
	}
	if e.Steps == 0 && e.Calls == 0 {
		r.app.Warn("the program ended without an optimizer step, and without a call of a model: only what it did is predicted")
	}
	return nil
}

// notesOf lists what a trace assumes, each kind at each place once.
func notesOf(t *fit.Trace) []string {
	var notes []string
	seen, sizes := map[string]bool{}, 0
	for i := range t.Events {
		e := &t.Events[i]
		if e.Kind != fit.Note {
			continue
		}
		text := t.Texts[e.Text].Text
		if at := placeOf(t, e.Stack); at != "" {
			text += " (" + at + ")"
		}
		if !seen[text] {
			seen[text] = true
			notes = append(notes, text)
			if t.Texts[e.Text].What == "size" {
				sizes++
			}
		}
	}
	if sizes > 0 {
		notes = append([]string{units.FormatPlural(sizes, "size depends", "sizes depend") + " on values that only a GPU would have, and count as large as they can be: the job may need less"}, notes...)
	}
	if t.Cut != "" {
		notes = append(notes, "the trace is not whole: "+t.Cut)
	}
	return notes
}

// unsteady tells of a job whose tensors differ in size from step to step: then the steps
// that were traced need not be those that need most.
func unsteady(job *fit.Job) []string {
	before, last := job.RoundBytes()
	if d := max(before-last, last-before); d < 1<<20 || d < before/1000 {
		return nil
	}
	return []string{fmt.Sprintf("sizes differ from step to step (the last two asked for %s and %s in all): a longer run may need more than was traced; --steps sees more of them",
		units.FormatBytes(before), units.FormatBytes(last))}
}

// placeOf names the innermost line of a stack.
func placeOf(t *fit.Trace, stack int32) string {
	if stack < 0 || len(t.Stacks[stack].Frames) == 0 {
		return ""
	}
	f := t.Frames[t.Stacks[stack].Frames[0]]
	return fmt.Sprintf("%s:%d", base(f.File), f.Line)
}
