package child

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Option is a number that a program is given: by an argument of its command line, or by a
// variable of its environment.
type Option struct {
	Name  string // as the command line has it: "--batch-size"; "env:BATCH" for a variable
	Value int

	at     []int  // arguments that hold the number; none for a variable
	prefix string // of each, before the number
}

// OptionError is an option that is not there, or is not one alone.
type OptionError struct {
	Name  string
	Found []string // several that the name may mean
	Text  string   // what it is set to, where that is no number
}

func (e *OptionError) Error() string {
	switch {
	case e.Text != "":
		return fmt.Sprintf("%s is %q: expected a whole number", e.Name, e.Text)
	case len(e.Found) > 0:
		return fmt.Sprintf("%q may mean %s", e.Name, strings.Join(e.Found, " or "))
	case strings.HasPrefix(e.Name, envPrefix):
		return fmt.Sprintf("the environment has no variable %s", strings.TrimPrefix(e.Name, envPrefix))
	}
	return fmt.Sprintf("the command has no option %q with a number: looked for --%s N, --%s=N, -%s N and %s=N", e.Name, e.Name, e.Name, e.Name[:1], e.Name)
}

// Hint says what to do.
func (e *OptionError) Hint() string {
	switch {
	case len(e.Found) > 0:
		return "name one of them in full"
	case strings.HasPrefix(e.Name, envPrefix):
		return "set it before the command, as in: " + strings.TrimPrefix(e.Name, envPrefix) + "=8 ullage fit …"
	}
	return "name it as the command has it, or as env:NAME where the program reads a variable; a number within the code has to become one first"
}

const envPrefix = "env:"

// FindOption finds the number that a program is given under a name: "batch" is --batch N,
// --batch=N, -batch N, or batch=N as Hydra has it; without any of these -b N, or the one
// option that has the word in its name and is not of an evaluation, as
// --per_device_train_batch_size. Upper and lower case, hyphens and underscores are alike.
// "env:BATCH" is the variable. An error is an *OptionError.
func FindOption(args, environ []string, name string) (Option, error) {
	if variable, isEnv := strings.CutPrefix(name, envPrefix); isEnv {
		text := lookup(environ, variable)
		if text == "" {
			return Option{}, &OptionError{Name: name}
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return Option{}, &OptionError{Name: name, Text: text}
		}
		return Option{Name: name, Value: n}, nil
	}
	all := numbers(args)
	want := plainOption(name)
	for _, fits := range []func(words []string, o *Option) bool{
		func(words []string, _ *Option) bool { return strings.Join(words, "-") == want },
		func(words []string, _ *Option) bool { return words[len(words)-1] == want && isDotted(words) },
		func(words []string, o *Option) bool { return isShort(o.Name) && words[0] == want[:1] },
		func(words []string, _ *Option) bool { return hasWord(words, want) && !ofEvaluation(words) },
	} {
		found := slices.DeleteFunc(slices.Clone(all), func(o Option) bool { return !fits(optionWords(o.Name), &o) })
		if len(found) > 0 {
			return merge(name, found)
		}
	}
	return Option{}, &OptionError{Name: name}
}

// numbers returns all options of a command line that have a whole number.
func numbers(args []string) []Option {
	var out []Option
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		dashed := strings.HasPrefix(arg, "-")
		switch {
		case joined && optionWords(name) != nil:
			if n, err := strconv.Atoi(value); err == nil {
				out = append(out, Option{name, n, []int{i}, name + "="})
			}
		case dashed && !joined && i+1 < len(args) && optionWords(name) != nil:
			if n, err := strconv.Atoi(args[i+1]); err == nil {
				out = append(out, Option{name, n, []int{i + 1}, ""})
			}
		}
		if digits := strings.TrimLeft(arg, "-"); dashed && len(digits) > 1 && !strings.HasPrefix(arg, "--") {
			if n, err := strconv.Atoi(digits[1:]); err == nil && optionWords(digits[:1]) != nil { // -b64
				out = append(out, Option{"-" + digits[:1], n, []int{i}, "-" + digits[:1]})
			}
		}
	}
	return out
}

// merge makes one option of several finds: those of one name are set together, since of
// several the last counts with some programs and the first with others.
func merge(name string, found []Option) (Option, error) {
	one := found[len(found)-1]
	one.at = nil
	var names []string
	for _, o := range found {
		if plainOption(o.Name) == plainOption(one.Name) && o.prefix == one.prefix {
			one.at = append(one.at, o.at...)
		}
		if !slices.Contains(names, o.Name) {
			names = append(names, o.Name)
		}
	}
	if len(names) > 1 {
		return Option{}, &OptionError{Name: name, Found: names}
	}
	return one, nil
}

// With returns the command line and the environment with another number.
func (o *Option) With(args, environ []string, value int) (newArgs, newEnviron []string) {
	text := strconv.Itoa(value)
	if variable, isEnv := strings.CutPrefix(o.Name, envPrefix); isEnv {
		return args, WithEnv(environ, variable+"="+text)
	}
	args = slices.Clone(args)
	for _, i := range o.at {
		args[i] = o.prefix + text
	}
	return args, environ
}

// plainOption is an option's name with the differences taken away that do not count.
func plainOption(name string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimLeft(name, "-+~"), "_", "-"))
}

// optionWords splits an option's name into words: "--train.batch_size" is train, ., batch,
// size. nil for what is no name.
func optionWords(name string) []string {
	plain := plainOption(name)
	if plain == "" || plain[0] >= '0' && plain[0] <= '9' || strings.ContainsAny(plain, "/\\ :,") {
		return nil
	}
	plain = strings.ReplaceAll(plain, ".", "-.-")
	return strings.Split(plain, "-")
}

// isDotted tells whether the last word stands alone after a dot: train.batch.
func isDotted(words []string) bool { return len(words) > 2 && words[len(words)-2] == "." }

func isShort(name string) bool {
	return len(name) == 2 && name[0] == '-'
}

// hasWord tells whether the words of want follow one another in a name; "batchsize" has
// batch too.
func hasWord(words []string, want string) bool {
	joined := "-" + strings.Join(words, "-") + "-"
	return strings.Contains(joined, "-"+want+"-") || strings.Contains(joined, "-"+want+"size-")
}

func ofEvaluation(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"eval", "val", "valid", "validation", "test"}, w)
	})
}
