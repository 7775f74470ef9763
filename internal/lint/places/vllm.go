package places

import (
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
)

// expandableHere returns the last setting that turns expandable segments on, where none
// after it sets the variable to something else.
func expandableHere(all []setting) (on *setting) {
	for i := range all {
		if s := &all[i]; IsAllocator(s.name) {
			on = nil
			if !s.unknown && strings.Contains(strings.ReplaceAll(s.value, " ", ""), "expandable_segments:True") {
				on = s
			}
		}
	}
	return on
}

// vllm judges a program that is started with expandable segments on: where it is vLLM, and
// uses what does not go with them.
func (f *file) vllm(p *program, all []setting) {
	on := expandableHere(all)
	if on == nil || !p.isVLLM() {
		return
	}
	what, remedy, ok := p.sharesMemory()
	if !ok {
		return
	}
	m := f.report(on.at, (&Fault{
		Rule: "conf/expandable-ipc", Severity: rules.Warning, Confidence: rules.Medium,
		Message: "expandable segments are on for vLLM with " + what + ", which fails when it starts in many releases",
	}).
		because("%s", why[what]).do("%s", remedy))
	m.Related = append(m.Related, rules.Related{Start: p.first.at.start, End: p.first.at.end, What: "vLLM is started here"})
}

const (
	sleepMode    = "sleep mode"
	customReduce = "tensor parallelism"
)

// why says what of vLLM does not go with expandable segments.
var why = map[string]string{
	sleepMode:    "sleep mode frees memory through a pool, and PyTorch has none over expandable segments; see vllm#14189",
	customReduce: "its own all-reduce hands buffers of CUDA graphs to the other ranks by cudaIpcGetMemHandle, which takes memory of cudaMalloc only; see vllm#42609",
}

// isVLLM tells whether a program is a server of vLLM: its own command, or one of Python
// that has it in its name.
func (p *program) isVLLM() bool {
	if p.name == "vllm" {
		return len(p.args) > 0 && p.args[0].is("serve")
	}
	if !isPython(p.name) || len(p.args) == 0 {
		return false
	}
	script := p.args[0]
	if script.is("-m") && len(p.args) > 1 {
		script = p.args[1]
	}
	return script.known && strings.Contains(script.text, "vllm")
}

// sharesMemory tells which part of vLLM that a command turns on wants memory of cudaMalloc,
// and what to do.
func (p *program) sharesMemory() (what, remedy string, ok bool) {
	const off = "remove expandable_segments:True for vLLM"
	if p.has("--enable-sleep-mode") || p.has("--enable_sleep_mode") {
		return sleepMode, off, true
	}
	value, _, _ := option(p.args, "--tensor-parallel-size", "--tensor_parallel_size", "-tp")
	if n, err := strconv.Atoi(value); err != nil || n < 2 || p.has("--enforce-eager") || p.has("--disable-custom-all-reduce") {
		return "", "", false
	}
	return customReduce, off + ", or pass --disable-custom-all-reduce", true
}

// has tells whether a flag is among a program's arguments.
func (p *program) has(flag string) bool {
	for _, w := range p.args {
		if w.is(flag) {
			return true
		}
	}
	return false
}

// vllmInScript judges the programs of a script.
func (c *shellCheck) vllmInScript() {
	var exported []setting
	for i := range c.steps {
		s := &c.steps[i]
		if len(s.words) == 0 {
			if s.exported {
				exported = append(exported, s.sets...)
			}
			continue
		}
		p := programOf(s.words)
		c.vllm(&p, append(exported[:len(exported):len(exported)], s.sets...))
	}
}

// vllmInContainer judges the programs that a container starts.
func (f *file) vllmInContainer(container *tree, env []setting) {
	if container.open {
		return
	}
	for _, step := range containerSteps(container) {
		p := programOf(step.words)
		f.vllm(&p, append(env[:len(env):len(env)], step.sets...))
	}
}
