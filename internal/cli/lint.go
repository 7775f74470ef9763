package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/child"
	"github.com/ullage-dev/ullage/internal/lint"
	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

const lintLong = `Lint reads Python sources, notebooks, and the scripts and configurations that
settings live in, and finds what will leak, scatter or waste GPU memory, before
it runs. A path is a file or a folder; - is standard input. In a folder it
passes over what git ignores, links, environments, caches and builds.

It shows what is probably a mistake and does harm; --all shows the rest. It ends
with 3 when a finding that it shows is a warning or worse, or what --fail-on
says.

  ullage lint .
  ullage lint --select leak,peak/activations train.py
  ullage lint --fix --diff src
  ullage lint --format sarif . > ullage.sarif

A comment hides a finding of its line, or alone on a line one of the next:

  total += loss  # ullage: ignore[leak/loss-with-graph] reset by the caller

Settings are in [tool.ullage.lint] of the nearest pyproject.toml, or in [lint]
of ullage.toml: select, ignore, exclude, tests, per-file-ignores, fail-on and
baseline. Flags win over them.`

// lintFlags are the command's flags as they were given.
type lintFlags struct {
	all            bool
	selected       []string
	ignored        []string
	failOn         string
	baseline       string
	updateBaseline bool
	fix, diff      bool
	format         string
	json           bool
	stdinName      string
	noCache        bool
	with           []string
}

// lintFormats are the values of --format.
var lintFormats = []string{"text", "json", "sarif", "github"}

func newLint(app *App) *cobra.Command {
	var f lintFlags
	cmd := &cobra.Command{
		Use:     "lint PATH...",
		Short:   "Find the code and settings that will waste GPU memory",
		Long:    lintLong,
		GroupID: groupCode,
		Args:    atLeast(1, "a file, a folder, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.lint(cmd.Context(), &f, args)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.all, "all", false, "also what may be no mistake, or does little harm")
	fl.StringSliceVar(&f.selected, "select", nil, "look only for these `rules` (beginnings of ids, by commas)")
	fl.StringSliceVar(&f.ignored, "ignore", nil, "do not look for these `rules` (beginnings of ids, by commas)")
	fl.StringVar(&f.failOn, "fail-on", "", "exit with 3 on a finding of this `severity`: error, warning, info or never (default: warning)")
	fl.StringVar(&f.baseline, "baseline", "", "leave out the findings that this `file` has")
	fl.BoolVar(&f.updateBaseline, "update-baseline", false, "write what is found to the baseline")
	fl.BoolVar(&f.fix, "fix", false, "make the repairs that are certain, and print them")
	fl.BoolVar(&f.diff, "diff", false, "print the repairs that --fix would make, and make none")
	fl.StringVar(&f.format, "format", "text", "print findings as `form`: text, json, sarif or github")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	fl.StringVar(&f.stdinName, "stdin-filename", "", "what standard input is, by the `name` of a file")
	fl.BoolVar(&f.noCache, "no-cache", false, "look at every file anew")
	fl.StringArrayVar(&f.with, "with", nil, "raise the findings where memory grew in this `recording`, and list where else it did")
	exclusive(cmd, "format", "json")
	exclusive(cmd, "update-baseline", "fix")
	exclusive(cmd, "update-baseline", "diff")
	for name, words := range map[string][]string{"format": lintFormats, "fail-on": lint.ThresholdWords} {
		completeFlag(cmd, name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	for _, name := range []string{"select", "ignore"} {
		completeFlag(cmd, name, completeRuleList)
	}
	return cmd
}

// completeRuleList completes the last of several ids.
func completeRuleList(cmd *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
	before, last := "", begin
	if i := strings.LastIndexByte(begin, ','); i >= 0 {
		before, last = begin[:i+1], begin[i+1:]
	}
	ids, directive := completeRules(cmd, nil, last)
	for i := range ids {
		ids[i] = before + ids[i]
	}
	return ids, directive
}

// lint runs the command.
func (a *App) lint(ctx context.Context, f *lintFlags, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	opt, err := a.lintOptions(f, args)
	if err != nil {
		return err
	}
	python := lint.NewPython(a.cacheFolder("syntax"))
	defer func() { _ = python.Close(context.WithoutCancel(ctx)) }() // it has nothing open
	opt.Checkers = []lint.Checker{python, lint.Places{}}
	var seen *witness
	if len(f.with) > 0 {
		if seen, err = a.readWitness(ctx, f.with, opt.Dir); err != nil {
			return err
		}
		defer seen.close(ctx)
		opt.Witness = seen
	}
	bar := a.Progress("checking", 0)
	opt.Progress = bar.Add
	result, err := lint.Run(ctx, opt)
	bar.End()
	if err != nil {
		return lintError(err)
	}
	if seen != nil {
		result.Grew = seen.unexplained(f.all)
	}
	fixed, err := a.repair(ctx, f, opt, result)
	if err != nil {
		return err
	}
	_ = opt.Cache.Save(a.Now()) // the next run is slow, and no result is lost
	if f.updateBaseline {
		return a.writeBaselines(f, result)
	}
	if err := a.printLint(f, result, fixed); err != nil {
		return err
	}
	return lintOutcome(result)
}

// check looks at flags that need each other.
func (f *lintFlags) check(args []string) error {
	if f.json {
		f.format = "json"
	}
	for _, ids := range []struct {
		flag string
		list []string
	}{{"select", f.selected}, {"ignore", f.ignored}} {
		for _, id := range ids.list {
			if err := lint.CheckRule(id); err != nil {
				return usageErrorf("--%s: %w", ids.flag, err)
			}
		}
	}
	stdin := slices.Contains(args, "-")
	switch {
	case slices.Contains(args, ""):
		return withHint(usageErrorf("a path is empty"), "name a file or a folder; . is this one")
	case !slices.Contains(lintFormats, f.format):
		return usageErrorf("--format: %.40q is not one of %s", f.format, strings.Join(lintFormats, ", "))
	case f.stdinName != "" && !stdin:
		return withHint(usageErrorf("--stdin-filename is for standard input"), "name standard input, as in: ullage lint --stdin-filename train.py -")
	case stdin && f.fix && !f.diff:
		return withHint(usageErrorf("--fix cannot repair standard input"), "--diff prints what it would change")
	case (f.fix || f.diff) && f.format != "text" && f.format != "json":
		return usageErrorf("--fix and --diff print text or JSON, not %s", f.format)
	}
	return nil
}

// lintOptions turns flags into what package lint takes.
func (a *App) lintOptions(f *lintFlags, args []string) (lint.Options, error) {
	dir, err := filepath.Abs(".")
	if err != nil {
		return lint.Options{}, err
	}
	opt := lint.Options{
		Paths: args, Dir: dir, Files: a.Files, StdinName: f.stdinName, All: f.all, Select: f.selected, Ignore: f.ignored,
		Baseline: f.baseline, NoBaseline: f.updateBaseline,
	}
	if f.failOn != "" {
		least, err := lint.ParseThreshold(f.failOn)
		if err != nil {
			return opt, usageErrorf("--fail-on: %w", err)
		}
		opt.FailOn = &least
	}
	if slices.Contains(args, "-") {
		opt.Stdin, err = io.ReadAll(io.LimitReader(a.Stdin, maxLintStdin+1))
		if err != nil {
			return opt, inputError(fileError("standard input", err))
		}
	}
	if folder := a.cacheFolder("lint"); folder != "" && !f.noCache {
		if exact := a.exactProgram(); exact != "" {
			opt.Cache = lint.OpenCache(folder, opt.Project(), exact)
		}
	}
	return opt, nil
}

// maxLintStdin is more than any checker takes.
const maxLintStdin = 1 << 28

// cacheFolder is a folder of this program among the user's caches; empty where there is none.
func (a *App) cacheFolder(name string) string {
	folder := child.CacheFolder(a.LookupEnv)
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, "ullage", name)
}

// exactProgram names the program so that no other has the name: by its version, or by its file where
// the version does not tell it from others. Empty where neither is known.
func (a *App) exactProgram() string {
	if exact := a.versionInfo().exact(); exact != "" || a.Program == nil {
		return exact
	}
	name, err := a.Program()
	if err != nil {
		return ""
	}
	file, err := a.Files.Stat(name)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d bytes of %s", file.Size(), file.ModTime().UTC().Format(time.RFC3339Nano))
}

// exact names the program by its version; empty where that is not enough, as of one that was built
// from a tree with changes.
func (v versionInfo) exact() string {
	switch {
	case v.Modified || strings.Contains(v.Version, "dirty"):
		return ""
	case v.Version != "devel":
		return v.Version + " " + v.Commit
	}
	return v.Commit
}

// lintError gives errors of package lint their kind.
func lintError(err error) error {
	var config *lint.ConfigError
	var baseline *lint.BaselineError
	if errors.As(err, &config) || errors.As(err, &baseline) {
		return inputError(err)
	}
	return err
}

// repair makes or prints repairs, where that is asked for.
func (a *App) repair(ctx context.Context, f *lintFlags, opt lint.Options, result *lint.Result) ([]lint.Fixed, error) {
	if !f.fix && !f.diff {
		return nil, nil
	}
	var write lint.Write
	if !f.diff {
		write = writeWhole
	}
	fixed, err := result.Fix(ctx, opt, write)
	if err != nil || f.format != "text" {
		return fixed, err
	}
	if err := report.LintDiff(a.Stdout, a.OutLook(), fixed); err != nil {
		return fixed, err
	}
	a.tellRepairs(f, fixed)
	return fixed, nil
}

func (a *App) tellRepairs(f *lintFlags, fixed []lint.Fixed) {
	n := 0
	for _, one := range fixed {
		n += one.Count
	}
	did := "made"
	if f.diff {
		did = "would make"
	}
	a.note("--fix %s %s in %s", did, units.FormatPlural(n, "repair", "repairs"), units.FormatPlural(len(fixed), "file", "files"))
}

// writeBaselines writes what was found where it will not be told from again.
func (a *App) writeBaselines(f *lintFlags, result *lint.Result) error {
	files := result.Baselines()
	if len(files) == 0 {
		return withHint(usageErrorf("--update-baseline: no baseline is named"), "--baseline FILE, or baseline in the configuration, names it")
	}
	for name, text := range files {
		if err := writeWhole(name, text); err != nil {
			return fileError(name, err)
		}
	}
	a.tellNotices(f, result)
	a.note("%s in %s", units.FormatPlural(len(result.Findings), "finding", "findings"), units.FormatPlural(len(files), "baseline", "baselines"))
	return lintUnread(result)
}

// printLint prints the result, and beside it what there is to know.
func (a *App) printLint(f *lintFlags, result *lint.Result, fixed []lint.Fixed) error {
	switch f.format {
	case "json":
		return printJSON(a.Stdout, report.NewLintJSON(result, fixed))
	case "sarif":
		return printJSON(a.Stdout, report.NewSARIF(result, a.versionInfo().Version))
	case "github":
		a.tellNotices(f, result)
		return report.LintGitHub(a.Stdout, result)
	}
	a.tellNotices(f, result)
	return report.LintText(a.Stdout, a.OutLook(), result)
}

// tellNotices prints notices; the minor ones where all is asked for.
func (a *App) tellNotices(f *lintFlags, result *lint.Result) {
	for _, n := range result.Notices {
		if n.Minor() && !f.all {
			continue
		}
		a.tellNotice(n)
	}
	if result.Files == 0 && !slices.ContainsFunc(result.Notices, isUnread) {
		a.Warn("there is nothing to check: no Python, notebook, script or configuration is in what was named")
	}
}

func (a *App) tellNotice(n lint.Notice) {
	place := n.File
	if n.At.Column > 0 {
		place += ":" + n.At.String()
	} else if n.At.Line > 0 {
		place += ":" + units.FormatCount(int64(n.At.Line))
	}
	a.Warn("%s: %s", place, n.Text)
	if n.Hint != "" && !a.quiet {
		a.hint(n.Hint)
	}
}

func isUnread(n lint.Notice) bool { return n.Kind == lint.Unread }

// hint prints advice as that of an error is.
func (a *App) hint(text string) {
	_, _ = io.WriteString(a.Stderr, a.ErrLook().Paint(term.Cyan, "hint:")+" "+term.Clean(text)+"\n") // as other lines there
}

// lintOutcome is the error that the result ends the command with.
func lintOutcome(result *lint.Result) error {
	if err := lintUnread(result); err != nil {
		return err
	}
	failing := slices.DeleteFunc(slices.Clone(result.Findings), func(f lint.Finding) bool { return !f.Fails })
	switch len(failing) {
	case 0:
		return nil
	case 1:
		return findingErrorf("%s:%s: %s", failing[0].File, failing[0].From.Position, failing[0].Rule)
	}
	return findingErrorf("%s to fail on", units.FormatPlural(len(failing), "finding", "findings"))
}

// lintUnread tells of files that could not be read: the result is not whole.
func lintUnread(result *lint.Result) error {
	n := 0
	for _, one := range result.Notices {
		if isUnread(one) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return inputError(errors.New(units.FormatPlural(n, "file", "files") + " could not be read"))
}
