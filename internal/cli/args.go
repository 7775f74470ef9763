package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// noArgs is for commands that take nothing but flags. Flags are looked at first: what stands
// behind one without a value looks like an argument.
func noArgs(cmd *cobra.Command, args []string) error {
	if err := checkFlags(cmd); err != nil {
		return err
	}
	if len(args) > 0 {
		return usageErrorf("%s takes no argument, but was given %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// oneOf is for commands that take one word of a list.
func oneOf(words ...string) cobra.PositionalArgs {
	list := strings.Join(words, ", ")
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageErrorf("%s takes one argument (%s), but was given %d", cmd.CommandPath(), list, len(args))
		}
		for _, w := range words {
			if args[0] == w {
				return nil
			}
		}
		return usageErrorf("%s: %q is not one of %s", cmd.CommandPath(), args[0], list)
	}
}

// atLeast is for commands that take files: what names them in the message.
func atLeast(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usageErrorf("%s needs %s", cmd.CommandPath(), what)
		}
		return nil
	}
}
