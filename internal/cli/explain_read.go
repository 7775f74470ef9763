package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/message"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

// explainAll reads and explains all files, two at a time. Texts are read before
// recordings: what they say of the device counts for these.
func (e *explainer) explainAll(ctx context.Context, files []snapshot.File) ([]explained, error) {
	var devices []explained
	for _, texts := range []bool{true, false} {
		for list, err := range inOrder(len(files), 2, func(i int) ([]explained, error) { return e.explainFile(ctx, files[i], texts) }) {
			if err != nil {
				return nil, err
			}
			devices = append(devices, list...)
		}
	}
	return devices, nil
}

// explainFile reads and explains a file if it is a text, or if it is none. Standard
// input and pipes, as of <(zstdcat run.zst), can be looked at once only: they have
// their turn with the recordings.
func (e *explainer) explainFile(ctx context.Context, f snapshot.File, texts bool) ([]explained, error) {
	once := e.app.readsOnce(f.Path)
	if once && texts {
		return nil, nil
	}
	var out []explained
	err := e.withInput(ctx, f, func(in *snapshot.Input, ahead *timeline.Ahead) error {
		if in.IsText() {
			if texts || once {
				return e.readText(f.Path, in)
			}
			return nil
		}
		if texts {
			return nil
		}
		beside := e.app.readSidecar(f.Path)
		f.Rank = beside.rankOr(f.Rank)
		rec, err := e.readRecording(in, f)
		if err != nil {
			return err
		}
		out, err = e.explain(rec, ahead, beside)
		return err
	})
	return out, err
}

// withInput opens a file and looks at what it is. Its recording, if it is one, is
// replayed by ahead while it is being read.
func (e *explainer) withInput(ctx context.Context, f snapshot.File, use func(*snapshot.Input, *timeline.Ahead) error) error {
	file, size, err := e.app.open(ctx, f.Path, e.app.Stdin)
	if err != nil {
		return err
	}
	defer file.Close()
	bar := term.NewProgress(e.app.Stderr, e.app.ErrLook(), e.app.Now, "reading "+base(f.Path), size)
	defer bar.End()
	return e.useInput(f, bar.Reader(&cancelReader{ctx, file}), size > 0, use)
}

// useInput looks at what r, the content of f, is.
func (e *explainer) useInput(f snapshot.File, r io.Reader, readAhead bool, use func(*snapshot.Input, *timeline.Ahead) error) error {
	ahead := new(timeline.Ahead)
	in, err := snapshot.Open(r, snapshot.Options{Name: e.shown(f.Path), OnEvents: ahead.Events, ReadAhead: readAhead})
	if err != nil {
		return inputError(err)
	}
	defer in.Close()
	return use(in, ahead)
}

func (e *explainer) readRecording(in *snapshot.Input, f snapshot.File) (*snapshot.Recording, error) {
	rec, err := in.Recording()
	if err != nil {
		return nil, inputError(err)
	}
	if f.Rank >= 0 {
		rec.Source.Rank = f.Rank
	}
	if t := rec.Truncated; t != nil {
		e.app.Warn("%s breaks off after %s (%s); what came before is used", e.shown(f.Path), units.FormatBytes(t.Offset), t.Reason)
	}
	if e.f.redact {
		rec = analyze.Redact(rec)
	}
	return rec, nil
}

// shown is how a file is named in the output.
func (e *explainer) shown(name string) string {
	switch {
	case name == "-":
		return "standard input"
	case e.f.redact:
		return e.names[name]
	}
	return name
}

// rename gives files names that say nothing, and still tell one from another.
func (e *explainer) rename(files []snapshot.File) {
	e.names = map[string]string{e.f.against: "earlier file"}
	for i, f := range files {
		e.names[f.Path] = fmt.Sprintf("file %d", i+1)
	}
}

func (e *explainer) readText(name string, in *snapshot.Input) error {
	rep, err := message.Parse(in.Text(), message.Options{})
	if err != nil {
		return inputError(fmt.Errorf("%s: %w", e.shown(name), err))
	}
	for _, text := range in.PassedOver() {
		e.app.Warn("%s: %s", e.shown(name), text)
	}
	if e.f.redact {
		rep = analyze.RedactText(rep)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.texts = append(e.texts, textResult{e.shown(name), rep, analyze.Text(rep)})
	return nil
}

// cancelReader ends with the context's error once it is cancelled.
type cancelReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancelReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
