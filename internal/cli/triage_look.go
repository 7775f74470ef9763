package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/doctor"
	"github.com/ullage-dev/ullage/internal/lint"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/triage"
	"github.com/ullage-dev/ullage/snapshot"
)

// look has everything that was named explained or linted, and this machine examined, and
// returns what was found, the gravest first.
func (a *App) look(ctx context.Context, f *triageFlags, args []string) ([]triage.Sight, error) {
	explain, sources, err := a.sortArgs(args)
	if err != nil {
		return nil, err
	}
	sights, err := a.lookAtRuns(ctx, explain, sources)
	if err != nil {
		return nil, err
	}
	more, err := a.lookAtSources(ctx, sources)
	if err != nil {
		return nil, err
	}
	sights = append(sights, more...)
	if !f.elsewhere {
		more, err = a.lookAtMachine(ctx, &f.machine)
		if err != nil {
			return nil, err
		}
		sights = append(sights, more...)
		sights = append(sights, a.lookAtAgent(ctx, &f.machine)...)
	}
	slices.SortStableFunc(sights, func(x, y triage.Sight) int {
		return cmp.Or(cmp.Compare(y.Severity, x.Severity), cmp.Compare(y.Confidence, x.Confidence))
	})
	return sights, nil
}

// sortArgs tells what is to be explained from what is to be linted. A folder is both where it
// has recordings and no file to explain is named.
func (a *App) sortArgs(args []string) (explain, sources []string, err error) {
	var folders []string
	for _, arg := range args {
		switch arg {
		case "":
			return nil, nil, withHint(usageErrorf("a path is empty"), "name a file or a folder; . is this one")
		case "-":
			explain = append(explain, arg)
			continue
		}
		info, err := a.Files.Stat(arg)
		switch {
		case err != nil:
			return nil, nil, inputError(fileError(arg, err))
		case info.IsDir():
			sources = append(sources, arg)
			if a.hasRecordings(arg) {
				folders = append(folders, arg)
			}
		case isSource(arg):
			sources = append(sources, arg)
		default:
			explain = append(explain, arg)
		}
	}
	if len(explain) == 0 {
		explain = folders
	}
	return explain, sources, nil
}

// isSource tells by its name whether a file is linted. A log or a recording may have a name
// that a configuration could have, too: those are explained.
func isSource(name string) bool {
	switch filepath.Ext(name) {
	case ".json", ".txt", ".log", ".html":
		return false
	}
	name = filepath.ToSlash(name)
	return lint.NewPython("").Takes(name, nil) || lint.Places{}.Takes(name, nil)
}

func (a *App) hasRecordings(dir string) bool {
	found, err := snapshot.FindFiles(folder{a.Files, dir}, ".")
	return err == nil && len(found.Files) > 0
}

// lookAtRuns explains recordings, logs and messages. The sources that a recording names are
// looked for below the first folder that was named, too.
func (a *App) lookAtRuns(ctx context.Context, args, sources []string) (sights []triage.Sight, err error) {
	if len(args) == 0 {
		return nil, nil
	}
	e, err := newExplainer(a, &explainFlags{by: "line", top: 1, device: -1})
	if err != nil {
		return nil, err
	}
	e.sources = newSources(a, a.firstFolder(sources))
	defer e.sources.close()
	in, err := a.resolve(args)
	if err != nil {
		return nil, err
	}
	in.notes = slices.DeleteFunc(in.notes, func(note string) bool { return strings.HasPrefix(note, "passed over:") }) // it is linted
	e.take(in)
	devices, err := e.explainAll(ctx, in.files)
	if err != nil {
		return nil, err
	}
	var rows []analyze.RankRow
	for _, d := range devices {
		sights = append(sights, sightsOf(d.row.File, d.findings)...)
		rows = append(rows, d.row)
	}
	for _, t := range e.texts {
		sights = append(sights, sightsOf(t.file, t.result.Findings)...)
	}
	return append(sights, sightsOf("ranks", analyze.CompareRanks(rows).Findings)...), nil
}

// firstFolder is the first of some paths that is a folder; empty where none is.
func (a *App) firstFolder(paths []string) string {
	for _, path := range paths {
		if info, err := a.Files.Stat(path); err == nil && info.IsDir() {
			return path
		}
	}
	return ""
}

func sightsOf(source string, findings []rules.Finding) (sights []triage.Sight) {
	for _, f := range findings {
		sights = append(sights, triage.Sight{
			Rule: f.Rule, Severity: f.Severity, Confidence: f.Confidence, Source: source, Text: f.Title, Causes: f.Causes,
		})
		for _, n := range f.Named { // the mistake behind it, where the source could be read
			sights = append(sights, triage.Sight{
				Rule: n.Rule, Severity: f.Severity, Confidence: n.Confidence,
				Source: fmt.Sprintf("%s:%d", n.File, n.Line), Text: n.Message, Code: true, Tied: true,
			})
		}
	}
	return sights
}

// lookAtSources lints. Where something is wrong for sure, what may be harmless by itself is
// worth a look: the findings that 'ullage lint' shows with --all are taken into account, too.
func (a *App) lookAtSources(ctx context.Context, args []string) (sights []triage.Sight, err error) {
	if len(args) == 0 {
		return nil, nil
	}
	result, err := a.lintAll(ctx, args)
	if err != nil {
		return nil, err
	}
	for _, n := range result.Notices {
		if isUnread(n) && !n.Minor() { // or it would seem to have been looked at
			a.tellNotice(n)
		}
	}
	for _, f := range result.Findings {
		sights = append(sights, triage.Sight{
			Rule: f.Rule, Severity: f.Severity, Confidence: f.Confidence,
			Source: fmt.Sprintf("%s:%s", f.File, f.From.Position), Text: f.Message, Code: true,
		})
	}
	return sights, nil
}

// lintAll runs the linter as 'ullage lint --all' does.
func (a *App) lintAll(ctx context.Context, args []string) (*lint.Result, error) {
	opt, err := a.lintOptions(&lintFlags{all: true}, args)
	if err != nil {
		return nil, err
	}
	python := lint.NewPython(a.cacheFolder("syntax"))
	defer func() { _ = python.Close(context.WithoutCancel(ctx)) }() // it has nothing open
	opt.Checkers = []lint.Checker{python, lint.Places{}}
	result, err := lint.Run(ctx, opt)
	return result, lintError(err)
}

// ofCheck are the rules that checks of the machine stand for, where they do not name one.
var ofCheck = map[string]string{
	"settings/variable":  "conf/ignored-variable",
	"settings/in-force":  "conf/expandable-off",
	"settings/caching":   "conf/no-caching",
	"memory/leftover":    "third/zombie-process",
	"host/shared-memory": "conf/small-shm",
	"host/oom-kills":     "oom/host-killed",
	"visible/devices":    "conf/visible-devices",
	"gpu/shared-memory":  "host/unified-memory",
}

// lookAtMachine examines this machine. What it has is there, and need not be the cause: a
// check that is no problem has medium confidence.
func (a *App) lookAtMachine(ctx context.Context, f *doctorFlags) (sights []triage.Sight, err error) {
	facts, err := a.doctorFacts(ctx, f)
	if err != nil {
		return nil, err
	}
	result := doctor.Examine(facts)
	for _, c := range result.Checks {
		rule := cmp.Or(c.Rule, ofCheck[c.ID])
		if rule == "" || c.State < doctor.Note || c.State == doctor.Note && c.Rule == "" {
			continue
		}
		s := triage.Sight{Rule: rule, Severity: rules.Warning, Confidence: rules.Medium, Source: "this machine", Text: c.Seen, Here: true}
		switch c.State {
		case doctor.Note:
			s.Severity = rules.Info
		case doctor.Problem:
			s.Confidence = rules.High
		}
		sights = append(sights, s)
	}
	return sights, nil
}
