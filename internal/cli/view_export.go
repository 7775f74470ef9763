package cli

import (
	"context"
	"fmt"
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

// writeWhole writes a file whole or not at all: under another name beside it first. An
// older file keeps its permissions.
func writeWhole(name string, content []byte) (err error) {
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
