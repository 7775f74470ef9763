package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/client"
)

const leaseLong = `Lease asks the agent of this machine for GPU memory, and tells who has how much.
Memory under a lease is promised: what others were granted, what is kept for
them, and what programs without a lease hold is taken off first.

  ullage lease request --memory 8GiB -- python train.py
  ullage lease list --all
  ullage lease explain 7

A program that runs under a lease, and all that it starts, counts towards the
lease with everything that it takes on the device: contexts and libraries too.`

func newLease(app *App) *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:     "lease",
		Short:   "Ask for GPU memory, and see who has it",
		Long:    leaseLong,
		GroupID: groupMachine,
		Args:    cobra.ArbitraryArgs, // of which runGroup knows what was meant
		RunE:    runGroup,
	}
	c.addTo(cmd, true)
	cmd.AddCommand(
		newLeaseRequest(app, &c), newLeaseList(app, &c), newLeaseExplain(app, &c), newLeaseRelease(app, &c), newLeaseExtend(app, &c),
		newLeaseDevices(app, &c), newLeaseCordon(app, &c, true), newLeaseCordon(app, &c, false), newLeaseDrain(app, &c))
	return cmd
}

// runGroup is what a command that only has others below it does by itself.
func runGroup(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return withHint(usageErrorf("%q is not a command of %s", args[0], cmd.CommandPath()), "run '%s --help' for the commands", cmd.CommandPath())
	}
	return cmd.Help()
}

// connection is how a command finds the agent.
type connection struct{ socket string }

// addTo adds the flag, for the commands below too if inherit.
func (c *connection) addTo(cmd *cobra.Command, inherit bool) {
	flags := cmd.Flags()
	if inherit {
		flags = cmd.PersistentFlags()
	}
	flags.StringVar(&c.socket, "socket", "", "`path` of the agent's socket (default: $"+client.SocketVariable+", else the machine's agent, else your own)")
}

// open returns a client, which connects at its first call.
func (c *connection) open(app *App) *client.Client { return client.New(app.agentSocket(c.socket)) }

// agentError gives an error of the agent's API its kind.
func agentError(err error) error {
	var gone *client.UnreachableError
	var answer *client.AnswerError
	switch {
	case errors.As(err, &gone):
		return &kindError{kindUnreachable, err}
	case !errors.As(err, &answer):
		return err
	case answer.Refused():
		return &kindError{kindRefused, err}
	case answer.Status == http.StatusServiceUnavailable:
		return &kindError{kindUnreachable, err}
	case answer.Status == http.StatusBadRequest:
		return &kindError{kindUsage, err}
	}
	return err
}

// leaseArgs is for commands that take the numbers of leases, or of one only.
func leaseArgs(one bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return withHint(usageErrorf("%s needs the number of a lease", cmd.CommandPath()), "'ullage lease list --all' shows them")
		case one && len(args) > 1:
			return usageErrorf("%s takes one lease, but was given %d", cmd.CommandPath(), len(args))
		}
		for _, text := range args {
			if _, err := leaseID(text); err != nil {
				return usageErrorf("%s: %w", cmd.CommandPath(), err)
			}
		}
		return nil
	}
}

func leaseID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("%.40q is not the number of a lease", text)
	}
	return id, nil
}

// forLease runs a command for the lease that its argument names.
func forLease(run func(ctx context.Context, id int64) error) func(cmd *cobra.Command, args []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := leaseID(args[0])
		if err != nil { // leaseArgs lets none through
			return err
		}
		return agentError(run(cmd.Context(), id))
	}
}

// completeLeases offers the numbers of leases that live.
func completeLeases(app *App, c *connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		agent := c.open(app)
		defer agent.Close()
		leases, _ := agent.Leases(cmd.Context(), true)
		var all []string
		for _, l := range leases {
			if l.State != "ended" {
				all = append(all, cobra.CompletionWithDesc(strconv.FormatInt(l.ID, 10), l.User+" "+l.Name))
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}
