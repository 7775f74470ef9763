package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// print prints everything that was found out.
func (e *explainer) print(devices []explained) error {
	var rows []analyze.RankRow
	for _, d := range devices {
		rows = append(rows, d.row)
	}
	ranks := analyze.CompareRanks(rows)
	if f, ok := e.gate.matches(ranks.Findings); ok {
		e.failed = append(e.failed, f)
	}
	if e.f.json {
		return e.printJSON(devices, ranks)
	}
	w, look := e.app.Stdout, e.app.OutLook()
	for i, t := range e.texts {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := report.Text(w, look, t.file, t.report, t.result, e.f.markdown); err != nil {
			return err
		}
	}
	if len(e.texts) > 0 && len(devices) > 0 {
		fmt.Fprintln(w)
	}
	if len(devices) > 1 || len(ranks.Findings) > 0 {
		if err := report.Ranks(w, look, ranks, e.f.markdown); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return e.printDevices(w, devices)
}

func (e *explainer) printJSON(devices []explained, ranks analyze.RanksReport) error {
	out := report.ExplainJSON{Devices: []report.DeviceJSON{}, Budgets: e.budget}
	for _, d := range devices {
		out.Devices = append(out.Devices, d.json)
	}
	if len(devices) > 0 {
		out.Ranks = report.NewRanksJSON(ranks)
	}
	for _, t := range e.texts {
		out.Texts = append(out.Texts, report.NewTextJSON(t.file, t.report, t.result))
	}
	return printJSON(e.app.Stdout, out)
}

// maxFull is how many devices are printed in full without --verbose.
const maxFull = 2

// printDevices prints the devices that matter in full: all of few; of many, the one
// that ran out of memory, or else the one with the highest peak.
func (e *explainer) printDevices(w io.Writer, devices []explained) error {
	show := devices
	if len(devices) > maxFull && !e.f.verbose {
		show = []explained{slices.MaxFunc(devices, func(a, b explained) int { return compareRows(a.row, b.row) })}
	}
	for i, d := range show {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if _, err := io.WriteString(w, d.text); err != nil {
			return err
		}
	}
	if len(show) < len(devices) {
		fmt.Fprintf(w, "\nThe other %d are in the table above; --verbose prints them all, or name one file.\n", len(devices)-len(show))
	}
	for _, b := range e.budget {
		fmt.Fprintln(w, "\n"+b.Text())
	}
	return nil
}

func compareRows(a, b analyze.RankRow) int {
	weight := func(r analyze.RankRow) int64 {
		if r.Died {
			return 1<<62 + r.AllocatedBytes
		}
		return r.AllocatedBytes
	}
	switch d := weight(a) - weight(b); {
	case d < 0:
		return -1
	case d > 0:
		return 1
	}
	return 0
}

// verdict turns what the user asked to fail on into an error.
func (e *explainer) verdict() error {
	if len(e.gate.budgets) > 0 && len(e.budget) == 0 {
		return inputError(errors.New("a budget is held against the peaks of a recording, and there is none among the inputs"))
	}
	for _, b := range e.budget {
		if !b.Kept {
			return findingErrorf("%s", b.Text())
		}
	}
	for _, t := range e.texts {
		if f, ok := e.gate.matches(t.result.Findings); ok {
			e.failed = append(e.failed, f)
		}
	}
	if len(e.failed) > 0 {
		return findingErrorf("%s: %s", e.failed[0].Rule, e.failed[0].Title)
	}
	return nil
}

// compare prints what changed from the recording of --against to the one given.
func (e *explainer) compare(ctx context.Context, files []snapshot.File) error {
	if len(files) != 1 {
		return usageErrorf("--against compares one recording with another, but %d were given", len(files))
	}
	before, err := e.side(ctx, snapshot.File{FileInfo: snapshot.FileInfo{Path: e.f.against}, Rank: -1})
	if err != nil {
		return err
	}
	after, err := e.side(ctx, files[0])
	if err != nil {
		return err
	}
	diff := analyze.Diff(before, after, e.f.top)
	if e.f.json {
		return printJSON(e.app.Stdout, report.ExplainJSON{Devices: []report.DeviceJSON{}, Diff: diff})
	}
	return report.Diff(e.app.Stdout, e.app.OutLook(), before.TL.Rec.Source.Name, after.TL.Rec.Source.Name, diff, e.f.markdown)
}

// side is the device of a recording with the most events, at the moment asked for.
func (e *explainer) side(ctx context.Context, f snapshot.File) (side analyze.DiffSide, err error) {
	err = e.withInput(ctx, f, func(in *snapshot.Input, ahead *timeline.Ahead) error {
		rec, err := e.readRecording(in, f)
		if err != nil {
			return err
		}
		devices := e.devicesOf(rec)
		if len(devices) == 0 {
			return e.noDeviceError(rec)
		}
		dev := slices.MaxFunc(devices, func(a, b *snapshot.Device) int { return a.Events.Len() - b.Events.Len() })
		tl, sites := ahead.Build(rec, dev), analyze.NewSites(rec)
		x, err := analyze.Explain(tl, sites, e.opt)
		if err != nil {
			return usageErrorf("%s: %w", rec.Source.Name, err)
		}
		side = analyze.DiffSide{TL: tl, Sites: sites, Event: x.Accounting.Event}
		return nil
	})
	return side, err
}
