package analyze

import (
	"fmt"

	"github.com/ullage-dev/ullage/snapshot"
)

const (
	scalarBytes    = 8  // requested for one number of any type
	sampledScalars = 64 // blocks of a site that are looked at
)

// causeReasons says for the likeliest cause what in the data speaks for it.
var causeReasons = map[string]string{
	"leak/loss-with-graph":      "activations of a forward pass stay together with a single number made outside of it: a sum of losses that keeps their graphs",
	"leak/list-with-graph":      "activations of several operations of one forward pass stay: a loss or an output that is kept keeps its graph",
	"leak/eval-without-no-grad": "activations stay in steps without a backward pass: a graph is built for outputs that are kept",
	"leak/create-graph":         "what stays was made in the backward pass: gradients that have a graph of their own",
	"leak/hook-cache":           "the output of one operation inside a module stays and nothing else of that forward pass: something holds it beside the graph",
	"leak/logger-tensors":       "single numbers stay, one a step: a metric or a log keeps the tensor instead of its value",
	"leak/step-outputs":         "what the user's own line allocates stays: inputs or results that are collected",
	"leak/recurrent-state":      "what a recurrent module made in each step stays: a state that is carried on keeps the graph of all steps before it",
}

// causeReason returns the reason for a cause, or nothing where there is none.
func causeReason(cause string, everySteps int) []string {
	if cause == "leak/eval-without-no-grad" && everySteps > 1 {
		return []string{fmt.Sprintf("only one step in %d leaves activations of a forward pass behind: an evaluation that builds graphs for outputs that are kept", everySteps)}
	}
	if why := causeReasons[cause]; why != "" {
		return []string{why}
	}
	return nil
}

// causeRemedies says for a cause what to change.
var causeRemedies = map[string]string{
	"leak/loss-with-graph":      "add the number and not the tensor: total += loss.item(), or loss.detach()",
	"leak/list-with-graph":      "keep loss.item(), or out.detach().cpu(), in place of the tensor: it then holds no graph",
	"leak/eval-without-no-grad": "run it under torch.inference_mode() or torch.no_grad(), and move outputs that are kept to the CPU",
	"leak/create-graph":         "use torch.autograd.grad in place of backward(create_graph=True), and do not keep its results beyond the step",
	"leak/retain-graph":         "drop retain_graph=True, or what keeps the loss of earlier steps",
	"leak/hook-cache":           "remove the hook when it is done, or let it keep output.detach().cpu(), or only the last output",
	"leak/logger-tensors":       "log a number: loss.item(), at the interval of the log",
	"leak/step-outputs":         "move what is kept to the CPU, or bound it: deque(maxlen=N), or clear it each epoch",
	"leak/recurrent-state":      "detach the state between steps: h = h.detach()",
	"leak/reference-cycle":      "break the reference cycle (a weakref one way), or call gc.collect() every few steps",
	"leak/cached-method":        "bound the cache with maxsize, or let it keep numbers or tensors on the CPU",
	"leak/notebook-out":         "clear what the notebook keeps: %reset -f out, and end such cells in a semicolon",
	"leak/tensor-on-ctx":        "hand the tensor to ctx.save_for_backward, which lets go of it after the backward pass",
	"leak/exception-frame":      "do not store exceptions, or clear their frames: traceback.clear_frames(e.__traceback__)",
}

// profile is what the sites of a group say of the code that made them.
type profile struct {
	modules  int // sites within a module's forward
	direct   int // sites of the user's own lines
	backward int64
	scalars  int  // sites with blocks of a single number
	sums     int  // of these, the user's own lines: a sum of losses
	numbers  bool // there are no other blocks
	total    int64
	kv       int64 // of caches of keys and values
	recur    bool
}

func (w *leakWindow) profileOf(g *lockstepGroup) profile {
	p := profile{numbers: true}
	for _, s := range g.sites {
		site := w.sites.At(s.lives.stack)
		p.total += s.bytes
		switch {
		case site.marks.has(inKVCache):
			p.kv += s.bytes
		case site.marks.has(inBackward) || s.lives.stack == 0:
			p.backward += s.bytes
		case site.marks.has(inModule):
			p.modules++
		default:
			p.direct++
		}
		if w.sites.Op(s.lives.stack) == "rnn" || w.hasFile(s.lives.stack, "torch/nn/modules/rnn.py") {
			p.recur = true
		}
		some, all := w.scalars(s.lives)
		if some {
			p.scalars++
			if !site.marks.has(inModule) {
				p.sums++
			}
		}
		p.numbers = p.numbers && all
	}
	return p
}

// scalars tells whether some, and whether all, of a site's blocks hold one number.
func (w *leakWindow) scalars(s *siteLives) (some, all bool) {
	all = true
	for _, i := range s.survivors[:min(len(s.survivors), sampledScalars)] {
		one := w.tl.Block(int(i)).RequestedBytes <= scalarBytes
		some, all = some || one, all && one
	}
	return some, all
}

func (w *leakWindow) hasFile(id snapshot.StackID, rel string) bool {
	for _, f := range w.tl.Rec.Stacks.Frames(id) {
		if w.sites.frame(f).rel == rel {
			return true
		}
	}
	return false
}

// causesOf returns the causes that fit a growth, likeliest first. What is kept can
// be told from a recording; by what it is kept can't.
func (w *leakWindow) causesOf(g *lockstepGroup) []string {
	p := w.profileOf(g)
	trained := w.hasBackward(g)
	switch {
	case p.total > 0 && p.kv*2 > p.total:
		return []string{"leak/step-outputs", "leak/reference-cycle"}
	case p.recur:
		return []string{"leak/recurrent-state", "leak/retain-graph", "leak/list-with-graph"}
	case p.backward*3 > p.total:
		return []string{"leak/create-graph", "leak/retain-graph", "leak/no-zero-grad"}
	case p.modules >= 2 && (!trained || g.EverySteps > 1):
		return []string{"leak/eval-without-no-grad", "leak/list-with-graph", "leak/step-outputs"}
	case p.modules >= 2 && p.sums > 0:
		return []string{"leak/loss-with-graph", "leak/list-with-graph", "leak/retain-graph"}
	case p.modules >= 2 && p.scalars > 0:
		return []string{"leak/list-with-graph", "leak/loss-with-graph", "leak/retain-graph", "leak/exception-frame"}
	case p.modules >= 2:
		return []string{"leak/list-with-graph", "leak/step-outputs", "leak/exception-frame", "leak/reference-cycle"}
	case p.numbers:
		return []string{"leak/logger-tensors", "leak/loss-with-graph", "leak/step-outputs"}
	case p.modules == 1:
		return []string{"leak/hook-cache", "leak/reference-cycle", "leak/step-outputs", "leak/exception-frame"}
	}
	return []string{"leak/step-outputs", "leak/list-with-graph", "leak/reference-cycle", "leak/logger-tensors"}
}

// sampledSteps is how many of the steps that leave blocks behind are looked into
// for a backward pass.
const sampledSteps = 8

// hasBackward tells whether in the steps that leave blocks behind a backward pass
// follows: allocations by autograd within a step's length of what stays.
func (w *leakWindow) hasBackward(g *lockstepGroup) bool {
	with, looked := 0, 0
	last := -1
	for _, i := range g.sites[0].lives.survivors {
		l := w.tl.Life(int(i))
		k := w.steps.Of(l.Alloc)
		if k == last || k >= g.sites[0].until {
			continue
		}
		last = k
		if looked++; w.backwardIn(l.Alloc, min(l.Alloc+w.bounds[k+1]-w.bounds[k], w.end)) {
			with++
		}
		if looked == sampledSteps {
			break
		}
	}
	return with*2 > looked
}

func (w *leakWindow) backwardIn(from, to int) bool {
	for i := from; i < to; i++ {
		if e := w.tl.Dev.Events.At(i); e.Action == snapshot.Alloc && (e.Stack == 0 || w.sites.At(e.Stack).marks.has(inBackward)) {
			return w.sites.HasStacks()
		}
	}
	return false
}
