package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

const leaseReleaseLong = `Release gives leases back. One that waits is withdrawn. One that has memory
drains until its processes are gone and the driver shows their memory free:
release ends no process.

It releases your own leases. An admin who means another's says whose it is,
with --user. Should the agent's ledger be lost, numbers begin at 1 again: with
--epoch only the lease of that grant is released, and of the lease that the
command is started under ($ULLAGE_LEASE) the grant is known.`

func newLeaseRelease(app *App, c *connection) *cobra.Command {
	var asJSON bool
	var which meantFlags
	cmd := &cobra.Command{
		Use:               "release LEASE...",
		Short:             "Give leases back",
		Long:              leaseReleaseLong,
		Args:              leaseArgs(false),
		ValidArgsFunction: completeLeases(app, c),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.releaseLeases(cmd.Context(), c, args, &which, asJSON)
		},
	}
	which.addTo(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// releaseLeases gives back each that can be.
func (a *App) releaseLeases(ctx context.Context, c *connection, args []string, which *meantFlags, asJSON bool) error {
	agent := c.open(a)
	defer agent.Close()
	released := []client.Lease{}
	var failed []error
	for _, text := range args {
		id, err := leaseID(text)
		if err != nil { // leaseArgs lets none through
			return err
		}
		l, err := agent.Release(ctx, id, which.of(a, id))
		if err != nil {
			if failed = append(failed, agentError(err)); exitCode(failed[len(failed)-1]) == exitUnreachable {
				break // it would not answer for the others either
			}
			continue
		}
		released = append(released, l)
		if !asJSON {
			fmt.Fprintln(a.Stdout, releasedText(&l))
		}
	}
	if asJSON {
		if err := printJSON(a.Stdout, client.Leases{Leases: released}); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

func releasedText(l *client.Lease) string {
	if l.State == "draining" {
		return fmt.Sprintf("lease %d drains until the driver shows its memory free", l.ID)
	}
	return fmt.Sprintf("lease %d has ended", l.ID)
}

const leaseExtendLong = `Extend moves the end of a lease to --ttl from now. It never moves it to before
what it was, and a lease has no more than the agent's settings let its user ask
for. Which lease is meant can be said as for 'ullage lease release'.`

func newLeaseExtend(app *App, c *connection) *cobra.Command {
	var ttl string
	var which meantFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "extend LEASE --ttl TIME",
		Short:             "Give a lease more time",
		Long:              leaseExtendLong,
		Args:              leaseArgs(true),
		ValidArgsFunction: completeLeases(app, c),
		RunE: forLease(func(ctx context.Context, id int64) error {
			if ttl == "" {
				return withHint(usageErrorf("--ttl is missing"), "--ttl TIME: how long from now, as in 90min, 8h or 2d")
			}
			d, err := parseTTL("ttl", ttl)
			if err != nil {
				return err
			}
			agent := c.open(app)
			defer agent.Close()
			l, err := agent.Extend(ctx, id, which.of(app, id), d)
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(app.Stdout, l)
			}
			_, err = fmt.Fprintf(app.Stdout, "lease %d ends at %s\n", l.ID, app.momentText(l.Expires))
			return err
		}),
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().StringVar(&ttl, "ttl", "", "`time` from now, as in 90min, 8h or 2d")
	which.addTo(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

const leaseCordonLong = `%s a GPU, by its number or UUID, or a MIG instance: %s
This is for root and the agent's admin group.`

// newLeaseCordon makes cordon, or uncordon.
func newLeaseCordon(app *App, c *connection, on bool) *cobra.Command {
	use, short, long := "uncordon", "Let new leases on a GPU again", fmt.Sprintf(leaseCordonLong, "Uncordon opens", "new leases may\nbe placed on it again.")
	if on {
		use, short, long = "cordon", "Keep new leases off a GPU", fmt.Sprintf(leaseCordonLong, "Cordon closes", "no new lease is\nplaced on it. Those on it stay.")
	}
	return newDeviceCommand(app, c, use, short, long, func(ctx context.Context, agent *client.Client, uuid string) (client.Device, string, error) {
		d, err := agent.Cordon(ctx, uuid, on)
		return d, "", err
	})
}

const leaseDrainLong = `Drain empties a GPU, by its number or UUID, or a MIG instance: no new lease is
placed on it, and those on it end after --grace at the latest, and are then
treated as leases whose time is over. Until it is uncordoned it stays empty.
This is for root and the agent's admin group.`

func newLeaseDrain(app *App, c *connection) *cobra.Command {
	var grace string
	cmd := newDeviceCommand(app, c, "drain", "Empty a GPU of leases", leaseDrainLong, func(ctx context.Context, agent *client.Client, uuid string) (client.Device, string, error) {
		d, err := parseTTL("grace", grace)
		if err != nil {
			return client.Device{}, "", err
		}
		device, err := agent.Drain(ctx, uuid, d)
		if err != nil {
			return device, "", err
		}
		devices, err := agent.Devices(ctx)
		if err != nil {
			return device, "", err
		}
		leases, err := agent.Leases(ctx, false)
		return device, app.drainText(placesOf(devices, device.UUID), leases), err
	})
	cmd.Flags().StringVar(&grace, "grace", "10min", "`time` that the leases on it have at most")
	return cmd
}

// placesOf are the UUIDs of a device and of the MIG instances that are leased in its stead.
func placesOf(devices []client.Device, uuid string) []string {
	all := []string{uuid}
	for i := range devices {
		if devices[i].Parent == uuid {
			all = append(all, devices[i].UUID)
		}
	}
	return all
}

// drainText says what is on a device that is to be empty, and until when.
func (a *App) drainText(places []string, leases []client.Lease) string {
	var on, drain int
	var last *time.Time
	for i := range leases {
		l := &leases[i]
		if !slices.ContainsFunc(l.Shares, func(s client.Share) bool { return slices.Contains(places, s.Device) }) {
			continue
		}
		if l.State == "draining" {
			drain++
			continue
		}
		on++
		if last == nil || l.Expires != nil && l.Expires.After(*last) {
			last = l.Expires
		}
	}
	var all []string
	if on > 0 {
		text := units.FormatPlural(on, "lease ends", "leases end")
		if last != nil {
			text += " by " + a.momentText(last)
		}
		all = append(all, text)
	}
	if drain > 0 {
		all = append(all, units.FormatPlural(drain, "lease drains", "leases drain"))
	}
	if len(all) == 0 {
		return "no lease is on it"
	}
	return strings.Join(all, ", ")
}

// newDeviceCommand makes a command that changes a device. change also returns what to say besides
// the device's state.
func newDeviceCommand(app *App, c *connection, name, short, long string, change func(context.Context, *client.Client, string) (client.Device, string, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   name + " GPU",
		Short: short,
		Long:  long,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return withHint(usageErrorf("%s takes the number or UUID of one device, but was given %d", cmd.CommandPath(), len(args)), "'ullage lease devices' shows them")
			}
			return nil
		},
		ValidArgsFunction: completeDevices(app, c),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent := c.open(app)
			defer agent.Close()
			devices, err := agent.Devices(cmd.Context())
			if err != nil {
				return agentError(err)
			}
			uuid, err := deviceUUID(devices, args[0])
			if err != nil {
				return err
			}
			d, more, err := change(cmd.Context(), agent, uuid)
			switch {
			case err != nil:
				return agentError(err)
			case asJSON:
				return printJSON(app.Stdout, d)
			}
			text := deviceState(&d)
			if more != "" {
				text += "; " + more
			}
			_, err = fmt.Fprintf(app.Stdout, "%s: %s\n", term.Clean(d.UUID), text)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
