package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mayBeEmpty marks a flag whose empty value means something.
const mayBeEmpty = "ullage:empty"

// allowEmpty says that an empty value of a flag means something: settings of the allocator
// that are none. Every other flag with a value refuses it: a variable of a script that was
// never set would else be taken for the default. It panics where cmd has no such flag, which
// is a mistake in the program.
func allowEmpty(cmd *cobra.Command, flag string) {
	if err := cmd.Flags().SetAnnotation(flag, mayBeEmpty, []string{"true"}); err != nil {
		panic(err)
	}
}

// apart marks flags that exclude each other, with the names of the others.
const apart = "ullage:apart"

// exclusive says that at most one of some flags can be given. It panics where cmd has not all
// of them, which is a mistake in the program.
func exclusive(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		flag := cmd.Flags().Lookup(name)
		if err := cmd.Flags().SetAnnotation(name, apart, append(flag.Annotations[apart], flags...)); err != nil {
			panic(err)
		}
	}
}

// valueForms is what flags of a type that is not text take.
var valueForms = map[string]string{
	"int":      "a whole number",
	"int64":    "a whole number",
	"bool":     "true or false",
	"duration": "a time with its unit, as in 30s or 2m",
}

// checkTop refuses a number of rows that cannot be.
func checkTop(rows int) error {
	if rows < -1 {
		return usageErrorf("--top: %d is no number of rows; -1 is all", rows)
	}
	return nil
}

// checkCommand refuses a command line that names no program, as a variable that was never set
// leaves it.
func checkCommand(args []string) error {
	if strings.TrimSpace(args[0]) == "" {
		return usageErrorf("the command to run is empty: %q", strings.Join(args, " "))
	}
	return nil
}

// flagError tells of a flag that could not be read, in place of what the packages say that
// parse them: it names the flag, what was given, and what is expected.
func flagError(_ *cobra.Command, err error) error {
	var missing *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &missing):
		return valueMissing(missing.GetFlag())
	case errors.As(err, &wrong):
		return wrongValue(wrong.GetFlag(), wrong.GetValue(), wrong.Unwrap())
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return usageErrorf("unknown flag: -%s", unknown.GetSpecifiedName())
	}
	return err
}

func valueMissing(flag *pflag.Flag) error {
	return withHint(usageErrorf("--%s needs a value", flag.Name), "%s", aboutFlag(flag))
}

func wrongValue(flag *pflag.Flag, value string, cause error) error {
	if value == "--" {
		return valueMissing(flag)
	}
	form, ok := valueForms[flag.Value.Type()]
	switch {
	case !ok:
		return usageErrorf("--%s: %w", flag.Name, cause)
	case errors.Is(cause, strconv.ErrRange):
		return withHint(usageErrorf("--%s: %.40q is out of range", flag.Name, value), "%s", aboutFlag(flag))
	}
	return withHint(usageErrorf("--%s: %.40q is not %s", flag.Name, value, form), "%s", aboutFlag(flag))
}

// aboutFlag is the flag's line of the help text.
func aboutFlag(flag *pflag.Flag) string {
	what, usage := pflag.UnquoteUsage(flag)
	name := strings.TrimSpace("--" + flag.Name + " " + strings.ToUpper(what)) // a switch has no what
	return fmt.Sprintf("%s: %s", name, usage)
}

// checkFlags refuses flags that exclude each other, and values that no flag of the command can
// have: none at all, and another flag, which stands where a value was forgotten ("--limit
// --out x").
func checkFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if err == nil {
			err = checkFlag(cmd, flag)
		}
	})
	return err
}

func checkFlag(cmd *cobra.Command, flag *pflag.Flag) error {
	for _, name := range flag.Annotations[apart] {
		if name != flag.Name && cmd.Flags().Changed(name) {
			return withHint(usageErrorf("--%s and --%s cannot be together", flag.Name, name), "run '%s --help' for usage", cmd.CommandPath())
		}
	}
	for _, value := range textsOf(flag) {
		name, isFlag := strings.CutPrefix(value, "--")
		switch {
		case value == "--" || isFlag && cmd.Flags().Lookup(name) != nil:
			return withHint(usageErrorf("--%s needs a value, but %s follows", flag.Name, value), "%s", aboutFlag(flag))
		case strings.TrimSpace(value) == "" && flag.Annotations[mayBeEmpty] == nil:
			return withHint(usageErrorf("--%s: the value is empty", flag.Name), "%s", aboutFlag(flag))
		}
	}
	return nil
}

// textsOf returns the values of a flag that takes text, once or again.
func textsOf(flag *pflag.Flag) []string {
	if all, ok := flag.Value.(pflag.SliceValue); ok {
		if values := all.GetSlice(); len(values) > 0 {
			return values
		}
		return []string{""} // a list by commas makes no value of an empty text
	}
	if flag.Value.Type() == "string" {
		return []string{flag.Value.String()}
	}
	return nil
}
