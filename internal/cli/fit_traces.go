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
	r.users = usersOf(all)
	traces := make([]*fit.Trace, 0, len(ranks))
	for _, p := range ranks {
		if err := r.keep(p.file, outFile(r.f.out, p.trace.Meta.Rank, len(ranks))); err != nil {
			return nil, err
		}
		if err := judge(p.trace, code); err != nil {
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
	return readTraceFrom(&cancelReader{ctx, file}, "the program's trace") // its folder is gone once anybody reads of it
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

// notesOf lists what a trace assumes, each kind at each place once.
func (r *fitter) notesOf(t *fit.Trace) []string {
	var notes []string
	if r.users > 1 {
		notes = append(notes, fmt.Sprintf("%d processes of the program use a GPU: this is of the one that holds most; where they run at once, the others come on top", r.users))
	}
	if e := t.End; e != nil && e.Caught != "" {
		notes = append(notes, "the program caught an error of the prediction's, and went on: "+e.Caught)
	}
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
