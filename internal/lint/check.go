package lint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// fileResult is what one file came to.
type fileResult struct {
	findings []Finding
	notices  []Notice
	hidden   Hidden
	bytes    int64
	unread   bool
}

// linter does files, of one run.
type linter struct {
	opt *Options
}

// do reads and checks a file. The error is that of the context; all else is a notice.
func (l *linter) do(ctx context.Context, f *file) (fileResult, error) {
	data, err := l.read(f)
	if err != nil {
		return unread(f, err), nil
	}
	r, err := l.check(ctx, f, data)
	if err != nil && ctx.Err() != nil {
		return r, ctx.Err()
	}
	if err != nil {
		return unread(f, err), nil
	}
	return r, nil
}

// read returns the bytes of a file.
func (l *linter) read(f *file) ([]byte, error) {
	limit := f.checker.MaxBytes()
	tooLarge := fmt.Errorf("has more than %d bytes, which is the most that is read", limit)
	if f.size > limit {
		return nil, tooLarge
	}
	if f.in {
		return l.opt.Stdin, nil
	}
	file, err := l.opt.Files.Open(f.abs)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data := make([]byte, 0, f.size+1)
	data, err = appendAll(data, io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = tooLarge
	}
	return data, err
}

// appendAll reads into a slice that mostly has the room already.
func appendAll(data []byte, r io.Reader) ([]byte, error) {
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return data, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

// unread is the result of a file that could not be read.
func unread(f *file, err error) fileResult {
	n := Notice{Kind: Unread, File: f.name, Path: f.path, Text: err.Error()}
	var path *fs.PathError
	var source *syntax.Error
	var limit *syntax.LimitError
	switch {
	case errors.As(err, &path):
		n.Text = path.Err.Error()
	case errors.As(err, &source):
		n.Text, n.Hint, n.At.Line = source.What, source.Hint(), source.Line
	case errors.As(err, &limit):
		n.Text = limit.What
	}
	if f.data {
		n.Kind = Passed
	}
	return fileResult{notices: []Notice{n}, unread: true}
}

// check turns the bytes of a file into findings.
func (l *linter) check(ctx context.Context, f *file, data []byte) (fileResult, error) {
	src, checked, err := l.mistakes(ctx, f, data)
	if err != nil {
		return fileResult{}, err
	}
	if w := l.opt.Witness; w != nil && src != nil && w.Knows(f.abs) {
		checked.Mistakes = w.Raise(ctx, f.abs, src, checked.Mistakes)
	}
	r := fileResult{bytes: int64(len(data))}
	if checked.Broken != nil {
		r.notices = append(r.notices, Notice{Kind: Broken, File: f.name, Path: f.path, At: src.Position(*checked.Broken), Text: "from here, something cannot be read: what is wrong there is not told"})
	}
	if len(checked.Mistakes) == 0 && len(checked.Comments) == 0 {
		return r, nil
	}
	r.choose(l, f, src, data, checked)
	return r, nil
}

// mistakes returns what a checker says of a file, from the cache if it is there.
func (l *linter) mistakes(ctx context.Context, f *file, data []byte) (*syntax.Source, Checked, error) {
	key := l.opt.Cache.key(f, data)
	checked, known := l.opt.Cache.get(key)
	watched := l.opt.Witness != nil && l.opt.Witness.Knows(f.abs)
	if known && len(checked.Mistakes) == 0 && len(checked.Comments) == 0 && checked.Broken == nil && !watched {
		return nil, checked, nil // most files: not even their lines are counted
	}
	src, err := syntax.Read(f.path, data)
	if err != nil || known {
		return src, checked, err
	}
	if checked, err = f.checker.Check(ctx, src, f.test); err != nil {
		return src, checked, err
	}
	sortMistakes(checked.Mistakes)
	l.opt.Cache.put(key, checked)
	return src, checked, nil
}

// choose takes from the mistakes what is to be shown, and counts the rest by the reason.
func (r *fileResult) choose(l *linter, f *file, src *syntax.Source, data []byte, checked Checked) {
	comments := directives(src, checked.Comments)
	marks := fingerprints(f.path, src, checked.Mistakes)
	raw := rawOf(src, data, checked.Mistakes)
	for i, m := range checked.Mistakes {
		switch {
		case hiddenBy(comments, src, &m):
			r.hidden.Comments++
		case !f.choice.has(m.Rule):
		case !l.opt.All && !m.Probable():
			r.hidden.Level++
		case !l.opt.NoBaseline && f.known.has(marks[i]):
			r.hidden.Baseline++
		default:
			finding := newFinding(f, src, raw, m)
			finding.Fingerprint = marks[i]
			r.findings = append(r.findings, finding)
		}
	}
	for i := range comments {
		if kind, text := comments[i].notice(); text != "" {
			r.notices = append(r.notices, Notice{Kind: kind, File: f.name, Path: f.path, At: src.Position(comments[i].at), Text: text})
		}
	}
}

// rawOf returns the way back to the file, where places in it differ from those in the text.
func rawOf(src *syntax.Source, data []byte, mistakes []rules.Mistake) *syntax.Raw {
	if src.Cells() == nil || len(mistakes) == 0 {
		return nil
	}
	raw, err := syntax.NewRaw(src, data)
	if err != nil {
		return nil
	}
	return raw
}

// hiddenBy tells whether a comment hides a mistake. All that do are used.
func hiddenBy(comments []directive, src *syntax.Source, m *rules.Mistake) (hidden bool) {
	if len(comments) == 0 {
		return false
	}
	first, last := src.TextLine(m.Start), src.TextLine(max(m.End-1, m.Start))
	for i := range comments {
		if comments[i].hides(m, first, last) {
			comments[i].used, hidden = true, true
		}
	}
	return hidden
}
