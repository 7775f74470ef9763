package fit

import "fmt"

// Remedy is a way to need less memory.
type Remedy struct {
	Name  string // as --remedies takes it
	Do    string // what the user does
	Cost  string // beside the work of doing it
	Takes string // what a value after the name means; "" where it takes none
	Value int    // where none is given

	Traced  bool   // the tracer tries it on the program
	Option  string // of the program, which is divided by Value; "" for none
	Formula func(p *Prediction, value int) (Change, error)
}

// Remedies are all that are known, in the order in which they are worth trying.
func Remedies() []Remedy {
	return []Remedy{
		{Name: "checkpoint", Traced: true, Do: "recompute activations in the backward pass", Cost: "the forward pass of each block runs twice"},
		{Name: "autocast", Traced: true, Do: "compute in 16 bits by autocast", Cost: "less precision in products; faster on cards with tensor cores. float16, where bfloat16 is missing, needs a GradScaler"},
		{Name: "bf16", Traced: true, Do: "have the whole model in bfloat16", Cost: "small updates are lost to rounding: check that it converges"},
		{Name: "foreach", Traced: true, Do: "step the optimizer tensor by tensor (foreach=False)", Cost: "many small kernels: a slower step"},
		{Name: "fused", Traced: true, Do: "step the optimizer in fused kernels (fused=True)", Cost: "none that is known"},
		{Name: "adam8bit", Traced: true, Do: "keep Adam's state in 8 bits (bitsandbytes)", Cost: "another library; quantized state"},
		{Name: "adafactor", Traced: true, Do: "use Adafactor, whose state of a matrix is a row and a column", Cost: "another optimizer: tune it anew"},
		{Name: "sgd", Traced: true, Do: "use SGD without momentum, which has no state", Cost: "another optimizer: tune it anew"},
		{Name: "accumulate", Traced: true, Option: "batch", Takes: "parts", Value: 2, Do: "accumulate gradients over smaller batches", Cost: "smaller kernels, so a slower step; batch norm sees less at a time"},
		{Name: "lora", Traced: true, Takes: "rank", Value: 16, Do: "train adapters of a low rank beside the linear layers (LoRA)", Cost: "another way of training: fewer parameters learn"},
		{Name: "freeze", Traced: true, Do: "train the last layer alone", Cost: "another way of training: fewer parameters learn"},
		{Name: "chunked-loss", Takes: "chunks", Value: 8, Formula: chunkedLoss, Do: "compute logits and loss in chunks", Cost: "a loss of its own (liger-kernel, torchtune); the last product is computed again"},
		{Name: "offload", Formula: offload, Do: "keep the optimizer's state in main memory", Cost: "it crosses the bus twice a step, or the CPU does the step"},
		{Name: "zero1", Takes: "ranks", Value: 8, Formula: zero(1), Do: "shard the optimizer's state over the ranks (ZeRO-1)", Cost: "that many GPUs; no more traffic than DDP"},
		{Name: "zero2", Takes: "ranks", Value: 8, Formula: zero(2), Do: "shard state and gradients (ZeRO-2)", Cost: "that many GPUs; no more traffic than DDP"},
		{Name: "fsdp", Takes: "ranks", Value: 8, Formula: zero(3), Do: "shard state, gradients and weights (FSDP, ZeRO-3)", Cost: "that many GPUs; half as much traffic again as DDP"},
		{Name: "tp", Takes: "ranks", Value: 8, Formula: tensorParallel, Do: "split the layers over the ranks (tensor parallel)", Cost: "that many GPUs with a fast link; two sums of activations a layer"},
		{Name: "separable", Formula: separable, Do: "make convolutions depthwise-separable", Cost: "another model, to be trained anew"},
		{Name: "pointwise", Formula: pointwise, Do: "make convolutions 1×1", Cost: "another model, that sees no neighbourhood"},
	}
}

// FindRemedy returns the remedy of a name.
func FindRemedy(name string) (Remedy, error) {
	for _, r := range Remedies() {
		if r.Name == name {
			return r, nil
		}
	}
	return Remedy{}, fmt.Errorf("no remedy is called %q", name)
}

// Change is what a formula makes of a trace.
type Change struct {
	Trace     *Trace // with other sizes
	MoreBytes int64  // beside what the trace asks for; below 0 for less
	Text      string // the formula, with what it rests on
}

// Predict predicts a change, under the options of the prediction that it was made of.
func (c *Change) Predict(p *Prediction, opt Options) (*Prediction, error) {
	job, err := Compile(c.Trace, p.Job.Profile, p.Job.Device)
	if err != nil {
		return nil, err
	}
	out, err := Predict(job, opt)
	if err != nil {
		return nil, err
	}
	for _, peak := range []*int64{&out.Best.PeakAllocated, &out.Best.PeakRequested, &out.Best.PeakReserved, &out.Safe, &out.ProcessBytes, &out.SafeProcess} {
		*peak = max(*peak+c.MoreBytes, 0)
	}
	return out, nil
}
