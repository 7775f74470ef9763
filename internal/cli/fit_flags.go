package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/fit"
	"github.com/ullage-dev/ullage/internal/units"
)

func (r *fitter) checkArgs() error {
	if len(r.args) > 0 {
		if err := checkCommand(r.args); err != nil {
			return err
		}
	}
	return errors.Join(checkTop(r.f.top), r.checkOutFile("--out", r.f.out), r.checkOutFile("--recording", r.f.recording))
}

// checkOutFile refuses a file that cannot be made, or would be made in the place of what is
// read, before the program runs for minutes.
func (r *fitter) checkOutFile(flag, name string) error {
	if name == "" {
		return nil
	}
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return usageErrorf("%s: %s is a folder: expected a file", flag, name)
	}
	for _, read := range slices.Concat(r.f.trace, r.args) {
		if other, err := os.Stat(read); err == nil && info != nil && os.SameFile(info, other) {
			return usageErrorf("%s: %s is what is read, and would be lost", flag, name)
		}
	}
	if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
		return usageErrorf("%s: there is no folder %s for %s", flag, filepath.Dir(name), filepath.Base(name))
	}
	return nil
}

// readCard finds the card, by name or in a file.
func (r *fitter) readCard(ctx context.Context) (err error) {
	if r.profile, err = fit.FindProfile(r.f.gpu); err == nil {
		return nil
	}
	if !strings.ContainsAny(r.f.gpu, `./\`) {
		return usageErrorf("--gpu: %w", err)
	}
	file, _, err := r.app.open(ctx, r.f.gpu, r.app.Stdin)
	if err != nil {
		return err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, fit.MaxProfileBytes+1))
	if err != nil {
		return inputError(fmt.Errorf("%s: %w", r.f.gpu, err))
	}
	if r.profile, err = fit.ParseProfile(data, r.f.gpu); err != nil {
		return withHint(inputError(err), "docs/formats/profile.md has the form; ullage fit --calibrate writes such a file")
	}
	return nil
}

func (r *fitter) parseSizes() (err error) {
	if r.f.deviceMemory != "" {
		card := *r.profile
		if card.TotalBytes, err = positiveBytes(r.f.deviceMemory); err != nil {
			return usageErrorf("--device-memory: %w", err)
		}
		r.profile = &card
	}
	if r.f.limit != "" {
		if r.limit, err = positiveBytes(r.f.limit); err != nil {
			return usageErrorf("--limit: %w", err)
		}
	}
	return nil
}

func (r *fitter) parseConf() error {
	s, err := allocator.ParseConfig(allocator.Newest, r.f.allocConf)
	if err != nil {
		return withHint(usageErrorf("--alloc-conf: %w", err), "settings are name:value by commas, as in expandable_segments:True,max_split_size_mb:128")
	}
	cfg := s.ForDevice(r.profile.TotalBytes)
	r.config = &cfg
	return nil
}

// fitBudgets are the peaks that a budget may be set for.
var fitBudgets = []string{"process", "reserved", "safe", "allocated"}

func (r *fitter) parseBudgets() error {
	for _, b := range list(r.f.budget) {
		name, size, ok := strings.Cut(b, "=")
		known := false
		for _, n := range fitBudgets {
			known = known || n == name
		}
		if !ok || !known {
			return usageErrorf("--budget: %q is not process=SIZE, reserved=SIZE, safe=SIZE or allocated=SIZE", b)
		}
		n, err := units.ParseBytes(size)
		if err != nil {
			return usageErrorf("--budget: %w", err)
		}
		r.budgets = append(r.budgets, budget{name, n})
	}
	return nil
}
