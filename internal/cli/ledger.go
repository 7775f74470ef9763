package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/ledger"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

const ledgerLong = `Ledger looks at the file in which leases of GPU memory are kept: who held how
much of which device, and every decision that led there. Nothing is changed,
and the program that writes the file may go on meanwhile.

  ullage ledger check /var/lib/ullage/ledger.db
  ullage ledger export --since 30d /var/lib/ullage/ledger.db`

const ledgerCheckLong = `Check replays every decision of a ledger, from the first that is kept on, and
looks for what must not be: memory granted over a device's capacity, a lease
that is granted twice or has come back, decisions that are missing or out of
order, and tables or snapshots that say other than the decisions. It ends with
exit code 3 where it finds a fault, and with 4 where the file cannot be read as
a ledger.`

const ledgerExportLong = `Export prints every event that a ledger keeps, one JSON object a line, in order.
They are the audit: each says when it was, and who brought it about. What
follows from them is not printed.

--since takes a span (90min, 24h, 30d) before now, or a moment (2026-11-30, in
UTC, or 2026-11-30T08:00:00Z).`

func newLedger(app *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "ledger",
		Short:   "Check or export the file that leases of GPU memory are kept in",
		Long:    ledgerLong,
		GroupID: groupMachine,
		Args:    cobra.ArbitraryArgs, // of which runGroup knows what was meant
		RunE:    runGroup,
	}
	cmd.AddCommand(newLedgerCheck(app), newLedgerExport(app))
	return cmd
}

func newLedgerCheck(app *App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Look for faults in a ledger of leases",
		Long:  ledgerCheckLong,
		Args:  oneLedger,
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.checkLedger(cmd.Context(), args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newLedgerExport(app *App) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "Print every decision of a ledger as JSON, one a line",
		Long:  ledgerExportLong,
		Args:  oneLedger,
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := parseSince(since, app.Now())
			if err != nil {
				return err
			}
			return app.exportLedger(cmd.Context(), args[0], from)
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "leave out what was before: a span before now, or a moment")
	return cmd
}

func oneLedger(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageErrorf("%s takes the file of one ledger, but was given %d", cmd.CommandPath(), len(args))
	}
	return nil
}

// ledgerCheckJSON is the output of ledger check --json. See docs/json.md.
type ledgerCheckJSON struct {
	File    string   `json:"file"`
	Schema  int      `json:"schema"`
	Base    int64    `json:"base"`
	Events  int64    `json:"events"`
	Leases  int64    `json:"leases"`
	Held    int      `json:"held"`
	Waiting int      `json:"waiting"`
	Faults  []string `json:"faults"`
}

func (a *App) checkLedger(ctx context.Context, path string, asJSON bool) error {
	var found ledger.Report
	err := readLedger(ctx, path, func(r *ledger.Reader) (err error) {
		found, err = r.Check(ctx)
		return err
	})
	switch {
	case err != nil:
		return err
	case asJSON:
		err = printJSON(a.Stdout, ledgerCheckJSON{path, found.Schema, found.Base, found.Events, found.Leases, found.Held, found.Waiting, found.Faults})
	default:
		err = printLedgerCheck(a.Stdout, path, &found)
	}
	if n := len(found.Faults); err == nil && n > 0 {
		err = findingErrorf("%s: %s", path, units.FormatPlural(n, "fault", "faults"))
	}
	return err
}

// readLedger opens a ledger to look at. What goes wrong is the file's fault.
func readLedger(ctx context.Context, path string, look func(*ledger.Reader) error) error {
	r, err := ledger.Read(ctx, path)
	if err != nil {
		return inputError(err)
	}
	defer r.Close()
	if err := look(r); err != nil {
		return inputError(fmt.Errorf("%s: %w", path, err))
	}
	return nil
}

func printLedgerCheck(w io.Writer, path string, r *ledger.Report) error {
	verdict := "no fault found"
	if len(r.Faults) > 0 {
		verdict = term.Clean(strings.Join(r.Faults, "\n"))
	}
	before := ""
	if r.Base > 0 {
		before = fmt.Sprintf(" after event %d", r.Base)
	}
	_, err := fmt.Fprintf(w, "%s: schema %d, %s%s, %s: %s memory, %s\n%s\n", term.Clean(path), r.Schema,
		units.FormatPlural(int(r.Events), "event", "events"), before, units.FormatPlural(int(r.Leases), "lease", "leases"),
		units.FormatPlural(r.Held, "holds", "hold"), units.FormatPlural(r.Waiting, "waits", "wait"), verdict)
	return err
}

func (a *App) exportLedger(ctx context.Context, path string, since time.Time) error {
	lines := json.NewEncoder(a.Stdout)
	lines.SetEscapeHTML(false)
	return readLedger(ctx, path, func(r *ledger.Reader) error {
		return r.Export(ctx, since.UnixMilli(), func(e ledger.Exported) error { return lines.Encode(e) })
	})
}

// parseSince reads the value of --since. Without one it is the epoch, before which there are no
// ledgers.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Unix(0, 0), nil
	}
	return parseMoment("since", text, now)
}

// parseMoment reads a moment, or a span before now. One that leads to before the epoch leads there:
// whoever asks for the last thousand years wants all.
func parseMoment(flag, text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	span, err := units.ParseDuration(text)
	switch {
	case errors.Is(err, units.ErrTooLong), err == nil && span > now.Sub(time.Unix(0, 0)):
		return time.Unix(0, 0), nil
	case err != nil:
		return now, usageErrorf("--%s %q: expected a span as 24h or 30d, or a moment as 2026-11-30 or 2026-11-30T08:00:00Z", flag, text)
	}
	return now.Add(-span), nil
}
