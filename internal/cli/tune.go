package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/internal/tune"
	"github.com/ullage-dev/ullage/internal/units"
	"github.com/ullage-dev/ullage/snapshot"
)

const tuneLong = `Tune replays what was recorded under other settings of PyTorch's allocator and
other limits, and gives the peaks that a real run would have: with no
--alloc-conf it searches for the settings that need the least, and says which
line to export. Several files, or a folder, are taken for the ranks of one job:
one setting for all, judged by the rank that needs the most.

An --alloc-conf is taken whole, commas and all; an empty one is PyTorch's
defaults. --limit is a memory fraction in bytes, as
torch.cuda.set_per_process_memory_fraction sets it; --device-memory the size of
the card. Without them the recording's own limit counts, where it shows one.

  ullage tune run.pickle
  ullage tune --device-memory 24GiB run.pickle
  ullage tune --alloc-conf expandable_segments:True --limit 20GiB run.pickle
  ullage tune --alloc-conf '' --alloc-conf max_split_size_mb:128 rank*.pickle`

// tuneFlags are the command's flags as they were given.
type tuneFlags struct {
	confs        []string
	limit        string
	deviceMemory string
	torch        string
	device       int
	json         bool
	markdown     bool
}

func newTune(app *App) *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:     "tune FILE...",
		Short:   "Find the allocator settings that need the least memory",
		Long:    tuneLong,
		GroupID: groupRead,
		Args:    atLeast(1, "a recording, a folder, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t := &tuning{app: app, f: &f}
			return t.run(cmd.Context(), args)
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.confs, "alloc-conf", nil, "try these `settings` instead of searching; may be repeated")
	allowEmpty(cmd, "alloc-conf")
	fl.StringVar(&f.limit, "limit", "", "the `size` that the allocator may reserve (a memory fraction, in bytes)")
	fl.StringVar(&f.deviceMemory, "device-memory", "", "the `size` of the device's memory")
	fl.StringVar(&f.torch, "torch", "", "simulate this `version` of PyTorch (default: the newest that can have made the recording)")
	fl.IntVar(&f.device, "device", -1, "look only at this device `ordinal`; -1 is all")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	fl.BoolVar(&f.markdown, "markdown", false, "print Markdown")
	exclusive(cmd, "json", "markdown")
	return cmd
}

// tuning carries one run of the command.
type tuning struct {
	app *App
	f   *tuneFlags
}

func (t *tuning) run(ctx context.Context, args []string) error {
	room, err := t.room()
	if err != nil {
		return err
	}
	programs, err := t.read(ctx, args)
	if err != nil {
		return err
	}
	if room == (tune.Room{}) {
		room = tune.RecordedRoom(programs)
	}
	torch, err := t.torch(programs[0].TL.Rec)
	if err != nil {
		return err
	}
	v := &report.Tuning{Torch: torch}
	settings, err := t.settings(torch.Version)
	if err != nil {
		return err
	}
	stop := t.try(ctx, v, programs, room, settings)
	if stop != nil {
		return stop
	}
	if t.f.json {
		return printJSON(t.app.Stdout, report.NewTuneJSON(v))
	}
	return report.Tune(t.app.Stdout, t.app.OutLook(), v, t.f.markdown)
}

// room is the memory that the flags give.
func (t *tuning) room() (room tune.Room, err error) {
	if err := checkOrdinal(t.f.device); err != nil {
		return room, err
	}
	for _, w := range []struct {
		flag, text string
		to         *int64
	}{{"limit", t.f.limit, &room.LimitBytes}, {"device-memory", t.f.deviceMemory, &room.DeviceBytes}} {
		if w.text == "" {
			continue
		}
		if *w.to, err = units.ParseBytes(w.text); err != nil {
			return room, usageErrorf("--%s: %w", w.flag, err)
		}
		if *w.to <= 0 {
			return room, usageErrorf("--%s: %s is no amount of memory to run in", w.flag, w.text)
		}
		room.Source = tune.Given
	}
	return room, nil
}

// torch is the release to simulate.
func (t *tuning) torch(rec *snapshot.Recording) (tune.Torch, error) {
	if t.f.torch == "" {
		return tune.AssumeTorch(rec), nil
	}
	v, err := allocator.ParseVersion(t.f.torch)
	if err != nil {
		return tune.Torch{}, usageErrorf("--torch: %w", err)
	}
	if _, err := allocator.ParseConfig(v, ""); err != nil {
		return tune.Torch{}, usageErrorf("--torch: %w", err)
	}
	if v.AtLeast(allocator.Newest.Major, allocator.Newest.Minor+1) {
		t.app.Warn("PyTorch %v is newer than what is known here: %v is simulated", v, allocator.Newest)
		v = allocator.Newest
	}
	return tune.GivenTorch(v, rec), nil
}

// settings reads the settings that were given.
func (t *tuning) settings(v allocator.Version) ([]tune.Setting, error) {
	var list []tune.Setting
	for _, conf := range t.f.confs {
		s, err := tune.ParseSetting(v, conf)
		var refused *allocator.ConfigError
		switch {
		case errors.As(err, &refused):
			return nil, withHint(usageErrorf("--alloc-conf %q: %w", conf, err), "--torch VERSION reads it as another release does")
		case err != nil:
			return nil, usageErrorf("--alloc-conf %w", err)
		}
		list = append(list, s)
	}
	return list, nil
}

// try tries the given settings, or searches.
func (t *tuning) try(ctx context.Context, v *report.Tuning, programs []*tune.Program, room tune.Room, settings []tune.Setting) error {
	bar := t.app.Progress("simulating", tune.Estimate(programs, len(settings))).Counting("calls")
	defer bar.End()
	v.Tuner = tune.New(v.Torch.Version, programs, room, tune.Options{
		Progress: func(calls int) { bar.Add(int64(calls)) },
		Stop:     func() bool { return ctx.Err() != nil },
	})
	if err := v.Tuner.CheckRoom(settings); err != nil {
		return usageErrorf("%w", err)
	}
	if len(settings) > 0 {
		v.Results = v.Tuner.Try(settings)
		return ctx.Err()
	}
	v.Results = v.Tuner.Search()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	a := v.Tuner.Advise(v.Results)
	v.Advice = &a
	if f, ok := v.Tuner.Finding(a); ok {
		v.Findings = append(v.Findings, f)
	}
	return nil
}

// read reads all files and compiles what ran on each device.
func (t *tuning) read(ctx context.Context, args []string) ([]*tune.Program, error) {
	in, err := t.app.resolve(args)
	if err != nil {
		return nil, err
	}
	for _, note := range in.notes {
		t.app.Warn("%s", note)
	}
	var programs []*tune.Program
	for list, err := range inOrder(len(in.files), 2, func(i int) ([]*tune.Program, error) { return t.compileFile(ctx, in.files[i]) }) {
		if err != nil {
			return nil, err
		}
		programs = append(programs, list...)
	}
	return programs, nil
}

// compileFile reads a recording and compiles the devices on which something ran.
func (t *tuning) compileFile(ctx context.Context, f snapshot.File) (programs []*tune.Program, err error) {
	e := &explainer{app: t.app, f: &explainFlags{device: t.f.device}}
	err = e.withInput(ctx, f, func(in *snapshot.Input, ahead *timeline.Ahead) error {
		if in.IsText() {
			return withHint(inputError(fmt.Errorf("%s is a text: only a recording tells what to replay", e.shown(f.Path))), "'ullage explain' reads texts")
		}
		rec, err := e.readRecording(in, f)
		if err != nil {
			return err
		}
		devices := e.devicesOf(rec)
		if len(devices) == 0 {
			return noDeviceError(e, rec)
		}
		programs, err = compileDevices(rec, devices, ahead)
		return err
	})
	return programs, err
}

// noDeviceError says why a recording has nothing to replay.
func noDeviceError(e *explainer, rec *snapshot.Recording) error {
	if len(rec.Devices) == 0 {
		return inputError(fmt.Errorf("%s: the recording is empty: no segments and no events on any device; under backend:cudaMallocAsync PyTorch records none", rec.Source.Name))
	}
	return e.noDeviceError(rec)
}

// compileDevices compiles the devices that can be replayed. If none can, the error is
// that of the first.
func compileDevices(rec *snapshot.Recording, devices []*snapshot.Device, ahead *timeline.Ahead) (programs []*tune.Program, err error) {
	for _, dev := range devices {
		tl := ahead.Build(rec, dev)
		died := -1
		if fatal := analyze.FindOOMs(tl, 0).Fatal; fatal != nil {
			died = fatal.Event
		}
		p, cannot := tune.Compile(tl, died)
		if cannot != nil {
			if err == nil {
				err = inputError(fmt.Errorf("%s, %s: %w", rec.Source.Name, report.DeviceName(dev), cannot))
			}
			continue
		}
		programs = append(programs, p)
	}
	if len(programs) > 0 {
		return programs, nil
	}
	return nil, err
}
