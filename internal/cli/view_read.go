package cli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/viewer"
	"github.com/ullage-dev/ullage/snapshot"
)

// files are what the arguments name. Texts among them have nothing to look at, but what they
// say of the device counts for the recordings beside them, as in explain.
func (v *view) files(ctx context.Context, args []string) ([]viewer.File, error) {
	in, err := v.app.resolve(args)
	if err != nil {
		return nil, err
	}
	v.explain.take(in)
	var files []viewer.File
	var errs []error
	for _, f := range in.files {
		d := &viewed{v: v, file: f, err: v.peek(ctx, f)}
		if d.err != nil {
			errs = append(errs, d.err)
		}
		files = append(files, viewer.File{Name: v.explain.shown(f.Path), Rank: f.Rank, Read: d.read, Changed: d.changed})
	}
	if len(errs) == len(files) {
		return nil, errs[0]
	}
	return files, nil
}

// peek reads a text, and tells why a file cannot be shown where its beginning tells. What
// can be read once only has its turn later.
func (v *view) peek(ctx context.Context, f snapshot.File) error {
	e := v.explain
	if v.app.readsOnce(f.Path) {
		return nil
	}
	return e.withInput(ctx, f, func(in *snapshot.Input, _ *timeline.Ahead) error {
		if in.IsText() {
			if err := e.readText(f.Path, in); err != nil {
				return err
			}
			return v.textError(f)
		}
		switch in.Identity.Content {
		case snapshot.ContentPickle, snapshot.ContentJSON, snapshot.ContentHTML:
			return nil
		}
		_, err := in.Recording() // which says what it is instead
		return inputError(err)
	})
}

func (v *view) textError(f snapshot.File) error {
	err := inputError(fmt.Errorf("%s is a text, which has no events to look at", v.explain.shown(f.Path)))
	if v.f.redact {
		return err
	}
	return withHint(err, "ullage explain %s", shellWord(f.Path))
}

// viewed is a file that is shown.
type viewed struct {
	v    *view
	file snapshot.File
	err  error // why it cannot be shown, where that is known beforehand

	// What it was when it was read; nil where that means nothing.
	info atomic.Pointer[fs.FileInfo]
}

// read reads, replays and explains the file.
func (d *viewed) read(ctx context.Context, note func(viewer.Stage, float64)) (*viewer.Read, error) {
	if d.err != nil {
		return nil, d.redacted(d.err)
	}
	note(viewer.Reading, 0)
	out, err := d.readFile(ctx, note)
	return out, d.redacted(err)
}

// redacted takes the file's name out of an error, which the page shows.
func (d *viewed) redacted(err error) error {
	if err == nil || !d.v.f.redact || !strings.Contains(err.Error(), d.file.Path) {
		return err
	}
	return inputError(errors.New(strings.ReplaceAll(err.Error(), d.file.Path, d.v.explain.shown(d.file.Path))))
}

func (d *viewed) readFile(ctx context.Context, note func(viewer.Stage, float64)) (*viewer.Read, error) {
	a, f := d.v.app, d.file
	file, size, err := a.open(ctx, f.Path, a.Stdin)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if !a.readsOnce(f.Path) {
		info, _ := a.Files.Stat(f.Path) // a file that is gone again has changed
		d.info.Store(&info)
	}
	sum := sha256.New()
	var bar *term.Progress
	if d.v.f.export != "" { // else the page shows it
		bar = a.Progress("reading "+base(f.Path), size)
		defer bar.End()
	}
	in := &countedReader{r: bar.Reader(io.TeeReader(&cancelReader{ctx, file}, sum)), size: size, note: note}
	out := new(viewer.Read)
	err = d.v.explain.useInput(f, in, size > 0, func(input *snapshot.Input, ahead *timeline.Ahead) error {
		return d.explain(out, input, ahead, note)
	})
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // what follows the recording is of the file too
		return nil, inputError(fileError(f.Path, err))
	}
	out.ID = d.id(sum)
	if !d.v.f.redact && !a.readsOnce(f.Path) {
		out.Argument = shellWord(f.Path)
	}
	return out, nil
}

// explain reads what was opened, and answers what explain answers.
func (d *viewed) explain(out *viewer.Read, in *snapshot.Input, ahead *timeline.Ahead, note func(viewer.Stage, float64)) error {
	e, f := d.v.explain, d.file
	if in.IsText() {
		return d.v.textError(f)
	}
	beside := d.v.app.readSidecar(f.Path)
	f.Rank = beside.rankOr(f.Rank)
	rec, err := e.readRecording(in, f)
	if err != nil {
		return err
	}
	note(viewer.Replaying, 0)
	list, err := e.analyze(rec, ahead, beside)
	if err != nil {
		return err
	}
	out.Rec = rec
	for _, x := range list {
		opt := e.options(beside, x.TL.Dev)
		out.Devices = append(out.Devices, viewer.Explained{Explanation: x, CapacityBytes: opt.CapacityBytes, LimitBytes: opt.LimitBytes})
	}
	return nil
}

// id names the answers about a file: it differs for whatever makes one of them differ.
// sum has taken in the file's content.
func (d *viewed) id(sum hash.Hash) []byte {
	e := d.v.explain
	build, _ := debug.ReadBuildInfo()
	beside := d.v.app.readSidecar(d.file.Path)
	about, err := json.Marshal([]any{newVersionInfo(d.v.app.Version, build), e.shown(d.file.Path), d.file.Rank, d.v.f.redact, beside, e.joined()})
	if err != nil {
		panic(err) // none of them holds what JSON cannot
	}
	sum.Write(about)
	return sum.Sum(nil)[:idBytes]
}

// idBytes is how much of a SHA-256 sum an id has: no two files of one job share it.
const idBytes = 12

// changed tells whether the file is no longer the one that was read.
func (d *viewed) changed() bool {
	info := d.info.Load()
	if info == nil {
		return false
	}
	now, err := d.v.app.Files.Stat(d.file.Path)
	if err != nil || *info == nil {
		return err != nil
	}
	then := *info
	return now.Size() != then.Size() || !now.ModTime().Equal(then.ModTime()) || !os.SameFile(now, then)
}

// countedReader tells how much of a file was read.
type countedReader struct {
	r          io.Reader
	size, done int64
	told       int64
	note       func(viewer.Stage, float64)
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done += int64(n)
	if c.size > 0 && (c.done-c.told)*100 >= c.size {
		c.told = c.done
		c.note(viewer.Reading, float64(c.done)/float64(c.size))
	}
	return n, err
}
