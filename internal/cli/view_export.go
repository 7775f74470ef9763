package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/internal/viewer"
)

// export writes the page with its answers to a file, or to standard output.
func (v *view) export(ctx context.Context, server *viewer.Server, files int) error {
	if err := v.load(ctx, server, files); err != nil {
		return err
	}
	bar := v.app.Progress("making the page", v.maxBytes)
	page, err := server.Export(ctx, viewer.ExportOptions{MaxBytes: v.maxBytes, Redacted: v.f.redact, Progress: bar.Add})
	bar.End()
	if err != nil {
		return err
	}
	for _, line := range page.LeftOut {
		v.app.note("%s", line)
	}
	if v.f.export == "-" {
		_, err := v.app.Stdout.Write(page.Page)
		return err
	}
	if err := writeWhole(v.f.export, page.Page); err != nil {
		return fileError(v.f.export, err)
	}
	fmt.Fprintf(v.app.Stdout, "%s: %s\n", v.f.export, units.FormatBytes(int64(len(page.Page))))
	return nil
}

// pageHead is how much of a file tells whether it is a page of this program.
const pageHead = 1 << 10

// checkTarget tells, before minutes are spent on reading, why the page cannot go to a file.
// What is there already is replaced only if it is such a page itself, or empty: in
// --export *.pickle the shell puts a recording in the page's place.
func checkTarget(name string) error {
	if name == "" || name == "-" {
		return nil
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err = os.Stat(filepath.Dir(name))
	case err != nil || !info.Mode().IsRegular(): // what writes to it says more
	default:
		err = checkReplaced(name)
	}
	if err != nil {
		return fileError(name, err)
	}
	return nil
}

// checkReplaced tells why a file must not be replaced by a page.
func checkReplaced(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, pageHead))
	if err == nil && len(head) > 0 && !viewer.IsExported(head) {
		err = withHint(errors.New("there is a file of another kind, which --export does not replace"), "give the page another name, as --export page.html")
	}
	return err
}

// writeWhole writes a file whole or not at all: under another name beside it first. An
// older file keeps its permissions.
func writeWhole(name string, content []byte) (err error) {
	if target, linkErr := filepath.EvalSymlinks(name); linkErr == nil {
		name = target // a link stays one
	}
	mode := os.FileMode(0o644)
	if info, statErr := os.Stat(name); statErr == nil {
		if !info.Mode().IsRegular() { // a device or a pipe cannot be replaced by a file
			return os.WriteFile(name, content, mode)
		}
		mode = info.Mode().Perm()
	}
	part, err := os.CreateTemp(filepath.Dir(name), ".ullage-*.part")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(part.Name())
		}
	}()
	if _, err = part.Write(content); err == nil {
		err = part.Chmod(mode)
	}
	if closeErr := part.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(part.Name(), name)
	}
	return err
}
