package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

const leaseListLong = `List shows the leases that hold memory: those that are granted, and those that
drain, whose time is over or whose processes are gone, until the driver shows
their memory free. --all also shows those that wait, and those that have ended
and are still remembered.

You see your own; root, and who is in the agent's admin group, sees all.`

func newLeaseList(app *App, c *connection) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show who has GPU memory",
		Long:  leaseListLong,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			agent := c.open(app)
			defer agent.Close()
			leases, err := agent.Leases(cmd.Context(), all)
			switch {
			case err != nil:
				return agentError(err)
			case asJSON:
				return printJSON(app.Stdout, client.Leases{Leases: append([]client.Lease{}, leases...)})
			}
			devices, err := agent.Devices(cmd.Context())
			if err != nil {
				return agentError(err)
			}
			return app.printLeases(leases, devices, all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those that wait or have ended")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) printLeases(leases []client.Lease, devices []client.Device, all bool) error {
	if len(leases) == 0 {
		text := "no lease of yours holds memory"
		if all {
			text = "there is no lease of yours"
		}
		_, err := fmt.Fprintln(a.Stdout, text)
		return err
	}
	table := term.Table{Columns: []term.Column{
		{Title: "LEASE", Right: true},
		{Title: "STATE"},
		{Title: "USER"},
		{Title: "NAME", Cut: term.CutAtEnd},
		{Title: "MEMORY", Right: true},
		{Title: "USED", Right: true},
		{Title: "GPUS", Cut: term.CutAtEnd},
		{Title: "GRADE"},
		{Title: "SINCE"},
		{Title: "UNTIL"},
	}}
	if all {
		table.Columns = append(table.Columns, term.Column{Title: "CAUSE"})
	}
	for i := range leases {
		row := a.leaseRow(&leases[i], devices)
		if all {
			row = append(row, endText(&leases[i]))
		}
		table.Row(row...)
	}
	return table.Print(a.Stdout, a.OutLook())
}

func (a *App) leaseRow(l *client.Lease, devices []client.Device) []string {
	places := make([]string, len(l.Shares))
	for i, s := range l.Shares {
		places[i] = s.Device
		k := slices.IndexFunc(devices, func(d client.Device) bool { return d.UUID == s.Device })
		if k >= 0 && devices[k].Index != nil {
			places[i] = indexText(&devices[k]) + " " + s.Device
		}
	}
	state := l.State
	if l.State == "queued" && l.Position > 0 {
		state += ", " + ordinal(l.Position)
	}
	return []string{
		strconv.FormatInt(l.ID, 10), state, l.User, l.Name, memoryText(l), usedText(l), strings.Join(places, ", "), l.Grade,
		a.momentText(&l.Queued), a.momentText(endOf(l)),
	}
}

// endText is why a lease drains or has ended, and whose doing it was where that is neither its
// user nor the agent.
func endText(l *client.Lease) string {
	switch l.EndedBy {
	case "", "agent", l.User:
		return l.Cause
	}
	return l.Cause + " by " + l.EndedBy
}

// endOf is when a lease ended, else when its time will be over.
func endOf(l *client.Lease) *time.Time {
	if l.Ended != nil {
		return l.Ended
	}
	return l.Expires
}

// momentText prints a moment without the day where that is today's.
func (a *App) momentText(t *time.Time) string {
	if t == nil {
		return "-"
	}
	now := a.Now()
	local := t.In(now.Location())
	if local.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return local.Format(time.TimeOnly)
	}
	return local.Format("2006-01-02 15:04")
}

// memoryText is what a lease has on each device, or asks for there.
func memoryText(l *client.Lease) string {
	bytes := make([]int64, len(l.Shares))
	for i, s := range l.Shares {
		bytes[i] = s.Bytes
	}
	switch bytes = slices.Compact(bytes); {
	case len(bytes) > 1:
		return fmt.Sprintf("%s to %s", units.FormatBytes(slices.Min(bytes)), units.FormatBytes(slices.Max(bytes)))
	case len(bytes) == 1:
		return times(len(l.Shares), bytes[0])
	case l.MemoryBytes == 0:
		return "all"
	}
	return times(l.DeviceCount, l.MemoryBytes)
}

func times(n int, bytes int64) string {
	if n == 1 {
		return units.FormatBytes(bytes)
	}
	return fmt.Sprintf("%d × %s", n, units.FormatBytes(bytes))
}

// usedText is what a lease's processes use on all its devices.
func usedText(l *client.Lease) string {
	if l.State != "granted" && l.State != "draining" {
		return "-"
	}
	var sum int64
	for _, s := range l.Shares {
		if s.UsedBytes == nil {
			return "unknown"
		}
		sum += *s.UsedBytes
	}
	return units.FormatBytes(sum)
}

const leaseExplainLong = `Explain says what keeps a request from starting: what binds it now first, then,
where it waits for memory, the queue before it. Of a lease that does not wait it
says what it has.`

func newLeaseExplain(app *App, c *connection) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "explain LEASE",
		Short:             "Say why a lease waits",
		Long:              leaseExplainLong,
		Args:              leaseArgs(true),
		ValidArgsFunction: completeLeases(app, c),
		RunE: forLease(func(ctx context.Context, id int64) error {
			agent := c.open(app)
			defer agent.Close()
			x, err := agent.Explain(ctx, id)
			switch {
			case err != nil:
				return err
			case asJSON:
				x.Reasons = append([]client.Reason{}, x.Reasons...)
				return printJSON(app.Stdout, x)
			}
			return app.printExplanation(&x)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) printExplanation(x *client.Explanation) error {
	l := &x.Lease
	w := a.Stdout
	if l.State != "queued" {
		return a.printNotWaiting(l)
	}
	first := fmt.Sprintf("lease %d of %s waits for %s", l.ID, l.User, memoryText(l))
	if l.Position > 0 {
		first += ", " + ordinal(l.Position) + " in the queue"
	}
	if _, err := fmt.Fprintf(w, "%s, for %s\n", term.Clean(first), units.FormatDuration(a.Now().Sub(l.Queued))); err != nil {
		return err
	}
	for _, r := range x.Reasons {
		line := r.Text
		if r.Until != nil {
			line += ", until " + a.momentText(r.Until)
		}
		if _, err := fmt.Fprintf(w, "  %-12s %s\n", r.Code, term.Clean(line)); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) printNotWaiting(l *client.Lease) error {
	text := a.grantText(l)
	switch l.State {
	case "granted":
		text += "; it does not wait"
	case "draining":
		text += "; it drains: " + causeText(l) + ", and the driver has not shown its memory free yet"
	default:
		text = fmt.Sprintf("lease %d has ended: %s", l.ID, causeText(l))
	}
	_, err := fmt.Fprintln(a.Stdout, term.Clean(text))
	return err
}
