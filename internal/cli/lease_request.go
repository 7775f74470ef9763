package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/child"
	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

const leaseRequestLong = `Request asks for GPU memory, waits until it is granted, and runs a command that
has it: CUDA shows the command the GPUs of the lease and no others, and the
lease lasts until the command and all that it has started are gone. The exit
code is the command's; signals are handed on to it. If the agent ends meanwhile,
the command goes on, and the next agent finds it.

While it waits, it says why on standard error, and Ctrl-C withdraws the request.

Without a command, the lease is held by no process: it lasts until it is
released, or for --ttl, which is needed then. What a program has to be told of
it is printed, with --format env for a shell to take:

  eval "$(ullage lease request --memory 8GiB --ttl 2h --format env)"
  python train.py
  ullage lease release $ULLAGE_LEASE

The limit is watched: what uses more is told so, or stopped, as the agent's
settings have it. 'ullage run --lease' also has PyTorch keep to it.`

func newLeaseRequest(app *App, c *connection) *cobra.Command {
	r := requester{app: app, connection: c}
	cmd := &cobra.Command{
		Use:   "request [flags] [-- COMMAND...]",
		Short: "Ask for GPU memory, and run a command that has it",
		Long:  leaseRequestLong,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.run(cmd.Context(), args)
		},
		DisableFlagsInUseLine: true,
	}
	fl := cmd.Flags()
	fl.SetInterspersed(false) // what follows the command's name is its own
	fl.StringVar(&r.memory, "memory", "", "`size` on each GPU, as in 8GiB")
	r.leaseFlags.addTo(app, cmd, c)
	fl.BoolVar(&r.share, "share", true, "others may be on the GPU too")
	fl.BoolVar(&r.wait, "wait", true, "wait until it is granted")
	fl.StringVar(&r.name, "name", "", "`name` that lists show (default: the command's)")
	fl.StringVar(&r.format, "format", "text", "without a command, what is printed: text, env or json")
	fl.BoolVar(&r.asJSON, "json", false, "the same as --format json")
	exclusive(cmd, "share", "exclusive")
	exclusive(cmd, "wait", "no-wait")
	exclusive(cmd, "json", "format")
	completeFlag(cmd, "format", cobra.FixedCompletions([]string{"text", "env", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// requester carries one run of the command.
type requester struct {
	app *App
	*connection
	leaseFlags
	name, format string
	asJSON       bool
	share, wait  bool // without them, exclusive and noWait
}

func (r *requester) run(ctx context.Context, args []string) error {
	r.exclusive, r.noWait = r.exclusive || !r.share, r.noWait || !r.wait
	req, err := r.request("memory")
	if err != nil {
		return err
	}
	if err := r.check(args); err != nil {
		return err
	}
	req.Name = r.name
	if len(args) > 0 && req.Name == "" {
		req.Name = child.JobName(args)
	}
	req.Detached = len(args) == 0
	agent := r.open(r.app)
	defer agent.Close()
	l, err := (&waiter{app: r.app, agent: agent}).get(ctx, req)
	switch {
	case err != nil:
		return err
	case req.Detached:
		return r.print(l)
	}
	r.app.keepQuiet()
	signals := make(chan os.Signal, 16)
	defer r.app.Signals(signals, child.Signals()...)()
	code, err := r.app.runLeased(agent, &l, child.Command{
		Args: args, Environ: child.WithEnv(r.app.Environ(), leaseVariables(&l, agent.Socket())...),
		Stdin: r.app.stdin, Stdout: r.app.out.w, Stderr: r.app.Stderr,
	}, signals)
	switch {
	case err != nil:
		return startedError(err)
	case code != 0:
		return &programError{code: code}
	}
	return nil
}

// check refuses what goes with a command only, or without one only.
func (r *requester) check(args []string) error {
	if r.asJSON {
		r.format = "json"
	}
	switch r.format {
	case "text", "env", "json":
	default:
		return usageErrorf("--format: %.40q is not one of text, env, json", r.format)
	}
	switch {
	case len(args) > 0 && r.format != "text":
		return usageErrorf("--format and --json are for leases without a command: what a command prints is its own")
	case len(args) > 0:
		return checkLeased(args)
	case r.ttl == "":
		return withHint(usageErrorf("neither a command nor --ttl: a lease that no process holds needs an end"),
			"give a command after --, or --ttl, as in --ttl 2h")
	}
	return nil
}

// checkLeased refuses a command that cannot be run before it waits for its turn.
func checkLeased(args []string) error {
	if err := checkCommand(args); err != nil {
		return err
	}
	return startedError(child.CheckProgram(args[0]))
}

// print shows a lease that no process holds.
func (r *requester) print(l client.Lease) error {
	w := r.app.Stdout
	switch r.format {
	case "json":
		return printJSON(w, l)
	case "env":
		return printExports(w, leaseVariables(&l, r.app.agentSocket(r.socket)))
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", capital(r.app.grantText(&l))); err != nil {
		return err
	}
	return printExports(w, leaseVariables(&l, r.app.agentSocket(r.socket)))
}

// printExports prints variables as a shell takes them.
func printExports(w io.Writer, variables []string) error {
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		if _, err := fmt.Fprintf(w, "export %s=%s\n", name, shellWord(value)); err != nil {
			return err
		}
	}
	return nil
}

// grantText says what a lease has been granted.
func (a *App) grantText(l *client.Lease) string {
	var parts []string
	for _, s := range l.Shares {
		parts = append(parts, units.FormatBytes(s.Bytes)+" on "+term.Clean(s.Device))
	}
	text := fmt.Sprintf("lease %d: %s", l.ID, strings.Join(parts, ", "))
	if l.Expires != nil {
		text += ", until " + l.Expires.In(a.Now().Location()).Format("2006-01-02 15:04:05 MST")
	}
	return text
}

// leaseVariables are what a program is told of its lease, as NAME=VALUE: the GPUs that CUDA
// shows it, what the companion goes by and the agent finds it by, and the agent's socket.
func leaseVariables(l *client.Lease, socket string) []string {
	devices := make([]string, len(l.Shares))
	for i, s := range l.Shares {
		devices[i] = s.Device
	}
	variables := append([]string{"CUDA_VISIBLE_DEVICES=" + strings.Join(devices, ",")}, childLease(l).Environ()...)
	return append(variables, client.SocketVariable+"="+whole(socket))
}

// whole makes a path absolute: programs may work in another folder.
func whole(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// childLease is a lease as programs under it know it. Where it has more on one device than on
// another, the least counts.
func childLease(l *client.Lease) *child.Lease {
	c := child.Lease{ID: l.ID, Epoch: l.Epoch, ContextBytes: l.ContextBytes}
	for i, s := range l.Shares {
		if i == 0 || s.Bytes < c.MemoryBytes {
			c.MemoryBytes = s.Bytes
		}
	}
	return &c
}

// runLeased runs a program, with all that it starts, under a lease, and gives the lease back
// when the last of them is gone. Where that cannot be seen, the agent does: a lease is over
// when no process of it is left. So it does where a signal gives up the waiting, which may be
// the agent's, to a lease that it ends.
func (a *App) runLeased(agent *client.Client, l *client.Lease, c child.Command, signals <-chan os.Signal) (int, error) {
	code, all, err := child.RunTree(c, signals, func() {
		a.Warn("the command has ended, and processes that it started go on: lease %d is held until they are gone", l.ID)
	})
	var over client.Lease
	if all || err != nil {
		over = a.giveBack(agent, l)
	} else {
		over = becameOf(agent, l)
	}
	switch {
	case over.Cause == "stopped", over.Cause == "expired", over.Cause == "drained": // by the agent, which ended the program too
		a.Warn("lease %d was ended by the agent: %s", l.ID, term.Clean(causeText(&over)))
	case over.Cause == "released" && over.EndedBy != "" && over.EndedBy != over.User: // which ends no program
		a.Warn("lease %d was ended before the command: %s", l.ID, term.Clean(causeText(&over)))
	}
	return code, err
}

// becameOf asks what became of a lease; nothing where the agent does not answer, or has another
// lease of that number by now.
func becameOf(agent *client.Client, own *client.Lease) client.Lease {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	l, err := agent.Lease(ctx, own.ID)
	if err != nil || l.Key != own.Key {
		return client.Lease{}
	}
	return l
}

// keepQuiet keeps a write whose reader is gone from ending this process before it has passed
// on a program's exit code. It holds to the end of the process.
func (a *App) keepQuiet() {
	if quiet := child.Quiet(); len(quiet) > 0 {
		a.Signals(make(chan os.Signal, 1), quiet...)
	}
}

// giveBack releases a lease whose processes are gone, and returns what the agent says of it.
// Where the agent does not answer, it will find out by itself. An agent that has begun with
// another ledger meanwhile may have another lease of that number, which is left alone.
func (a *App) giveBack(agent *client.Client, own *client.Lease) client.Lease {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	l, _ := agent.GiveBack(ctx, own)
	return l
}

// ordinal prints a place in a queue.
func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}
