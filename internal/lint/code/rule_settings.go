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

// settingsCalls change the allocator's settings while the program runs.
var settingsCalls = []string{
	"torch.cuda.memory._set_allocator_settings", "torch._C._cuda_cudaCachingAllocator_set_allocator_settings",
	"torch._C._accelerator_setAllocatorSettings",
}

// allocatorRules are those that a settings string may break; Options.Conf knows how.
var allocatorRules = []string{
	"conf/async-backend", "conf/bad-value", "conf/fraction-in-settings", "conf/host-option", "conf/inert-gc",
	"conf/inert-non-split-rounding", "conf/max-split-expandable", "conf/repeated-option", "conf/roundup-trap",
	"conf/throw-without-fraction", "conf/unknown-option",
}

// checkAllocatorSettings has the allocator's settings judged that a source sets, for itself or for
// a program that it starts.
func checkAllocatorSettings(p *pass) {
	if p.opt.Conf == nil {
		return
	}
	for _, s := range p.settings() {
		if s.forAllocator() {
			p.judge(s.value)
		}
	}
	for _, c := range p.calls(settingsCalls...) {
		p.judge(c.Arg(0, "env"))
	}
}

// judge reports what is wrong with a settings string, where it says so.
func (p *pass) judge(value syntax.Node) {
	text, ok := literal(value)
	if !ok {
		return
	}
	at := strings.Index(value.Text(), text)
	for _, m := range p.opt.Conf(text) {
		p.report(value, m)
		if last := &p.found[len(p.found)-1]; at >= 0 && m.End > m.Start {
			last.Start, last.End = value.Start()+at+m.Start, value.Start()+at+m.End
		}
	}
}

// checkLateSettings finds settings that the allocator has no eyes for any more: it reads them once,
// at its first use, and the backend when torch is imported.
func checkLateSettings(p *pass) {
	for _, s := range p.settings() {
		if !s.own || !s.forAllocator() {
			continue
		}
		text, _, _ := stringText(s.value)
		if use, ok := p.usedBefore(s.node); ok {
			p.reportLate(s, use.Node, rules.High, "the allocator read its settings when "+short(use.Node)+" used it")
		} else if i, ok := p.torchImported(s.node); ok && strings.Contains(text, "backend:") {
			p.reportLate(s, i, rules.High, "the backend is chosen when torch is imported")
		}
	}
}

// checkLateDevices finds CUDA_VISIBLE_DEVICES set when the driver has read it. It does so once, when it is
// initialized: by the first use of a GPU, and by torch.cuda.is_available().
func checkLateDevices(p *pass) {
	for _, s := range p.settings() {
		if !s.own || s.name != "CUDA_VISIBLE_DEVICES" || p.inherited(s.node) {
			continue
		}
		if use, ok := p.usedBefore(s.node); ok {
			p.reportLate(s, use.Node, rules.High, "the driver read it when "+short(use.Node)+" used a GPU")
			continue
		}
		for _, c := range p.calls("torch.cuda.is_available", "torch.cuda.init") {
			if p.runsBefore(c.Node, s.node) && !exclusive(c.Node, s.node) && !whereNone(s.node, c) && !p.mainGuardBetween(c.Node, s.node) {
				p.reportLate(s, c.Node, rules.Medium, short(c.Node)+" initializes the driver, which reads the variable then and never again")
				break
			}
		}
	}
}

// startsProgram matches the calls that start another program, which gets the environment as it is then.
var startsProgram = regexp.MustCompile(`^(subprocess\.\w+|os\.(system|popen|exec\w+|spawn\w+|posix_spawn\w*))$`)

// inherited reports whether a function starts another program after it has set a variable: it is set for that one.
func (p *pass) inherited(n syntax.Node) bool {
	return slices.ContainsFunc(p.Calls, func(c *pyscope.Call) bool {
		return c.Node.Start() > n.End() && p.Function(c.Node) == p.Function(n) && startsProgram.MatchString(c.Name)
	})
}

// whereNone reports whether a node runs only where a call says that there is no GPU.
func whereNone(n syntax.Node, available *pyscope.Call) bool {
	return slices.ContainsFunc(conditions(n, syntax.Node{}), func(k condition) bool {
		return available.Node.In(k.Node) && (k.negated || available.Node.Parent().Is("not_operator"))
	})
}

func (p *pass) reportLate(s setting, by syntax.Node, sure rules.Confidence, why string) {
	p.report(s.node, rules.Mistake{
		Rule: "conf/ignored-variable", Severity: rules.Warning, Confidence: sure,
		Message:  fmt.Sprintf("%s is set too late to have an effect in this process", s.name),
		Evidence: []string{fmt.Sprintf("line %d: %s", p.Line(by), why)},
		Related:  []rules.Related{related(by, why)},
		Remedy:   "set it in front of import torch, or in the environment of the program that starts this one",
	})
}

// usedBefore returns a use of a GPU that is sure to come before a node.
func (p *pass) usedBefore(n syntax.Node) (gpuUse, bool) {
	for _, u := range p.gpuUses() {
		if p.runsBefore(u.Node, n) && u.device.sure && !exclusive(u.Node, n) && !p.mainGuardBetween(u.Node, n) {
			return u, true
		}
	}
	return gpuUse{}, false
}

// runsBefore reports whether a node comes before another in the same function, or at the module's top level: a
// function that is defined further down cannot have been called yet.
func (p *pass) runsBefore(a, b syntax.Node) bool {
	f := p.Function(a)
	return a.End() < b.Start() && (f == nil || f == p.Function(b))
}

// mainGuardBetween reports whether one of two nodes runs only where the file is the program.
func (p *pass) mainGuardBetween(a, b syntax.Node) bool {
	guard := p.mainGuard()
	return guard.Ok() && a.In(guard) && !b.In(guard)
}

// torchImported returns the import of torch in front of a node, at the module's top level.
func (p *pass) torchImported(n syntax.Node) (syntax.Node, bool) {
	for s := range p.Tree.Root().Children() {
		if s.Start() > n.Start() {
			break
		}
		if !s.Is("import_statement", "import_from_statement") {
			continue
		}
		for name := range s.Descendants() {
			if name.Is("dotted_name") && (name.Text() == "torch" || strings.HasPrefix(name.Text(), "torch.")) {
				return s, true
			}
		}
	}
	return syntax.Node{}, false
}

// checkNoCaching finds the switch that turns the caching allocator off. Up to PyTorch 2.6 any
// value does.
func checkNoCaching(p *pass) {
	for _, s := range p.settings() {
		if s.name != "PYTORCH_NO_CUDA_MEMORY_CACHING" || !s.own {
			continue
		}
		m := rules.Mistake{
			Rule: "conf/no-caching", Severity: rules.Warning, Confidence: rules.High,
			Message:  "PYTORCH_NO_CUDA_MEMORY_CACHING makes a cudaMalloc and a cudaFree of every tensor",
			Evidence: []string{"up to PyTorch 2.6 any value turns caching off, 0 as well; since 2.7 only 1 does"},
			Remedy:   "remove it; set it in the shell for one run under compute-sanitizer",
		}
		if text, ok := literal(s.value); ok && text == "0" {
			m.Confidence = rules.Medium
			m.Message = `PYTORCH_NO_CUDA_MEMORY_CACHING="0" turns caching off up to PyTorch 2.6: each tensor is a cudaMalloc and a cudaFree`
		}
		p.report(s.node, m)
	}
}
