package lint

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// Fixed is a file whose mistakes can be repaired with certainty.
type Fixed struct {
	File  string // as the user named it
	Path  string // absolute
	Count int    // repairs
	Diff  string // of the text, of a notebook of its code
	Data  []byte // the file as it is to be
}

// maxPasses bounds how often a file is repaired: a repair may make room for the next, where
// two would have changed the same line.
const maxPasses = 10

// Write puts a file in place of another, whole or not at all.
type Write func(name string, data []byte) error

// Fix makes the certain repairs of what is shown, and has the findings be what is left. With
// no write, it only tells what it would do. A file that cannot be repaired is a notice.
func (r *Result) Fix(ctx context.Context, opt Options, write Write) ([]Fixed, error) {
	l := &linter{opt: &opt}
	var all []Fixed
	for i, f := range r.files {
		if !slices.ContainsFunc(r.done[i].findings, fixable) {
			continue
		}
		fixed, after, err := l.fix(ctx, f, write)
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
		if err != nil {
			r.noticed = append(r.noticed, Notice{Kind: Unfixed, File: f.name, Path: f.path, Text: err.Error()})
			continue
		}
		if write != nil {
			r.done[i] = after
		}
		all = append(all, fixed)
	}
	r.total()
	return all, nil
}

func fixable(f Finding) bool { return f.Fix != nil && len(f.Fix.Edits) > 0 }

// fix repairs one file, and returns what it then comes to.
func (l *linter) fix(ctx context.Context, f *file, write Write) (fixed Fixed, after fileResult, err error) {
	before, err := l.read(f)
	if err != nil {
		return fixed, after, err
	}
	fixed = Fixed{File: f.name, Path: f.abs, Data: before}
	if after, err = l.check(ctx, f, before); err != nil {
		return fixed, after, err
	}
	broken := len(brokenIn(after))
	for range maxPasses {
		edits, n := certain(after.findings)
		if n == 0 {
			break
		}
		if fixed.Data, err = rewrite(f, fixed.Data, edits); err != nil {
			return fixed, after, err
		}
		if after, err = l.check(ctx, f, fixed.Data); err != nil {
			return fixed, after, err
		}
		if len(brokenIn(after)) > broken {
			return fixed, after, fmt.Errorf("is not repaired: what came of it could not be read; please report it")
		}
		fixed.Count += n
	}
	if fixed.Diff, err = textDiff(f, before, fixed.Data); err != nil || write == nil {
		return fixed, after, err
	}
	if now, readErr := l.read(f); readErr != nil || !bytes.Equal(now, before) {
		return fixed, after, fmt.Errorf("is not repaired: it has changed meanwhile")
	}
	if err := write(f.abs, fixed.Data); err != nil {
		return fixed, after, fmt.Errorf("is not repaired: it cannot be replaced: %w", reason(err))
	}
	return fixed, after, nil
}

func brokenIn(r fileResult) []Notice {
	return slices.DeleteFunc(slices.Clone(r.notices), func(n Notice) bool { return n.Kind != Broken })
}

// certain returns the edits of all repairs that do not meet, in order, and the number of
// repairs. Of two that meet, the first is made: the other is found again, or not, in what
// comes of it.
func certain(findings []Finding) (edits []syntax.Edit, n int) {
	end := 0
	for _, f := range findings {
		if !fixable(f) {
			continue
		}
		own := slices.Clone(f.Fix.Edits)
		slices.SortStableFunc(own, func(a, b rules.Edit) int { return cmp.Compare(a.Start, b.Start) })
		if n > 0 && own[0].Start < end {
			continue
		}
		n++
		for _, e := range own {
			edits = append(edits, syntax.Edit{Start: e.Start, End: e.End, Text: e.Text})
			end = max(end, e.End, e.Start+1)
		}
	}
	return edits, n
}

func rewrite(f *file, data []byte, edits []syntax.Edit) ([]byte, error) {
	src, err := syntax.Read(f.path, data)
	if err != nil {
		return nil, err
	}
	raw, err := syntax.NewRaw(src, data)
	if err != nil {
		return nil, err
	}
	return raw.Rewrite(edits)
}

// textDiff compares what people see of a file.
func textDiff(f *file, before, after []byte) (string, error) {
	old, err := syntax.Read(f.path, before)
	if err != nil {
		return "", err
	}
	now, err := syntax.Read(f.path, after)
	if err != nil {
		return "", err
	}
	name := patchName(f.name)
	text := diff.Diff(name, old.Text, name, now.Text)
	_, text, _ = bytes.Cut(text, []byte("\n")) // "diff a b", which no patch needs
	return string(text), nil
}

// patchName returns a name as a patch has it: as it is, or quoted where something in it could end
// the line or steer a terminal.
func patchName(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}
