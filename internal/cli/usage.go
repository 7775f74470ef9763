package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/ledger"
	"github.com/ullage-dev/ullage/internal/term"
)

const usageLong = `Usage adds up what leases held, by user, group or project: memory times the time
from the grant until the driver had shown it free. A GiB-hour is one GiB for an
hour, used or not.

  ullage usage --by project --since 30d
  ullage usage --by user --since 2026-11-01 --until 2026-12-01

It asks the agent, which tells you of yourself, and root and its admin group of
all. Where none runs, --ledger reads the file that it kept, in which a lease
that has not ended counts until now:

  ullage usage --ledger /var/lib/ullage/ledger.db --by user

--since and --until take a span (90min, 24h, 30d) before now, or a moment
(2026-11-30, in UTC, or 2026-11-30T08:00:00Z).`

type usageFlags struct {
	connection
	by, since, until, ledger string
	asJSON                   bool
}

func newUsage(app *App) *cobra.Command {
	var f usageFlags
	cmd := &cobra.Command{
		Use:     "usage",
		Short:   "Add up who held how much GPU memory for how long",
		Long:    usageLong,
		GroupID: groupMachine,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.usage(cmd.Context(), &f)
		},
	}
	f.addTo(cmd, false)
	cmd.Flags().StringVar(&f.by, "by", "user", "whose sums: user, group or project")
	cmd.Flags().StringVar(&f.since, "since", "30d", "`when` it begins")
	cmd.Flags().StringVar(&f.until, "until", "", "`when` it ends (default: now)")
	cmd.Flags().StringVar(&f.ledger, "ledger", "", "read this `file` instead of asking the agent")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	exclusive(cmd, "ledger", "socket")
	completeFlag(cmd, "by", cobra.FixedCompletions(scopes(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func scopes() []string {
	return []string{string(lease.User), string(lease.Group), string(lease.Project)}
}

func (a *App) usage(ctx context.Context, f *usageFlags) error {
	if !slices.Contains(scopes(), f.by) {
		return usageErrorf("--by: %.40q is not one of user, group, project", f.by)
	}
	now := a.Now()
	since, err := parseMoment("since", f.since, now)
	if err != nil {
		return err
	}
	until := now
	if f.until != "" {
		if until, err = parseMoment("until", f.until, now); err != nil {
			return err
		}
	}
	if until.After(now) { // what is held now would count as held until then
		until = now
	}
	if !since.Before(until) {
		return usageErrorf("--since: %s is not before the end, %s", since.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339))
	}
	u, err := a.readUsage(ctx, f, since, until)
	switch {
	case err != nil:
		return err
	case f.asJSON:
		u.Rows = append([]client.UsageRow{}, u.Rows...)
		return printJSON(a.Stdout, u)
	}
	return a.printUsage(&u)
}

// readUsage asks the agent, or reads a ledger.
func (a *App) readUsage(ctx context.Context, f *usageFlags, since, until time.Time) (client.Usage, error) {
	if f.ledger == "" {
		agent := f.open(a)
		defer agent.Close()
		u, err := agent.Usage(ctx, f.by, since, until)
		return u, agentError(err)
	}
	u := client.Usage{By: f.by, Since: since.UTC(), Until: until.UTC()}
	err := readLedger(ctx, f.ledger, func(r *ledger.Reader) error {
		rows, err := r.Usage(ctx, lease.Scope(f.by), since.UnixMilli(), until.UnixMilli())
		for _, row := range rows {
			u.Rows = append(u.Rows, client.UsageRow{Name: row.Name, Leases: row.Leases, GiBHours: row.GiBSeconds / 3600, GiBSeconds: row.GiBSeconds})
		}
		if err != nil {
			return err
		}
		ms, err := r.CompleteMS(ctx)
		if ms > 0 {
			at := time.UnixMilli(ms).UTC()
			u.Complete = &at
		}
		return err
	})
	return u, err
}

func (a *App) printUsage(u *client.Usage) error {
	const minute = "2006-01-02 15:04 MST"
	if _, err := fmt.Fprintf(a.Stdout, "from %s to %s\n\n", u.Since.UTC().Format(minute), u.Until.UTC().Format(minute)); err != nil {
		return err
	}
	if u.Complete != nil && u.Since.Before(*u.Complete) {
		a.Warn("leases that ended before %s are no longer kept: what they held is missing here", u.Complete.UTC().Format(minute))
	}
	if len(u.Rows) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no lease held memory then")
		return err
	}
	table := term.Table{Columns: []term.Column{
		{Title: map[string]string{"user": "USER", "group": "GROUP", "project": "PROJECT"}[u.By]},
		{Title: "LEASES", Right: true},
		{Title: "GIB-HOURS", Right: true},
	}}
	for _, row := range u.Rows {
		table.Row(row.Name, strconv.FormatInt(row.Leases, 10), strconv.FormatFloat(row.GiBHours, 'f', 2, 64))
	}
	return table.Print(a.Stdout, a.OutLook())
}
