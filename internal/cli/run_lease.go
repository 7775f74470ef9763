package cli

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ullage-dev/ullage/internal/child"
	"github.com/ullage-dev/ullage/internal/client"
)

// leaseOnly are flags of run that say something of the lease.
var leaseOnly = []string{"gpus", "gpu", "priority", "queue", "project", "ttl", "no-wait"}

// checkLeaseFlags refuses flags that say something of a lease where none is asked for.
func (r *runner) checkLeaseFlags(cmd *cobra.Command) (err error) {
	if r.wantsLease() {
		if _, err = r.f.request("lease"); err == nil {
			err = checkLeased(r.args)
		}
		return err
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && slices.Contains(leaseOnly, f.Name) {
			err = usageErrorf("--%s is about a lease, and needs --lease", f.Name)
		}
	})
	return err
}

func (r *runner) wantsLease() bool { return r.f.memory != "" || r.f.exclusive }

// prepareLease gets the lease that was asked for, or finds out which one the run is under, and
// what the agent's socket is, for processes tell it of their memory in any case.
func (r *runner) prepareLease(ctx context.Context) (err error) {
	socket := r.app.agentSocket(r.f.socket)
	if !r.wantsLease() {
		if r.cfg.Lease, err = child.LeaseOf(r.app.LookupEnv); err != nil {
			return &kindError{kindUsage, err}
		}
		if _, err := r.app.Files.Stat(socket); err == nil {
			r.cfg.Socket = whole(socket)
		}
		return nil
	}
	req, err := r.f.request("lease")
	if err != nil {
		return err
	}
	req.Name = r.cfg.Job
	r.agent = client.New(socket)
	l, err := (&waiter{app: r.app, agent: r.agent}).get(ctx, req)
	if err != nil {
		return err
	}
	r.leased = &l
	r.cfg.Socket, r.cfg.Lease = whole(socket), childLease(&l)
	return nil
}

// runProgram runs the program: under a lease with all that it starts, for they have it too.
func (r *runner) runProgram(session *child.Session, signals <-chan os.Signal) (int, error) {
	if r.leased == nil {
		return child.Run(r.command(session), signals)
	}
	return r.app.runLeased(r.agent, r.leased, r.command(session), signals)
}
