package places

import (
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
)

// elsewhere finds exported settings that do not reach a program, because it is started
// where the script's environment does not go: by sudo, or in a container.
func (c *shellCheck) elsewhere() {
	exported := map[string]*setting{}
	for i := range c.steps {
		s := &c.steps[i]
		if len(s.words) == 0 && s.exported {
			for j := range s.sets {
				exported[s.sets[j].name] = &s.sets[j]
			}
		}
		if len(s.words) > 0 {
			c.leftBehind(s, exported)
		}
	}
}

// leftBehind judges one command.
func (c *shellCheck) leftBehind(s *step, exported map[string]*setting) {
	for _, name := range allocatorNames {
		set := exported[name]
		if set == nil {
			continue
		}
		p := programOf(s.words)
		var who, remedy string
		switch {
		case slices.Contains(p.wrappers, "sudo") && p.usesGPU() && !keepsEnvironment(s.words, name):
			who, remedy = "sudo", "write sudo --preserve-env="+name
		case isContainerRun(&p) && !passesVariable(p.args, name):
			who, remedy = "the container", "write -e "+name+" behind "+p.name+" run"
		default:
			continue
		}
		m := c.report(s.words[0].at, (&Fault{
			Rule: "conf/ignored-variable", Severity: rules.Warning, Confidence: rules.Medium,
			Message: name + " is exported above, and " + who + " does not pass it on",
		}).do("%s", remedy))
		m.Related = append(m.Related, rules.Related{Start: set.at.start, End: set.at.end, What: "exported here"})
		delete(exported, name) // once is enough
	}
}

// keepsEnvironment tells whether sudo is told to keep the variable, or all.
func keepsEnvironment(words []word, name string) bool {
	return slices.ContainsFunc(words, func(w word) bool {
		return !w.known || w.text == "-E" || strings.HasPrefix(w.text, "--preserve-env") || strings.HasPrefix(w.text, name)
	})
}

// isContainer tells whether a command starts a program in a container.
func isContainer(p *program) bool {
	return len(p.args) > 0 && slices.Contains([]string{"docker", "podman", "nerdctl", "apptainer", "singularity"}, p.name) &&
		slices.Contains([]string{"run", "exec", "create"}, p.args[0].text)
}

// variablesGiven returns the variables that a container is given: -e NAME=value, and the
// longer forms of it.
func variablesGiven(words []word) []setting {
	var all []setting
	for i, w := range words {
		value, long := strings.CutPrefix(w.text, "--env=")
		switch {
		case long:
			offset := len("--env=")
			w.text = value
			if w.bytes.end > w.bytes.start {
				w.bytes.start += offset
			}
		case i > 0 && (words[i-1].is("-e") || words[i-1].is("--env")):
		default:
			continue
		}
		if s, ok := settingOfWord(w); ok {
			all = append(all, s)
		}
	}
	return all
}

// isContainerRun tells whether a command starts a container with a GPU.
func isContainerRun(p *program) bool {
	if p.name != "docker" && p.name != "podman" || len(p.args) == 0 || !p.args[0].is("run") {
		return false
	}
	if slices.ContainsFunc(p.args, func(w word) bool { return w.is("nvidia-smi") }) {
		return false // it looks at the GPU, and allocates nothing
	}
	return slices.ContainsFunc(p.args, func(w word) bool {
		return strings.HasPrefix(w.text, "--gpus") || w.text == "--runtime=nvidia" || strings.Contains(w.text, "nvidia.com/gpu")
	})
}

// passesVariable tells whether a container gets the variable: it is named, or words that
// are not known may name it.
func passesVariable(words []word, name string) bool {
	return slices.ContainsFunc(words, func(w word) bool {
		return !w.known || strings.Contains(w.text, name) || strings.HasPrefix(w.text, "--env-file") || w.text == "--env-host"
	})
}
