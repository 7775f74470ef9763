package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

const leaseDevicesLong = `Devices shows the GPUs and MIG instances as leases see them: what may be handed
out, what is, what programs without a lease hold, and what can still be had. Of
what is kept for a queue, AVAILABLE counts what requests without a queue can
have.`

func newLeaseDevices(app *App, c *connection) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "Show what can be had on each GPU",
		Long:  leaseDevicesLong,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			agent := c.open(app)
			defer agent.Close()
			devices, err := agent.Devices(cmd.Context())
			switch {
			case err != nil:
				return agentError(err)
			case asJSON:
				return printJSON(app.Stdout, client.Devices{Devices: append([]client.Device{}, devices...)})
			}
			return app.printLeaseDevices(devices)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) printLeaseDevices(devices []client.Device) error {
	table := term.Table{Columns: []term.Column{
		{Title: "UUID"},
		{Title: "MODEL", Cut: term.CutAtEnd},
		{Title: "CAPACITY", Right: true},
		{Title: "LEASED", Right: true},
		{Title: "OTHER", Right: true},
		{Title: "AVAILABLE", Right: true},
		{Title: "KEPT FOR", Cut: term.CutAtEnd},
		{Title: "STATE"},
	}}
	for i := range devices {
		d := &devices[i]
		var kept []string
		for _, r := range d.Reserves {
			kept = append(kept, r.Queue+" "+units.FormatBytes(r.Bytes))
		}
		table.Row(d.UUID, d.Model, units.FormatBytes(d.CapacityBytes), units.FormatBytes(d.GrantedBytes),
			units.FormatBytes(d.ForeignBytes), units.FormatBytes(d.AvailableBytes), strings.Join(kept, ", "), deviceState(d))
	}
	return table.Print(a.Stdout, a.OutLook())
}

// deviceState says in words what is particular about a device.
func deviceState(d *client.Device) string {
	var all []string
	for _, s := range []struct {
		is   bool
		text string
	}{
		{d.Absent, "missing"},
		{d.Unseen, "not looked at yet"},
		{d.Cordoned, "cordoned"},
		{d.Split, "split into MIG instances"},
		{d.Overfull, "more granted than there is"},
	} {
		if s.is {
			all = append(all, s.text)
		}
	}
	if len(all) == 0 {
		return "open"
	}
	return strings.Join(all, ", ")
}

func completeDevices(app *App, c *connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		agent := c.open(app)
		defer agent.Close()
		devices, _ := agent.Devices(cmd.Context())
		var all []string
		for _, d := range devices {
			all = append(all, cobra.CompletionWithDesc(d.UUID, d.Model))
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}
