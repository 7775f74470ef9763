package code

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

var queueName = regexp.MustCompile(`(?i)(^|[._])(\w*queue\w*|q)$`)

// checkExpandableIPC finds CUDA tensors that are shared with other processes while expandable
// segments are on.
func checkExpandableIPC(p *pass) {
	on, ok := p.expandable()
	if !ok {
		return
	}
	p.checkSleepMode(on)
	for _, c := range p.Calls {
		if !p.sharesTensor(c) {
			continue
		}
		p.report(c.Node, rules.Mistake{
			Rule: "conf/expandable-ipc", Severity: rules.Warning, Confidence: rules.Medium,
			Message:  fmt.Sprintf("%s shares CUDA memory with another process, which fails with expandable segments up to PyTorch 2.5, and later where pidfd_getfd is not allowed", short(c.Node)),
			Evidence: []string{fmt.Sprintf("line %d turns expandable_segments on", p.Line(on))},
			Related:  []rules.Related{related(on, "expandable segments are turned on here")},
			Remedy:   `set expandable_segments:False in the processes that share tensors, or send them through the CPU`,
		})
		return
	}
}

// checkSleepMode finds vLLM engines that put their memory to sleep while expandable segments are on: they do
// so with a pool, and PyTorch has none over expandable segments.
func (p *pass) checkSleepMode(on syntax.Node) {
	for _, c := range p.calls("vllm.LLM", "vllm.EngineArgs", "vllm.AsyncEngineArgs", "vllm.engine.arg_utils.EngineArgs", "vllm.engine.arg_utils.AsyncEngineArgs") {
		if !c.Keyword("enable_sleep_mode").Is("true") {
			continue
		}
		p.report(c.Node, rules.Mistake{
			Rule: "conf/expandable-ipc", Severity: rules.Warning, Confidence: rules.Medium,
			Message:  "the sleep mode of vLLM does not go with expandable segments: releases up to April 2026 refuse to start",
			Evidence: []string{fmt.Sprintf("line %d turns expandable_segments on", p.Line(on)), "later releases turn them off within the pool; see vllm#14189 and vllm#40812"},
			Related:  []rules.Related{related(on, "expandable segments are turned on here")},
			Remedy:   "set expandable_segments:False in the process of the engine",
		})
	}
}

// expandable returns where the source turns expandable segments on for its own process.
func (p *pass) expandable() (syntax.Node, bool) {
	turnsOn := func(n syntax.Node) bool {
		text, _, ok := stringText(n)
		return ok && strings.Contains(strings.ReplaceAll(text, " ", ""), "expandable_segments:True")
	}
	for _, s := range p.settings() {
		if s.own && s.forAllocator() && turnsOn(s.value) {
			return s.node, true
		}
	}
	for _, c := range p.calls(settingsCalls...) {
		if turnsOn(c.Arg(0, "env")) {
			return c.Node, true
		}
	}
	return syntax.Node{}, false
}

// sharesTensor reports whether a call hands a CUDA tensor to another process.
func (p *pass) sharesTensor(c *pyscope.Call) bool {
	if c.Name == "torch.multiprocessing.reductions.reduce_tensor" {
		return true
	}
	if c.Method != "put" || len(c.Args()) == 0 || !p.isProcessQueue(c.Object) {
		return false
	}
	sent := c.Args()[0]
	for _, u := range p.gpuUses() {
		if u.Node == sent {
			return true
		}
	}
	_, moved := p.onGPU(p.Place(sent), c.Node)
	return moved
}

// isProcessQueue reports whether an expression is a queue of torch.multiprocessing, by what it
// is made of or by its name where the module makes such queues.
func (p *pass) isProcessQueue(n syntax.Node) bool {
	const queue = "torch.multiprocessing.Queue"
	if p.Type(n) == queue {
		return true
	}
	uses := slices.ContainsFunc(p.Calls, func(c *pyscope.Call) bool { return c.Name == queue })
	for _, f := range p.Functions {
		for _, param := range f.Params {
			if p.Qualified(param.Type) == queue || p.Qualified(param.Type.Child(0)) == queue {
				uses = true
			}
		}
	}
	return uses && queueName.MatchString(n.Text())
}
