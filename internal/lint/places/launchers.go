package places

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
)

// launchIn returns what a container's command starts, where it is a launcher.
func launchIn(c *tree) (l launch, at span, ok bool) {
	for _, step := range containerSteps(c) {
		p := programOf(step.words)
		if l, ok = launchOf(&p, func(string) (int, bool) { return 0, false }); ok {
			return l, l.at, true
		}
	}
	return launch{}, span{}, false
}

// containerSteps returns the commands that a container runs.
func containerSteps(c *tree) []step {
	var words []word
	for _, key := range []string{"entrypoint", "command", "args"} {
		v := c.get(key)
		if v == nil {
			continue
		}
		if v.kind == scalarTree && v.text != "" { // compose splits a text as a shell does
			words = append(words, wordsOf(v)...)
		}
		for _, item := range v.items {
			words = append(words, word{text: item.text, known: item.kind == scalarTree && !isTemplate(item.text), at: item.at})
		}
	}
	return stepsOf(words)
}

// wordsOf splits a command that is one text; every word is where the text is.
func wordsOf(v *tree) []word {
	var words []word
	for _, step := range readScript(v.text, 0).steps {
		words = append(words, step.words...)
	}
	return placed(words, v.at)
}

func placed(words []word, at span) []word {
	for i := range words {
		words[i].at, words[i].bytes = at, span{}
	}
	return words
}

// stepsOf returns the commands of a container's words: those of the script where they are
// sh -c SCRIPT, else themselves.
func stepsOf(words []word) []step {
	i := slices.IndexFunc(words, func(w word) bool { return strings.HasPrefix(w.text, "-") && strings.HasSuffix(w.text, "c") })
	if len(words) == 0 || !slices.Contains([]string{"sh", "bash", "/bin/sh", "/bin/bash"}, words[0].text) || i < 0 || i+1 >= len(words) {
		return []step{{words: words}}
	}
	steps := readScript(words[i+1].text, 0).steps
	for j := range steps {
		steps[j].words = placed(steps[j].words, words[i+1].at)
	}
	return steps
}

// ranksInContainer compares the processes that a container's launcher starts with the GPUs
// that it has.
func (f *file) ranksInContainer(c *tree, gpus int, why string) {
	l, at, ok := launchIn(c)
	if !ok || gpus <= 0 || l.processes <= gpus {
		return
	}
	f.report(at, (&Fault{
		Rule: "dist/ranks-per-gpu", Severity: rules.Warning, Confidence: rules.High,
		Message: fmt.Sprintf("%s starts %d processes in a container that has %s", l.what, l.processes, gpuCount(gpus)),
	}).
		because("%s", why).do("start as many processes as the container has GPUs, or ask for more GPUs"))
}

// accelerate judges a configuration of accelerate: a process a GPU of those that it names.
func (f *file) accelerate(document *tree) {
	if document.get("distributed_type") == nil || document.get("num_processes") == nil {
		return
	}
	n, err := strconv.Atoi(document.scalar("num_processes"))
	machines := document.scalar("num_machines")
	gpus, known := deviceCount(document.scalar("gpu_ids"))
	if err != nil || !known || machines != "" && machines != "1" || document.scalar("use_cpu") == "true" || n <= gpus {
		return
	}
	f.report(document.get("num_processes").at, (&Fault{
		Rule: "dist/ranks-per-gpu", Severity: rules.Warning, Confidence: rules.High,
		Message: fmt.Sprintf("num_processes: %d starts more processes than the %s of gpu_ids", n, gpuCount(gpus)),
	}).
		because("gpu_ids: %s", document.scalar("gpu_ids")).do("write num_processes: %d", gpus))
}
