package code

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkSetDevice finds ranks that use "the" GPU without having said which is theirs.
func checkSetDevice(p *pass) {
	s := p.spread()
	if !s.distributed() || p.choosesVisible() {
		return
	}
	if chosen := p.chosen(); len(chosen) > 0 {
		for _, c := range chosen {
			p.reportLateChoice(c, chosen)
		}
		return
	}
	for _, init := range s.inits {
		if init.Keyword("device_id").Ok() || init.Open() || onCPU(init) {
			return
		}
	}
	if len(s.inits) == 0 {
		return
	}
	for _, u := range p.gpuUses() {
		if u.device.indexed || p.inDeviceBlock(u.Node) {
			continue
		}
		p.report(s.inits[0].Node, rules.Mistake{
			Rule: "dist/no-set-device", Severity: rules.Warning, Confidence: rules.Medium,
			Message:  fmt.Sprintf("no rank says which GPU is its own, so %s in line %d puts all of them on GPU 0", short(u.Node), p.Line(u.Node)),
			Evidence: []string{"torch.cuda.set_device is called nowhere in this file, CUDA_VISIBLE_DEVICES is not set, and device_id is not passed"},
			Related:  []rules.Related{related(u.Node, "uses the current GPU, which is GPU 0")},
			Remedy:   chooseFirst,
		})
		return
	}
	p.reportLeftToNames(s)
}

const chooseFirst = `call torch.cuda.set_device(int(os.environ["LOCAL_RANK"])) before anything else that touches CUDA`

// reportLeftToNames reports ranks that name their GPU wherever they use one, and then work together: what
// has no tensor to tell it the GPU, as a barrier, goes to GPU 0. How much that is depends on the release,
// and on what a rank does.
func (p *pass) reportLeftToNames(s spread) {
	together := slices.Concat(s.wraps, p.calls("torch.distributed.barrier", "torch.distributed.all_reduce", "torch.distributed.all_gather",
		"torch.distributed.all_gather_object", "torch.distributed.broadcast", "torch.distributed.broadcast_object_list"))
	backend, _ := literal(s.inits[0].Arg(0, "backend"))
	if len(together) == 0 || len(p.gpuUses()) == 0 && !strings.Contains(backend, "nccl") {
		return
	}
	p.report(s.inits[0].Node, rules.Mistake{
		Rule: "dist/no-set-device", Severity: rules.Warning, Confidence: rules.Low,
		Message:  "no rank says which GPU is its own: what works on no tensor, as a barrier, an object that is sent, or pinning, makes a context on GPU 0 in each",
		Evidence: []string{"torch.cuda.set_device is called nowhere in this file, CUDA_VISIBLE_DEVICES is not set, and device_id is not passed"},
		Related:  []rules.Related{related(together[0].Node, "the ranks work together here")},
		Remedy:   chooseFirst,
	})
}

// chosen returns the calls that choose a GPU for the process.
func (p *pass) chosen() []*pyscope.Call {
	var found []*pyscope.Call
	for _, c := range p.Calls {
		if c.Method == "set_device" || c.Method == "set_device_index" || strings.HasSuffix(c.Name, ".set_device") {
			found = append(found, c)
		}
	}
	return found
}

// choosesVisible reports whether the source sets CUDA_VISIBLE_DEVICES for itself.
func (p *pass) choosesVisible() bool {
	return slices.ContainsFunc(p.settings(), func(s setting) bool { return s.name == "CUDA_VISIBLE_DEVICES" && s.own })
}

// inDeviceBlock reports whether a node stands in with torch.cuda.device(…), or on a stream that
// someone made on a device.
func (p *pass) inDeviceBlock(n syntax.Node) bool {
	return p.inBlock(n, "torch.cuda.device", "torch.cuda.device_of", "torch.cuda.stream", "torch.device")
}

// inBlock reports whether a node stands in a with block of one of these.
func (p *pass) inBlock(n syntax.Node, names ...string) bool {
	for a := range n.Ancestors() {
		if a.Is("function_definition", "lambda") {
			return false
		}
		if !a.Is("with_statement") {
			continue
		}
		for item := range a.Child(0).Descendants() {
			if c := p.Call(item); c != nil && slices.Contains(names, c.Name) && item.Start() != n.Start() {
				return true
			}
		}
	}
	return false
}

// reportLateChoice reports what a function does on GPU 0 before it chooses its own.
func (p *pass) reportLateChoice(choice *pyscope.Call, all []*pyscope.Call) {
	f := p.Function(choice.Node)
	if slices.ContainsFunc(all, func(c *pyscope.Call) bool { return p.Function(c.Node) == f && c.Node.Start() < choice.Node.Start() }) {
		return
	}
	for _, u := range p.gpuUses() {
		if u.Node.Start() >= choice.Node.Start() {
			return
		}
		if p.Function(u.Node) != f || u.device.indexed || exclusive(u.Node, choice.Node) || p.inDeviceBlock(u.Node) {
			continue
		}
		p.report(u.Node, rules.Mistake{
			Rule: "dist/no-set-device", Severity: rules.Warning, Confidence: rules.Medium,
			Message:  fmt.Sprintf("%s runs on GPU 0 in every rank, since set_device comes later", short(u.Node)),
			Evidence: []string{fmt.Sprintf("line %d: %s", p.Line(choice.Node), short(choice.Node))},
			Related:  []rules.Related{related(choice.Node, "the rank's own GPU is chosen here")},
			Remedy:   fmt.Sprintf("move %s in front of line %d", short(choice.Node), p.Line(u.Node)),
		})
		return
	}
}
