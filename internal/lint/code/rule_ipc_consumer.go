package code

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// checkIPCConsumer looks for tensors on the GPU that a loop puts into a queue between
// processes without a length: the sender's memory is not freed before the receiver has let go of each.
func checkIPCConsumer(p *pass) {
	if p.boundedQueues() {
		return
	}
	for _, c := range p.Calls {
		if c.Method != "put" && c.Method != "put_nowait" || !p.processQueue(c.Object) {
			continue
		}
		why, again := p.repeats(c.Node)
		if !again || p.loopStatement(c.Node) == nil {
			continue
		}
		if sent := p.cudaTensor(c.Arg(0, "obj"), 0); sent.Ok() {
			p.report(c.Node, rules.Mistake{
				Rule: "leak/ipc-consumer", Severity: rules.Warning, Confidence: rules.Medium,
				Message:  fmt.Sprintf("%s sends %s, a tensor on the GPU: it stays allocated here until the receiver has dropped it", short(c.Callee), short(sent)),
				Evidence: []string{"the queue has no maxsize"},
				Related:  []rules.Related{why},
				Remedy:   fmt.Sprintf("send %s.cpu(); or give the queue a maxsize, and have the receiver copy the tensor and delete it at once", short(sent)),
			})
		}
	}
}

// queueKinds are the queues of torch.multiprocessing and of the module that it wraps.
var queueKinds = []string{"Queue", "SimpleQueue", "JoinableQueue"}

// isQueue reports whether a call makes a queue between processes.
func (p *pass) isQueue(c *pyscope.Call) bool {
	if c == nil {
		return false
	}
	for _, kind := range queueKinds {
		if c.Name == "torch.multiprocessing."+kind || c.Name == "multiprocessing."+kind {
			return true
		}
		if c.Method == kind {
			if maker := p.callBehind(c.Object); maker != nil && strings.HasSuffix(maker.Name, "multiprocessing.get_context") {
				return true
			}
		}
	}
	return false
}

// boundedQueues reports whether the source gives a queue a length, or makes none between processes
// with PyTorch's module.
func (p *pass) boundedQueues() bool {
	made, torch := false, false
	for _, c := range p.Calls {
		if p.isQueue(c) {
			made = true
			if c.Arg(0, "maxsize").Ok() {
				return true
			}
		}
		torch = torch || strings.HasPrefix(c.Name, "torch.multiprocessing.")
	}
	return !made || !torch
}

// processQueue reports whether an expression is such a queue, or a parameter that may be one.
func (p *pass) processQueue(n syntax.Node) bool {
	if p.isQueue(p.callBehind(n)) {
		return true
	}
	place := p.Place(n)
	if place == nil || len(place.Stores()) != 1 || place.Stores()[0].How != pyscope.ByParam {
		return false
	}
	return !strings.Contains(string(p.Tree.Source.Text), "queue.Queue(")
}

// cudaTensor returns the part of an expression that is a tensor on a GPU, as the source shows; none
// where nothing is sure to be one.
func (p *pass) cudaTensor(n syntax.Node, depth int) syntax.Node {
	if depth > deviceDepth {
		return syntax.Node{}
	}
	switch n.Kind() {
	case "tuple", "list", "dictionary", "pair", "parenthesized_expression", "set":
		for c := range n.Children() {
			if found := p.cudaTensor(c, depth); found.Ok() && c.FieldName() != "key" {
				return found
			}
		}
	case "identifier":
		if r := p.lastStore(n); r != nil && p.cudaTensor(r.Value, depth+1).Ok() {
			return n
		}
	case "call":
		if p.makesOnGPU(p.Call(n), depth) {
			return n
		}
	}
	return syntax.Node{}
}

// lastStore returns the assignment of a name in the same scope that comes last before a node.
func (p *pass) lastStore(n syntax.Node) *pyscope.Ref {
	place := p.Place(n)
	if place == nil {
		return nil
	}
	var last *pyscope.Ref
	for _, r := range place.Stores() {
		if r.How == pyscope.ByAssign && r.Part < 0 && r.Node.Start() < n.Start() && r.Scope == p.Scope(n) {
			last = r
		}
	}
	return last
}

// makesOnGPU reports whether a call makes a tensor on a GPU.
func (p *pass) makesOnGPU(c *pyscope.Call, depth int) bool {
	switch {
	case c.Method == "cuda":
		return true
	case c.Method == "to":
		return p.device(c.Arg(0, "device")).kind == deviceCUDA
	case madeByTorch(c) && c.Keyword("device").Ok():
		return p.device(c.Keyword("device")).kind == deviceCUDA
	case c.Method != "" && sameDevice[c.Method]:
		return p.cudaTensor(c.Object, depth+1).Ok()
	case modelNames.MatchString(lastName(c.Callee)): // model(x.cuda())
		for _, a := range c.Args() {
			if p.cudaTensor(a, depth+1).Ok() {
				return true
			}
		}
	}
	return false
}

// sameDevice are methods of a tensor that give another one in the same memory.
var sameDevice = map[string]bool{"detach": true, "clone": true, "contiguous": true, "float": true, "half": true, "view": true, "reshape": true, "squeeze": true, "unsqueeze": true, "share_memory_": true}
