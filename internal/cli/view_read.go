package cli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"runtime/debug"

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
	v.explain.rename(in.files)
	for _, note := range in.notes {
		if !v.f.redact { // a note names files
			v.app.Warn("%s", note)
		}
	}
	if err := v.explain.readTexts(ctx, in.files); err != nil {
		return nil, err
	}
	var files []viewer.File
	for _, f := range in.files {
		opened := &viewed{v: v, file: f}
		files = append(files, viewer.File{Name: v.explain.shown(f.Path), Rank: f.Rank, Read: opened.read, Changed: opened.changed})
	}
	return files, nil
}

// viewed is a file that is shown.
type viewed struct {
	v    *view
	file snapshot.File
	info fs.FileInfo // when it was read; nil where that means nothing
}

// read reads, replays and explains the file.
func (d *viewed) read(ctx context.Context, note func(viewer.Stage, float64)) (*viewer.Read, error) {
	note(viewer.Reading, 0)
	a, f := d.v.app, d.file
	file, size, err := a.open(f.Path, a.Stdin)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if !a.readsOnce(f.Path) {
		d.info, _ = a.Files.Stat(f.Path) // a file that is gone again has changed
	}
	sum := sha256.New()
	in := &countedReader{r: io.TeeReader(&cancelReader{ctx, file}, sum), size: size, note: note}
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
		return withHint(inputError(fmt.Errorf("%s is a text, which has no events to look at", e.shown(f.Path))), "ullage explain %s", shellWord(f.Path))
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
		out.Devices = append(out.Devices, viewer.Explained{Explanation: x, CapacityBytes: e.options(beside, x.TL.Dev).CapacityBytes})
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
	if d.info == nil {
		return false
	}
	now, err := d.v.app.Files.Stat(d.file.Path)
	return err != nil || now.Size() != d.info.Size() || !now.ModTime().Equal(d.info.ModTime()) || !os.SameFile(now, d.info)
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

// readTexts explains the texts among files, so that recordings are explained with what they say.
func (e *explainer) readTexts(ctx context.Context, files []snapshot.File) error {
	for _, f := range files {
		if _, err := e.explainFile(ctx, f, true); err != nil {
			return err
		}
	}
	return nil
}
