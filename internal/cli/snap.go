package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ullage-dev/ullage/internal/child"
	"github.com/ullage-dev/ullage/internal/term"
)

const snapLong = `Snap has a process that 'ullage run' watches write a recording now, and prints
its path. PID is a Python process that uses CUDA, or the ullage run itself: then
all its processes write one. The program goes on; it stands still while its
recording is put together.

  ullage snap 4711
  ullage explain "$(ullage snap 4711)"`

// defaultSnapTimeout is long enough for a recording of some million events.
const defaultSnapTimeout = 2 * time.Minute

// snapJSON is the output of snap --json. See docs/json.md.
type snapJSON struct {
	Recordings []snapRow `json:"recordings"`
}

type snapRow struct {
	PID       int    `json:"pid"`
	Rank      *int   `json:"rank"`
	Recording string `json:"recording"`
	Error     string `json:"error"`
}

func newSnap(app *App) *cobra.Command {
	var asJSON bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:     "snap PID",
		Short:   "Have a watched process write a recording now",
		Long:    snapLong,
		GroupID: groupRun,
		Args:    onePID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout <= 0 {
				return usageErrorf("--timeout: %v is no time to wait", timeout)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return app.snap(ctx, args[0], asJSON)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return completePIDs(app, args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if unknown := new(pflag.NotExistError); errors.As(err, &unknown) {
			if digits := unknown.GetSpecifiedShortnames(); digits != "" && isDigits(digits) {
				return notPID(cmd, "-"+digits)
			}
		}
		return flagError(cmd, err)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().DurationVar(&timeout, "timeout", defaultSnapTimeout, "how long to wait for the recording")
	return cmd
}

func onePID(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageErrorf("%s takes the PID of one process, but was given %d", cmd.CommandPath(), len(args))
	}
	if pid, err := strconv.Atoi(args[0]); err != nil || pid <= 0 {
		return notPID(cmd, args[0])
	}
	return nil
}

func notPID(cmd *cobra.Command, text string) error {
	return usageErrorf("%s: %.40q is not a PID, the number of a process", cmd.CommandPath(), text)
}

func isDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

func (a *App) snap(ctx context.Context, text string, asJSON bool) error {
	pid, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	watched := child.Watched(child.Bases(a.LookupEnv))
	chosen := child.Select(watched, pid)
	if len(chosen) == 0 {
		return withHint(fmt.Errorf("process %d is not watched, or has not used CUDA yet", pid), "%s", watchedHint(watched))
	}
	rows := askAll(ctx, chosen)
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	if err := a.printSnap(rows, asJSON); err != nil {
		return err
	}
	return failedRows(rows)
}

// askAll asks all processes at once: the ranks of a job often wait for each other.
func askAll(ctx context.Context, chosen []child.Process) []snapRow {
	rows := make([]snapRow, len(chosen))
	var wg sync.WaitGroup
	for i, p := range chosen {
		wg.Go(func() {
			answer, err := p.Ask(ctx)
			rows[i] = snapRow{PID: p.PID, Rank: p.Rank, Recording: answer.Recording, Error: answer.Error}
			if err != nil {
				rows[i].Error = err.Error()
			}
			if errors.Is(err, child.ErrNoAnswer) {
				rows[i].Error += ": it may be in a call that lets no other Python thread run"
			}
		})
	}
	wg.Wait()
	return rows
}

func (a *App) printSnap(rows []snapRow, asJSON bool) error {
	if asJSON {
		return printJSON(a.Stdout, snapJSON{rows})
	}
	for _, r := range rows {
		if r.Recording == "" {
			continue
		}
		if _, err := fmt.Fprintln(a.Stdout, term.Clean(r.Recording)); err != nil {
			return err
		}
	}
	return nil
}

// failedRows is the error of the processes that wrote nothing, or nil.
func failedRows(rows []snapRow) error {
	var failed []string
	for _, r := range rows {
		if r.Recording == "" {
			failed = append(failed, fmt.Sprintf("process %d: %s", r.PID, r.Error))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return errors.New("no recording of " + strings.Join(failed, "; "))
}

// watchedHint says which processes could have been named.
func watchedHint(watched []child.Process) string {
	if len(watched) == 0 {
		return "start the program with 'ullage run'; no process of yours is watched now"
	}
	var names []string
	for _, p := range watched {
		names = append(names, fmt.Sprintf("%d (%s)", p.PID, base(p.Program)))
	}
	return "watched now: " + strings.Join(names, ", ")
}

func completePIDs(app *App, args []string) []string {
	if len(args) > 0 {
		return nil
	}
	var pids []string
	for _, p := range child.Watched(child.Bases(app.LookupEnv)) {
		pids = append(pids, cobra.CompletionWithDesc(strconv.Itoa(p.PID), base(p.Program)))
	}
	return pids
}
