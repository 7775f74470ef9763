package places

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
)

// shell judges a script of a shell, and a job script of Slurm.
func (f *file) shell() {
	c := &shellCheck{file: f, script: readScript(f.text, 0), slurm: readSlurm(f.text)}
	for i := range c.steps {
		c.step(&c.steps[i])
	}
	c.unexported()
	c.late()
	c.twice()
	c.elsewhere()
	c.slurmExport()
	c.ranks()
	c.vllmInScript()
	f.alone(c.environment())
}

// shellCheck looks at one script.
type shellCheck struct {
	*file
	*script
	slurm *slurmOptions
}

// forPrograms are variables that mean something only to a program that is started: a
// script that sets one wants a program to have it.
func forPrograms(name string) bool {
	return IsAllocator(name) || name == "PYTORCH_NO_CUDA_MEMORY_CACHING" || name == "CUDA_VISIBLE_DEVICES" ||
		strings.HasPrefix(name, "XLA_PYTHON_CLIENT_")
}

// step judges one step by itself.
func (c *shellCheck) step(s *step) {
	p := programOf(s.words)
	for i := range s.sets {
		set := &s.sets[i]
		if c.ownVariable(set.name) || set.name == "PYTORCH_NO_CUDA_MEMORY_CACHING" && debugsMemory(&p) {
			continue
		}
		c.variable(set)
	}
	if isContainer(&p) {
		given := variablesGiven(p.args)
		for i := range given {
			c.variable(&given[i])
		}
		c.sharedMemoryOfRun(&p)
	}
	c.blanksAround(s)
	c.blankBehind(s)
	c.setOfWindows(s)
	c.asArgument(s, &p)
}

// ownVariable tells whether a name that looks misspelt is the script's own: it reads it.
func (c *shellCheck) ownVariable(name string) bool { return !forPrograms(name) && c.uses[name] }

func debugsMemory(p *program) bool {
	return slices.Contains(p.wrappers, "compute-sanitizer") || slices.Contains(p.wrappers, "cuda-memcheck") ||
		p.name == "compute-sanitizer" || p.name == "cuda-memcheck"
}

// noEffect reports a setting that reaches no program.
func (c *shellCheck) noEffect(at span, confidence rules.Confidence, remedy, format string, args ...any) *Fault {
	f := &Fault{Rule: "conf/ignored-variable", Severity: rules.Warning, Confidence: confidence, Message: fmt.Sprintf(format, args...), Remedy: remedy}
	c.report(at, f)
	return f
}

// blanksAround finds "export NAME = value" and "NAME = value".
func (c *shellCheck) blanksAround(s *step) {
	words := s.words
	if len(words) == 0 {
		words = s.loose
	}
	for i := 0; i+1 < len(words); i++ {
		name := words[i].text
		if forPrograms(name) && strings.HasPrefix(words[i+1].text, "=") && (i == 0 || len(s.words) == 0) {
			c.noEffect(s.at, rules.High, fmt.Sprintf("write export %s=… without blanks", name), "%s is not set: the shell takes no blanks around =", name)
			return
		}
	}
}

// blankBehind finds "NAME= 0 program": the variable is empty, and 0 the command.
func (c *shellCheck) blankBehind(s *step) {
	if len(s.sets) == 0 || len(s.words) == 0 || !s.words[0].known || strings.Trim(s.words[0].text, "0123456789,") != "" {
		return
	}
	if set := s.sets[len(s.sets)-1]; forPrograms(set.name) && set.value == "" && !set.unknown {
		c.noEffect(set.at, rules.High, fmt.Sprintf("write %s=%s without the blank", set.name, s.words[0].text), "%s is set to nothing, and %s is taken for the command: the shell takes no blanks around =", set.name, s.words[0].text)
	}
}

// setOfWindows finds "set NAME=value", which in a shell of Unix sets the script's
// arguments.
func (c *shellCheck) setOfWindows(s *step) {
	if len(s.words) < 2 || !s.words[0].is("set") {
		return
	}
	if set, ok := settingOfWord(s.words[1]); ok && forPrograms(set.name) {
		c.noEffect(s.at, rules.High, fmt.Sprintf("write export %s=%s", set.name, set.value), "set does not set %s here: in this shell it sets the arguments of the script", set.name)
	}
}

// asArgument finds settings where a program takes them for its name or an argument.
func (c *shellCheck) asArgument(s *step, p *program) {
	if set, ok := settingOfWord(p.first); ok && forPrograms(set.name) && len(p.wrappers) > 0 && !slices.Contains(p.wrappers, "sudo") {
		before := p.wrappers[len(p.wrappers)-1]
		c.noEffect(p.first.at, rules.High, fmt.Sprintf("move %s in front of %s, or write env %s=… after it", set.name, p.wrappers[0], set.name),
			"%s takes %s=… for the program to start", before, set.name)
		return
	}
	if p.name == "export" && len(p.wrappers) > 0 && len(p.args) > 0 {
		if set, ok := settingOfWord(p.args[0]); ok && forPrograms(set.name) {
			c.noEffect(s.at, rules.High, fmt.Sprintf("write export %s=… without %s", set.name, p.wrappers[0]), "%s starts a process of its own for the export, which ends with it", p.wrappers[0])
		}
		return
	}
	if !p.usesGPU() {
		return
	}
	for _, w := range p.args {
		if set, ok := settingOfWord(w); ok && IsAllocator(set.name) {
			c.noEffect(w.at, rules.High, fmt.Sprintf("move %s in front of the command", set.name), "%s=… stands behind %s, where it is an argument and no variable", set.name, p.name)
		}
	}
}

// unexported finds variables that are set for the shell alone, with programs to follow.
func (c *shellCheck) unexported() {
	if c.exportAll {
		return
	}
	for i, s := range c.steps {
		if len(s.words) > 0 || s.exported || !c.startsProgram(i+1) {
			continue
		}
		for _, set := range s.sets {
			bySlurm := c.slurm.found && set.name == "CUDA_VISIBLE_DEVICES" // exported already: what is set reaches programs
			if forPrograms(set.name) && !c.exports[set.name] && !c.uses[set.name] && !bySlurm {
				c.noEffect(set.at, rules.Medium, fmt.Sprintf("write export %s=…", set.name), "%s is set and not exported, so that no program gets it", set.name)
			}
		}
	}
}

// startsProgram tells whether a step from the given one on starts a program that may use
// a GPU.
func (c *shellCheck) startsProgram(from int) bool {
	return slices.ContainsFunc(c.steps[from:], func(s step) bool {
		p := programOf(s.words)
		return p.usesGPU()
	})
}

// startNothing are commands that start no program, so that what is exported before them
// only is of no use.
var startNothing = []string{"echo", "printf", "wait", "exit", "cd", "set", "unset", "true", "date", "deactivate", "sleep", "trap", "return", "ls", "rm", "cp", "mv", "mkdir", "tar", "nvidia-smi", "kill"}

// late finds what is exported when the last program has run.
func (c *shellCheck) late() {
	for i, s := range c.steps {
		if !s.always || !s.exported || !c.programRanBefore(i) || c.anythingAfter(i+1) {
			continue
		}
		for _, set := range s.sets {
			if forPrograms(set.name) {
				c.noEffect(set.at, rules.Medium, "move the export above the command", "%s is exported after the program, and nothing is started below", set.name)
			}
		}
	}
}

func (c *shellCheck) programRanBefore(i int) bool {
	return slices.ContainsFunc(c.steps[:i], func(s step) bool {
		p := programOf(s.words)
		return s.always && p.usesGPU()
	})
}

func (c *shellCheck) anythingAfter(i int) bool {
	return slices.ContainsFunc(c.steps[i:], func(s step) bool {
		return len(s.words) > 0 && !slices.Contains(startNothing, programOf(s.words).name)
	})
}

// twice finds a variable that is exported again with another value before any program
// had the first.
func (c *shellCheck) twice() {
	last := map[string]*setting{}
	for i := range c.steps {
		s := &c.steps[i]
		if p := programOf(s.words); len(s.words) > 0 && (p.name == "unset" || !slices.Contains(startNothing, p.name)) {
			clear(last)
		}
		if len(s.words) > 0 || !s.always {
			continue
		}
		for j := range s.sets {
			set := &s.sets[j]
			if was := last[set.name]; was != nil && forPrograms(set.name) && !was.unknown && !set.unknown && was.value != set.value {
				m := c.report(set.at, (&Fault{
					Rule: "conf/repeated-option", Severity: rules.Warning, Confidence: rules.High,
					Message: fmt.Sprintf("%s is set a second time, and what it was set to before is lost", set.name),
				}).do("keep one of the two, or put both options into one string"))
				m.Related = append(m.Related, rules.Related{Start: was.at.start, End: was.at.end, What: "set before: " + was.value})
			}
			last[set.name] = set
		}
	}
}

// environment is what the script's programs find: what is exported on every run, and not
// set again.
func (c *shellCheck) environment() []setting {
	var all []setting
	for _, s := range c.steps {
		if s.exported && s.always {
			all = append(all, s.sets...)
		}
	}
	return all
}
