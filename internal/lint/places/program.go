package places

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// wrappers are programs that start another with the environment that they have, and which
// of their options take a value in a word of its own.
var wrappers = map[string][]string{
	"nohup": nil, "exec": nil, "command": nil, "time": {"-f", "-o"}, "nice": {"-n"}, "ionice": {"-c", "-n", "-p"}, "timeout": {"-s", "-k"},
	"stdbuf": {"-i", "-o", "-e"}, "setsid": nil, "taskset": nil, "numactl": {"-N", "-m", "-C"}, "unbuffer": nil,
	"sudo": {"-u", "-g", "-h", "-p", "-C"}, "srun": {"-n", "-N", "-c", "-p", "-G", "-t", "-w", "-J", "-o", "-e", "-A", "-q", "-x", "-D"},
	"compute-sanitizer": {"--tool"}, "cuda-memcheck": {"--tool"}, "cuda-gdb": nil, "nsys": nil, "ncu": nil,
}

// runners start a program in an environment of Python: "uv run python train.py".
var runners = []string{"uv", "poetry", "pdm", "pixi", "hatch", "pipenv"}

// takesOne are wrappers whose first word that is no option is their own.
var takesOne = []string{"timeout", "taskset"}

// program is what a command starts in the end, wrappers taken off.
type program struct {
	name     string   // its last part, as "python"
	args     []word   // after the name
	wrappers []string // outermost first
	first    word     // the word that names it
}

// programOf finds the program of a command. It has no name where that is not known.
func programOf(words []word) program {
	var p program
	for len(words) > 0 {
		if !words[0].known {
			return p
		}
		p.first, p.name, p.args = words[0], path.Base(words[0].text), words[1:]
		if slices.Contains(runners, p.name) && len(p.args) > 1 && p.args[0].is("run") {
			words = skipOptions(p.args[1:], nil)
			continue
		}
		withValue, isWrapper := wrappers[p.name]
		if !isWrapper {
			return p
		}
		rest := skipOptions(p.args, withValue)
		if slices.Contains(takesOne, p.name) && len(rest) > 0 {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return p
		}
		p.wrappers = append(p.wrappers, p.name)
		words = rest
	}
	return p
}

func skipOptions(words []word, withValue []string) []word {
	for len(words) > 0 && strings.HasPrefix(words[0].text, "-") {
		if slices.Contains(withValue, words[0].text) && len(words) > 1 {
			words = words[1:]
		}
		words = words[1:]
	}
	return words
}

// usesGPU tells whether the program may well use a GPU: Python on a program, or a launcher.
func (p *program) usesGPU() bool {
	switch {
	case isPython(p.name):
		return !p.isTool()
	case slices.Contains([]string{"torchrun", "accelerate", "deepspeed", "vllm", "mpirun", "mpiexec", "jupyter", "colossalai", "composer", "tune", "llamafactory-cli", "axolotl", "lightning"}, p.name):
		return true
	}
	return false
}

func isPython(name string) bool {
	rest, ok := strings.CutPrefix(name, "python")
	return ok && strings.Trim(rest, "0123456789.") == ""
}

// isTool tells whether Python runs something that installs or asks, not a program.
func (p *program) isTool() bool {
	if len(p.args) == 0 {
		return true
	}
	for _, tool := range []string{"--version", "-V", "-c", "setup.py", "-"} {
		if p.args[0].text == tool {
			return true
		}
	}
	return p.args[0].text == "-m" && len(p.args) > 1 && slices.Contains([]string{"pip", "venv", "virtualenv", "ensurepip", "build", "json.tool", "http.server", "compileall"}, p.args[1].text)
}

// option returns the value of the last option of one of the names: "--name=value", or
// "--name value". One that is made when the script runs is the name of its variable, with
// a $ before it.
func option(words []word, names ...string) (value string, at word, ok bool) {
	for i, w := range words {
		name, v, equals := strings.Cut(w.text, "=")
		if !slices.Contains(names, name) {
			continue
		}
		switch {
		case equals:
			value, at, ok = v, w, true
		case i+1 < len(words):
			value, at, ok = words[i+1].text, words[i+1], true
		}
	}
	return value, at, ok
}

// launch is a program that starts several processes on one machine.
type launch struct {
	what      string // as "torchrun --nproc_per_node=4"
	processes int
	at        span
}

// launchOf returns how many processes a launcher starts on each machine, one a GPU as all
// of them mean it, where that is a number or a variable whose number is known.
func launchOf(p *program, number func(string) (int, bool)) (launch, bool) {
	words := p.args
	names := []string{"--nproc_per_node", "--nproc-per-node"}
	switch {
	case p.name == "torchrun":
	case isPython(p.name) && len(words) > 1 && words[0].is("-m") && slices.Contains([]string{"torch.distributed.run", "torch.distributed.launch"}, words[1].text):
	case p.name == "accelerate" && len(words) > 0 && words[0].is("launch"):
		if machines, _, given := option(words, "--num_machines", "--num-machines"); given && machines != "1" {
			return launch{}, false
		}
		if slices.ContainsFunc(words, func(w word) bool { return w.is("--cpu") || w.is("--config_file") }) {
			return launch{}, false
		}
		names = []string{"--num_processes", "--num-processes"}
	default:
		return launch{}, false
	}
	value, at, ok := option(ownOptions(words), names...)
	n, err := strconv.Atoi(value)
	if name, isVariable := strings.CutPrefix(value, "$"); ok && isVariable {
		n, ok = number(name)
	} else if err != nil {
		return launch{}, false
	}
	if !ok || n <= 0 {
		return launch{}, false
	}
	return launch{what: names[0] + "=" + value, processes: n, at: at.at}, true
}

// ownOptions are the words before the script that a launcher starts: what follows is the
// script's own.
func ownOptions(words []word) []word {
	for i, w := range words {
		if strings.HasSuffix(w.text, ".py") {
			return words[:i]
		}
	}
	return words
}
