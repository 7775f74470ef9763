package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// factories make the commands. To add one, write its file and add its factory here.
func factories() []func(*App) *cobra.Command {
	return []func(*App) *cobra.Command{
		newRules,
		newExplain,
		newTriage,
		newLint,
		newTune,
		newView,
		newFit,
		newRun,
		newSnap,
		newTop,
		newDoctor,
		newAgent,
		newLease,
		newUsage,
		newLedger,
		newCompletion,
		newVersion,
	}
}

// Groups of commands in the help text.
const (
	groupRead    = "read"
	groupCode    = "code"
	groupRun     = "run"
	groupMachine = "machine"
	groupOther   = "other"
)

const rootLong = `Ullage reads what PyTorch recorded or said about its GPU memory, and tells what
fills it, why it ran out, and what to change.

Results go to standard output, all else to standard error. A file named - is
standard input. With --json, results are JSON, and so are errors.

Colour is decided by, in this order: --color; NO_COLOR, if not empty;
CLICOLOR_FORCE or FORCE_COLOR; TERM=dumb; and whether the output is a terminal.

Exit codes:

` + exitTable

// New makes the command tree for app.
func New(app *App) *cobra.Command {
	root := &cobra.Command{
		Use:               "ullage",
		Short:             "Explain the GPU memory of PyTorch programs",
		Long:              rootLong,
		Args:              cobra.ArbitraryArgs, // unknown commands end in runRoot, which knows what was meant
		RunE:              runRoot,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},

		DisableFlagsInUseLine:      true,
		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().Var(&app.color, "color", "colour the output: auto, always or never")
	completeFlag(root, "color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
	root.PersistentFlags().BoolVarP(&app.quiet, "quiet", "q", false, "no warnings and no progress on standard error")
	help := newHelp()
	root.SetHelpCommand(help)
	root.AddCommand(help)
	for _, make := range factories() {
		root.AddCommand(make(app))
	}
	addGroups(root)
	return root
}

// addGroups adds the groups that have commands, in the order of the help text.
func addGroups(root *cobra.Command) {
	groups := []*cobra.Group{
		{ID: groupRead, Title: "Read a recording:"},
		{ID: groupCode, Title: "Read the code:"},
		{ID: groupRun, Title: "Watch a program:"},
		{ID: groupMachine, Title: "Watch a machine:"},
		{ID: groupOther, Title: "Other commands:"},
	}
	for _, g := range groups {
		if slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.GroupID == g.ID }) {
			root.AddGroup(g)
		}
	}
}

// Run runs the command line args (without the program's name) and returns the exit code.
// When ctx is cancelled, the command stops at the next chance.
func Run(ctx context.Context, app *App, args []string) int {
	app.start(ctx)
	root := New(app)
	root.SetIn(app.Stdin)
	root.SetOut(app.Stdout)
	root.SetErr(app.Stderr)
	root.SetArgs(slices.Clone(append([]string{}, args...)))
	var started bool
	markStart(root, &started)

	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		err = usageErrorf("%w", err)
		if len(hints(err)) == 0 {
			err = withHint(err, "run '%s --help' for usage", cmd.CommandPath())
		}
	}
	if err == nil && app.out.err != nil {
		err = fmt.Errorf("cannot write the result: %w", app.out.err)
	}
	if err != nil {
		app.printError(err, wantsJSON(cmd, args))
	}
	return exitCode(err)
}

// markStart wraps every command to check its flags and to note that it began to run: whatever fails before that
// (flags, arguments, required and exclusive flags) is an error of usage. Cobra returns
// those as plain errors, told apart from the command's own by nothing else.
func markStart(cmd *cobra.Command, started *bool) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			if err := checkFlags(c); err != nil {
				return err
			}
			*started = true
			return run(c, args)
		}
	}
	for _, sub := range cmd.Commands() {
		markStart(sub, started)
	}
}

// runRoot runs where the first argument names no command.
func runRoot(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return unknownCommand(cmd, args[0])
}

func unknownCommand(root *cobra.Command, name string) error {
	err := usageErrorf("%q is not a command of ullage", name)
	if near := root.SuggestionsFor(name); len(near) > 0 {
		return withHint(err, "did you mean 'ullage %s'?", near[0])
	}
	return withHint(err, "run 'ullage --help' for the commands")
}

// newHelp replaces cobra's own help command, which ends in success for a command that
// does not exist.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:               "help [command]",
		Short:             "Help about a command",
		GroupID:           groupOther,
		ValidArgsFunction: completeCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			topic, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(root, strings.Join(args, " "))
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

// completeFlag says what the shell offers as the value of a flag. It panics where cmd has
// no such flag, which is a mistake in the program.
func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

func completeCommands(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, c := range cmd.Root().Commands() {
			if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), prefix) {
				names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// wantsJSON tells whether errors go out as JSON: the command has a flag --json and the
// user gave it. The arguments are searched too, for parsing may have stopped before it.
func wantsJSON(cmd *cobra.Command, args []string) bool {
	flag := cmd.Flags().Lookup("json")
	if flag == nil {
		return false
	}
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return flag.Value.String() == "true" || !flag.Changed && slices.Contains(args, "--json")
}
