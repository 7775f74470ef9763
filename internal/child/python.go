package child

import (
	"regexp"
	"strings"
)

var pythonName = regexp.MustCompile(`^(?:python|pypy)[0-9.]*[td]*$`)

// isPython tells whether a word of a command line names a Python interpreter.
func isPython(word string) bool {
	return pythonName.MatchString(strings.TrimSuffix(strings.ToLower(baseOf(word)), ".exe"))
}

// baseOf is the last part of a path of any system.
func baseOf(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// pythonArgs returns what follows the first Python interpreter of a command line, and
// whether there is one: "nice -n 5 python -u train.py" gives "-u train.py".
func pythonArgs(args []string) ([]string, bool) {
	for i, a := range args {
		if isPython(a) {
			return args[i+1:], true
		}
	}
	return nil, false
}

// ShutsOut returns the option of a command line that keeps Python from finding the
// companion: -I and -E have it ignore PYTHONPATH, -S has it import no sitecustomize. "" is
// the good answer.
func ShutsOut(args []string) string {
	rest, _ := pythonArgs(args)
	for i := 0; i < len(rest); i++ {
		flags, isFlag := strings.CutPrefix(rest[i], "-")
		switch {
		case !isFlag || flags == "" || flags == "-":
			return ""
		case flags == "-check-hash-based-pycs":
			i++ // its value is the next word
		case flags[0] == '-':
		default:
			option, takesNext, last := shortOptions(flags)
			if option != "" || last {
				return option
			}
			if takesNext {
				i++
			}
		}
	}
	return ""
}

// shortOptions looks at options of one letter in one word, as in "-uI": which of them shuts
// the companion out, whether the next word is a value, and whether Python reads no options
// after this word.
func shortOptions(flags string) (option string, takesNext, last bool) {
	for i, f := range flags {
		switch f {
		case 'I', 'E', 'S':
			return "-" + string(f), false, false
		case 'W', 'X', 'Q':
			return "", i == len(flags)-1, false
		case 'c', 'm':
			return "", false, true
		}
	}
	return "", false, false
}

// JobName returns a name for what a command line runs, good for the name of a file: that of
// the script or module that Python is given, else that of the program.
func JobName(args []string) string {
	name := args[0]
	if rest, ok := pythonArgs(args); ok {
		name = scriptOf(rest, name)
	} else {
		for _, a := range args[1:] {
			if strings.HasSuffix(a, ".py") { // as given to torchrun, accelerate launch and the like
				name = a
				break
			}
		}
	}
	return cleanName(strings.TrimSuffix(strings.TrimSuffix(baseOf(name), ".py"), ".exe"))
}

// scriptOf returns the script or module among the arguments of Python, or otherwise.
func scriptOf(rest []string, otherwise string) string {
	for i := 0; i < len(rest); i++ {
		flags, isFlag := strings.CutPrefix(rest[i], "-")
		switch {
		case !isFlag:
			return rest[i]
		case flags == "" || flags[0] == '-':
			continue
		case strings.HasSuffix(flags, "m") && i+1 < len(rest):
			return rest[i+1]
		case strings.HasSuffix(flags, "c"):
			return otherwise
		}
		if _, takesNext, _ := shortOptions(flags); takesNext {
			i++
		}
	}
	return otherwise
}

// maxJobName bounds the part of a file's name that a user's file gives.
const maxJobName = 60

// cleanName keeps of a name what every file system takes. An underscore stands between the
// parts of a recording's name, and so not within one.
func cleanName(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return '-'
	}, name)
	clean = strings.Trim(clean[:min(len(clean), maxJobName)], "-")
	if clean == "" {
		return "program"
	}
	return clean
}
