package fit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/units"
)

// role is what a storage is for.
type role uint8

const (
	other role = iota
	param
	grad
	state
)

var tagRoles = map[string]role{"param": param, "grad": grad, "state": state}

// roles tells what storages are for: as the trace's tags say, which name gradients in the
// first and the last step only. What the backward pass makes and an optimizer's step finds
// alive is a gradient too.
func roles(t *Trace) map[int32]role {
	out := map[int32]role{}
	made := map[int32]bool{} // in the backward pass, and alive
	for i := range t.Events {
		e := &t.Events[i]
		switch e.Kind {
		case Tag:
			if r := tagRoles[t.Texts[e.Text].What]; r != other {
				out[e.ID] = r
			}
		case Free:
			delete(made, e.ID)
		case Op, Alloc:
			for _, n := range t.News[e.First : e.First+e.Count] {
				if e.Phase == 'b' {
					made[n.ID] = true
				}
			}
		case Step:
			for id := range made {
				if out[id] == other {
					out[id] = grad
				}
			}
		}
	}
	return out
}

// resized returns a trace with other sizes of its storages.
func resized(t *Trace, size func(e *Event, n Storage) int64) *Trace {
	out := *t
	out.News = slices.Clone(t.News)
	for i := range t.Events {
		e := &t.Events[i]
		for k := e.First; k < e.First+e.Count; k++ {
			out.News[k].Bytes = max(size(e, t.News[k]), 0)
		}
	}
	return &out
}

var errNoState = errors.New("the optimizer keeps no state")

// held sums what storages of each role take at the last step of the optimizer, whose tags
// name what lives then.
func held(t *Trace, of map[int32]role) map[role]int64 {
	tagged := map[int32]bool{}
	for i := lastStep(t); i < len(t.Events); i++ {
		if e := &t.Events[i]; e.Kind == Tag {
			tagged[e.ID] = true
		}
	}
	sum := map[role]int64{}
	for _, n := range t.News {
		if tagged[n.ID] {
			sum[of[n.ID]] += n.Bytes
			delete(tagged, n.ID)
		}
	}
	return sum
}

// offload is the state of the optimizer in main memory.
func offload(p *Prediction, _ int) (Change, error) {
	t := p.Job.Trace
	of := roles(t)
	bytes := held(t, of)[state]
	if bytes == 0 {
		return Change{}, errNoState
	}
	return Change{
		Trace: resized(t, func(_ *Event, n Storage) int64 {
			if of[n.ID] == state {
				return 0
			}
			return n.Bytes
		}),
		Text: fmt.Sprintf("without %s of state", units.FormatBytes(bytes)),
	}, nil
}

// zero is the sharding of a stage of ZeRO (arXiv 1910.02054, figure 1): state, with stage 2
// gradients, with stage 3 weights over the ranks. Stage 3 gathers weights as they are
// needed, as FSDP does: those of no repeated block for the whole step, and of the blocks the
// current one and the next, with the whole gradients of one.
func zero(stage int) func(p *Prediction, ranks int) (Change, error) {
	sharded := map[role]bool{state: true, grad: stage >= 2, param: stage >= 3}
	return func(p *Prediction, ranks int) (Change, error) {
		t := p.Job.Trace
		of := roles(t)
		sum := held(t, of)
		if sum[param] == 0 {
			return Change{}, errors.New("no optimizer has stepped: what the weights are is not known")
		}
		if stage == 1 && sum[state] == 0 {
			return Change{}, errNoState
		}
		c := Change{Text: fmt.Sprintf("%s of weights, %s of gradients, %s of state", units.FormatBytes(sum[param]), units.FormatBytes(sum[grad]), units.FormatBytes(sum[state]))}
		c.Trace = resized(t, func(_ *Event, n Storage) int64 {
			if sharded[of[n.ID]] {
				return (n.Bytes + int64(ranks) - 1) / int64(ranks)
			}
			return n.Bytes
		})
		if stage == 3 {
			rest, largest := gathered(t, of)
			c.MoreBytes = rest + 3*largest
			c.Text += fmt.Sprintf("; %s are gathered at a time", units.FormatBytes(c.MoreBytes))
		}
		return c, nil
	}
}

// gathered returns what FSDP has of whole weights at a time: the bytes of the weights outside of repeated blocks, and of the largest block.
func gathered(t *Trace, of map[int32]role) (rest, largest int64) {
	blocks := map[string]int64{}
	bytes := map[int32]int64{}
	for _, n := range t.News {
		bytes[n.ID] = n.Bytes
	}
	for i := range t.Events {
		e := &t.Events[i]
		if e.Kind != Tag || of[e.ID] != param {
			continue
		}
		blocks[blockOf(t.Texts[e.Text].Text)] += bytes[e.ID]
		bytes[e.ID] = 0 // it is tagged again at the last step
	}
	for name, n := range blocks {
		if name != "" {
			largest = max(largest, n)
		}
	}
	return blocks[""], largest
}

// blockOf is the repeated block that a parameter is of: "layers.3" of
// "layers.3.mlp.weight"; "" for none.
func blockOf(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		if part != "" && part[0] >= '0' && part[0] <= '9' && i > 0 && i < len(parts)-2 {
			return strings.Join(parts[:i+1], ".")
		}
	}
	return ""
}

// tensorParallel is the split of transformer layers (Korthikanti et al., arXiv 2205.05198):
// weights, gradients and state by the number of ranks, and of an activation's 34 bytes an
// element, 10 stay on each rank.
func tensorParallel(p *Prediction, ranks int) (Change, error) {
	t := p.Job.Trace
	if !slices.ContainsFunc(t.Sigs, func(s Sig) bool { return strings.Contains(s.Op, "attention") }) {
		return Change{}, errors.New("no attention: the formula is one for transformers")
	}
	of := roles(t)
	if held(t, of)[param] == 0 {
		return Change{}, errors.New("no optimizer has stepped: what the weights are is not known")
	}
	n := float64(ranks)
	activations := (10 + 24/n) / 34
	return Change{
		Trace: resized(t, func(e *Event, s Storage) int64 {
			switch {
			case of[s.ID] != other:
				return int64(float64(s.Bytes) / n)
			case e.Phase == 'f' || e.Phase == 'r':
				return int64(float64(s.Bytes) * activations)
			}
			return s.Bytes
		}),
		Text: fmt.Sprintf("weights and state by %d, activations by %.2f: s·b·h·(10 + 24/t) of 34", ranks, 1/activations),
	}, nil
}

// leastLogits is the size of a loss's input from which chunks are worth the trouble.
const leastLogits = 32 << 20

// chunkedLoss has logits, and all that is as large, in parts.
func chunkedLoss(p *Prediction, chunks int) (Change, error) {
	t := p.Job.Trace
	of := roles(t)
	elements := int64(0)
	for i := range t.Sigs {
		if s := &t.Sigs[i]; strings.HasPrefix(s.Op, "aten._log_softmax.") && len(s.In) > 0 {
			elements = max(elements, s.In[0].Numel())
		}
	}
	if elements*4 < leastLogits {
		return Change{}, errors.New("the loss takes next to nothing")
	}
	large := map[int64]bool{2 * elements: true, 4 * elements: true}
	return Change{
		Trace: resized(t, func(_ *Event, n Storage) int64 {
			if large[n.Bytes] && of[n.ID] == other {
				return n.Bytes / int64(chunks)
			}
			return n.Bytes
		}),
		Text: fmt.Sprintf("tensors of %s elements, as the logits have, in %d parts", units.FormatCount(elements), chunks),
	}, nil
}

// convolutions sums, over the convolutions of the last step that could be replaced, their
// weights' elements, what a depthwise-separable one and what a 1×1 one has, and the bytes of
// the depthwise results, which the backward pass needs.
func convolutions(t *Trace) (full, separable, pointwise, between int64) {
	first := lastStep(t)
	for i := first; i < len(t.Events); i++ {
		e := &t.Events[i]
		if e.Kind != Op || e.Phase != 'f' {
			continue
		}
		s := &t.Sigs[e.Sig]
		if baseName(s.Op) != "convolution" || len(s.In) < 2 || len(s.Out) != 1 {
			continue
		}
		w := &s.In[1]
		if g, _ := s.Args["groups"].(float64); g != 1 || w.Numel() == w.Dim(0)*w.Dim(1) || s.Args["transposed"] == true {
			continue
		}
		area := w.Numel() / max(w.Dim(0)*w.Dim(1), 1)
		full += w.Numel()
		separable += w.Dim(1)*area + w.Dim(0)*w.Dim(1)
		pointwise += w.Dim(0) * w.Dim(1)
		between += s.Out[0].Bytes() / max(w.Dim(0), 1) * w.Dim(1)
	}
	return full, separable, pointwise, between
}

// lastStep is the event after the last step but one of an optimizer, where the last step begins.
func lastStep(t *Trace) int {
	var steps []int
	for i := range t.Events {
		if t.Events[i].Kind == Step {
			steps = append(steps, i)
		}
	}
	if len(steps) < 2 {
		return 0
	}
	return steps[len(steps)-2] + 1
}

// perWeight is what a weight of a convolution takes with its gradient and its state.
func perWeight(t *Trace) float64 {
	sum := held(t, roles(t))
	if sum[param] == 0 {
		return 4
	}
	return 4 * float64(sum[param]+sum[grad]+sum[state]) / float64(sum[param])
}

var errNoConvolutions = errors.New("no convolutions of more than 1×1")

func separable(p *Prediction, _ int) (Change, error) {
	t := p.Job.Trace
	full, fewer, _, between := convolutions(t)
	if full == 0 {
		return Change{}, errNoConvolutions
	}
	each := perWeight(t)
	return Change{
		Trace: t, MoreBytes: between - int64(each*float64(full-fewer)),
		Text: fmt.Sprintf("%s weights instead of %s, of %.0f bytes with gradient and state; %s more of activations between", units.FormatCount(fewer), units.FormatCount(full), each, units.FormatBytes(between)),
	}, nil
}

func pointwise(p *Prediction, _ int) (Change, error) {
	t := p.Job.Trace
	full, _, fewer, _ := convolutions(t)
	if full == 0 {
		return Change{}, errNoConvolutions
	}
	each := perWeight(t)
	return Change{
		Trace: t, MoreBytes: -int64(each * float64(full-fewer)),
		Text: fmt.Sprintf("%s weights instead of %s, of %.0f bytes with gradient and state", units.FormatCount(fewer), units.FormatCount(full), each),
	}, nil
}
