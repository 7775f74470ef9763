package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

const leaseDevicesLong = `Devices shows the GPUs and MIG instances as leases see them: what may be handed
out, what is, what programs without a lease hold (FOREIGN), and what can still
be had. Of what is kept for a queue, AVAILABLE counts what requests without a
queue can have. GPU is the number that 'ullage top' shows too, and for a MIG
instance that of its GPU; it is the driver's, which is not always CUDA's.`

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
		{Title: "GPU", Right: true},
		{Title: "UUID"},
		{Title: "MODEL", Cut: term.CutAtEnd},
		{Title: "CAPACITY", Right: true},
		{Title: "LEASED", Right: true},
		{Title: "FOREIGN", Right: true},
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
		table.Row(indexText(d), d.UUID, d.Model, units.FormatBytes(d.CapacityBytes), units.FormatBytes(d.GrantedBytes),
			units.FormatBytes(d.ForeignBytes), units.FormatBytes(d.AvailableBytes), strings.Join(kept, ", "), deviceState(d))
	}
	return table.Print(a.Stdout, a.OutLook())
}

func indexText(d *client.Device) string {
	if d.Index == nil {
		return "-"
	}
	return strconv.Itoa(*d.Index)
}

// deviceNumber reads the name of a device that is a number.
func deviceNumber(name string) (n int, ok bool) {
	n, err := strconv.Atoi(name)
	return n, err == nil
}

// deviceUUID returns the UUID of a device that is named by it, or by the number of a GPU.
func deviceUUID(devices []client.Device, name string) (string, error) {
	n, number := deviceNumber(name)
	if !number {
		return name, nil
	}
	var there []string
	for i := range devices {
		d := &devices[i]
		switch {
		case d.Index == nil || d.Parent != "":
		case *d.Index == n:
			return d.UUID, nil
		default:
			there = append(there, indexText(d))
		}
	}
	if len(there) == 0 {
		return "", fmt.Errorf("there is no GPU %d: the agent knows none by a number", n)
	}
	return "", withHint(fmt.Errorf("there is no GPU %d: the numbers are %s", n, strings.Join(there, ", ")), "'ullage lease devices' shows them")
}

// deviceState says in words what is particular about a device.
func deviceState(d *client.Device) string {
	var all []string
	for _, s := range []struct {
		is   bool
		text string
	}{
		{d.Absent, "missing"},
		{d.Unseen && !d.Split, "not looked at"},
		{d.Cordoned, "cordoned"},
		{d.Split, "split into MIG instances"},
		{d.Overfull, "leases and reserves do not fit"},
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
			desc := d.Model
			if d.Parent == "" && d.Index != nil {
				desc = indexText(&d) + ", " + desc
			}
			all = append(all, cobra.CompletionWithDesc(d.UUID, desc))
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}
