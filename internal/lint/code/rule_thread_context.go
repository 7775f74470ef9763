package code

import (
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkThreadContext finds threads of ranks that use "the" GPU: the current device belongs to a thread, and a
// new one begins with GPU 0.
func checkThreadContext(p *pass) {
	if !p.spread().distributed() || p.choosesVisible() {
		return
	}
	seen := map[*pyscope.Function]bool{}
	for _, t := range p.threads() {
		if seen[t.function] || p.choosesDevice(t.function) {
			continue
		}
		seen[t.function] = true
		for _, u := range p.usesIn(t.function) {
			if u.device.indexed || p.inDeviceBlock(u.Node) {
				continue
			}
			p.report(u.Node, rules.Mistake{
				Rule: "dist/thread-context", Severity: rules.Warning, Confidence: rules.Medium,
				Message:  fmt.Sprintf("%s runs in a thread of its own, whose current GPU is GPU 0 in every rank", short(u.Node)),
				Evidence: []string{fmt.Sprintf("line %d: the thread is started here, and does not call set_device", p.Line(t.node))},
				Related:  []rules.Related{related(t.node, "the thread is started here")},
				Remedy:   "call torch.cuda.set_device(local_rank) first in the thread, or name the device in the call",
			})
			break
		}
	}
}

// thread is a function that runs in a thread of its own.
type thread struct {
	function *pyscope.Function
	node     syntax.Node // that starts it
	call     *pyscope.Call
}

// threads returns the functions of the module that are started as threads.
func (p *pass) threads() []thread {
	var found []thread
	for _, c := range p.Calls {
		target := syntax.Node{}
		switch {
		case c.Name == "threading.Thread":
			target = c.Arg(1, "target")
		case c.Name == "threading.Timer":
			target = c.Arg(1, "function")
		case (c.Method == "submit" || c.Method == "map") && p.isThreadPool(c.Object):
			target = c.Arg(0, "fn")
		}
		for _, f := range p.functionsIn(target) {
			found = append(found, thread{f, c.Node, c})
		}
	}
	for _, class := range p.Classes {
		if run := class.Method("run"); run != nil && class.Is("threading.Thread") {
			found = append(found, thread{run, class.Node.Field("name"), nil})
		}
	}
	return found
}

const threadPool = "concurrent.futures.ThreadPoolExecutor"

// isThreadPool reports whether an expression is a pool of threads.
func (p *pass) isThreadPool(n syntax.Node) bool {
	if p.Type(n) == threadPool {
		return true
	}
	place := p.Place(n)
	return place != nil && slices.ContainsFunc(place.Stores(), func(r *pyscope.Ref) bool {
		c := p.Call(r.Value)
		return c != nil && (c.Name == threadPool || c.Name == "concurrent.futures.thread.ThreadPoolExecutor")
	})
}

// choosesDevice reports whether a function, or one that it calls, chooses a GPU.
func (p *pass) choosesDevice(f *pyscope.Function) bool {
	inside := p.reach(f)
	return slices.ContainsFunc(p.chosen(), func(c *pyscope.Call) bool { return slices.Contains(inside, p.Function(c.Node)) })
}
