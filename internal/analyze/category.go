package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
)

// Category is what a block is for.
type Category uint8

// Categories, in the order in which reports list them where bytes are equal.
const (
	Unknown        Category = iota // nothing in the recording tells
	Parameters                     // and buffers: frames do not tell the two apart
	Gradients                      // of parameters
	OptimizerState                 // momentum, moments, master copies
	Activations                    // of the forward pass, and their gradients in the backward pass
	Workspaces                     // scratch memory of libraries and operators
	Inputs                         // batches
	KVCache                        // keys and values kept between calls
	GraphPool                      // what CUDA graphs and private memory pools hold
	Other                          // the code that allocated it is known, its purpose is not
	numCategories
)

var categoryNames = [numCategories]string{
	"unknown", "parameters", "gradients", "optimizer state", "activations", "workspaces", "inputs", "KV cache", "graph pools", "other",
}

// CategoryNames returns the names of all categories, by Category.
func CategoryNames() []string { return slices.Clone(categoryNames[:]) }

func (c Category) String() string { return categoryNames[c] }

// MarshalText writes the category's name.
func (c Category) MarshalText() ([]byte, error) { return []byte(categoryNames[c]), nil }

// UnmarshalText reads a category's name.
func (c *Category) UnmarshalText(text []byte) error {
	i := slices.Index(categoryNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown category %q, expected one of %s", text, strings.Join(categoryNames[:], ", "))
	}
	*c = Category(i)
	return nil
}

// evidence is all that the rules may look at.
type evidence struct {
	made   marks // of the stack that allocated it, or of the annotation around it
	freed  marks // the same for its free; 0 where it was not freed
	noCode bool  // allocated by a thread without Python frames: autograd's, unless something tells otherwise
	blind  bool  // no stack was recorded for it
	own    bool  // the innermost Python frame is the user's: x = torch.randn(…), x.to(device), a + b

	kept      bool // never freed in the recording
	before    bool // allocated before the recording began
	freeKnown bool // the recording tells where it was freed
	backFreed bool // freed by autograd's thread
	sameLine  bool // freed where it was allocated, within one call
	likeParam bool // as large as a parameter
	likeState bool // as large as a part of the optimizer's state
	blasSize  bool // the first kept block of its thread and stream that has a size of cuBLAS's workspace
	dead      bool // the recording ends inside an optimizer step: kept proves nothing there
	private   bool // in a private pool
	spans     bool // held across two optimizer steps, by the annotations; of a blind block also: never freed
	crosses   bool // made before an optimizer step and held after it began, by the annotations
	trains    bool // the recording holds a backward pass or an optimizer
	leads     bool // allocated before the next forward pass began, as a batch is
}

// categoryRule names one way to know. The first that fits decides.
type categoryRule struct {
	category   Category
	confidence rules.Confidence
	reason     string
	fits       func(e *evidence) bool
}

// categoryRules are in order: what is certain by itself first, then what rests on
// where a block was made and freed together, then what rests on one of the two.
// What they rest on in PyTorch: gradients are released by zero_grad (set to None
// since 2.0); autograd runs backward on a thread without Python frames and releases
// what the forward pass saved; optimizers make their state in _init_group or in the
// first step; cuBLAS takes one workspace per handle and stream and keeps it.
var categoryRules = []categoryRule{
	{Workspaces, rules.High, "cuBLAS workspace, by its C++ frames", func(e *evidence) bool { return e.made.has(inBLAS) }},
	{Workspaces, rules.High, "cuDNN workspace, by its C++ frames", func(e *evidence) bool { return e.made.has(inConvPlan) }},
	{Gradients, rules.High, "DDP's gradient buckets", func(e *evidence) bool { return e.made.has(inBuckets) && !e.made.has(inOptimizer) }},
	{Gradients, rules.High, "made in the backward pass, freed by zero_grad", func(e *evidence) bool { return e.inBackward() && e.freed.has(inZeroGrad) }},
	{Gradients, rules.High, "freed by zero_grad", func(e *evidence) bool { return e.blind && e.freed.has(inZeroGrad) }},
	{Gradients, rules.Medium, "freed by zero_grad", func(e *evidence) bool { return e.freed.has(inZeroGrad) && !e.made.has(inOptimizer) }},
	{Gradients, rules.Medium, "buffers in which gradients are reduced across ranks", func(e *evidence) bool { return e.made.has(inReduce) }},

	{Parameters, rules.High, "this rank's shards", func(e *evidence) bool { return e.made.has(inShardInit) && !e.freed.has(inShardInit) }},
	{Parameters, rules.High, "gathered from all ranks for use", func(e *evidence) bool { return e.made.has(inUnshard) }},
	{Parameters, rules.High, "copies for other devices", func(e *evidence) bool { return e.made.has(inReplicate) && !e.backFreed }},

	{OptimizerState, rules.High, "made where the optimizer sets up its state", func(e *evidence) bool { return e.made.has(inOptimInit) && !e.freed.has(inOptimizer) }},
	{Workspaces, rules.High, "made and freed within the optimizer's step", func(e *evidence) bool { return e.made.has(inOptimizer) && e.freed.has(inOptimizer) }},
	{OptimizerState, rules.Low, "made in the optimizer's step, in which the recording ends", func(e *evidence) bool { return e.made.has(inOptimizer) && e.dead && e.kept }},
	{OptimizerState, rules.High, "made in the optimizer's step and kept", func(e *evidence) bool { return e.made.has(inOptimizer) && e.likeParam }},
	{OptimizerState, rules.Medium, "made in the optimizer's step and kept", func(e *evidence) bool { return e.made.has(inOptimizer) }},
	{Workspaces, rules.Medium, "gradient clipping and scaling", func(e *evidence) bool { return e.made.has(inClip | inScaler) }},

	{GraphPool, rules.High, "in a private pool of CUDA graphs or of torch.cuda.MemPool", func(e *evidence) bool { return e.private && !e.builds() }},
	{Workspaces, rules.High, "copies of weights that autocast keeps until it ends", func(e *evidence) bool { return e.made.has(inModule) && e.freed.has(inAutocastEnd) }},
	{Workspaces, rules.Medium, "size and life of a cuBLAS workspace", func(e *evidence) bool { return e.blasSize }},

	{Activations, rules.High, "recomputed by activation checkpointing", func(e *evidence) bool { return e.made.has(inRecompute) && e.made.has(inModule) }},
	{Gradients, rules.High, "made in the backward pass, as large as a parameter, held into an optimizer step", func(e *evidence) bool { return e.inBackward() && e.likeParam && e.crosses }},
	{Gradients, rules.Medium, "made in the backward pass, as large as a parameter, and not freed by it", func(e *evidence) bool {
		return e.inBackward() && e.likeParam && (e.kept || e.freeKnown && !e.backFreed)
	}},
	{Gradients, rules.Low, "made in the backward pass, as large as a parameter", func(e *evidence) bool { return e.inBackward() && !e.freeKnown && e.likeParam }},
	{Activations, rules.High, "gradients of activations: made and freed in the backward pass", func(e *evidence) bool { return e.inBackward() && e.backFreed }},
	{Activations, rules.Medium, "gradients of activations: made in the backward pass", func(e *evidence) bool { return e.inBackward() && !e.kept && !e.before }},
	{Activations, rules.Low, "made in the backward pass, in which the recording ends or which nothing freed", func(e *evidence) bool { return e.inBackward() && !e.before }},

	{KVCache, rules.High, "grown by a cache of keys and values", func(e *evidence) bool { return e.made.has(inKVCache) && (!e.trains || e.freeKnown && !e.backFreed) }},
	{Parameters, rules.High, "made where modules are built, loaded or moved", func(e *evidence) bool { return e.builds() && e.made.has(inConvert|inLoad) }},
	{Parameters, rules.High, "made in a constructor; the optimizer keeps state of that size", func(e *evidence) bool { return e.builds() && e.likeState }},
	{Parameters, rules.Medium, "made in a constructor", func(e *evidence) bool { return e.builds() && (e.kept || !e.own) }},

	{GraphPool, rules.High, "taken by the capture of a CUDA graph", func(e *evidence) bool { return e.made.has(inGraph) && !e.made.has(inModule) }},
	{Activations, rules.High, "made in the forward pass, freed by the backward pass", func(e *evidence) bool { return e.made.has(inModule) && e.backFreed }},
	{Workspaces, rules.Medium, "made and freed within one operator", func(e *evidence) bool { return e.made.has(inModule) && e.sameLine }},
	{Activations, rules.Medium, "made in the forward pass, freed by Python", func(e *evidence) bool { return e.made.has(inModule) && !e.kept && e.freeKnown }},
	{Activations, rules.Medium, "made in the forward pass", func(e *evidence) bool { return e.made.has(inModule) && !e.kept }},
	{Activations, rules.Medium, "made in the forward pass and not freed in the recording", func(e *evidence) bool { return e.made.has(inModule) }},

	{Inputs, rules.High, "moved to the device by a loader or a framework", func(e *evidence) bool { return e.made.has(inData) }},
	{Activations, rules.Medium, "made by the user's own line, freed by the backward pass", func(e *evidence) bool { return e.own && e.backFreed && !e.leads }},
	{Other, rules.Low, "made by the user's own line and held across optimizer steps", func(e *evidence) bool { return e.own && e.spans }},
	{Inputs, rules.Medium, "made by the user's own line before the next call of a module", func(e *evidence) bool { return e.own && e.leads }},
	{Activations, rules.Low, "made by the user's own line outside of modules, and freed again", func(e *evidence) bool { return e.own && e.trains && e.freeKnown }},
	{Other, rules.Low, "made by the user's own line outside of modules", func(e *evidence) bool { return e.own }},

	{Activations, rules.Medium, "made before the recording began, freed by the backward pass", func(e *evidence) bool { return e.before && e.backFreed }},
	{Unknown, rules.Low, "held since before the recording began: parameters, optimizer state or the like", func(e *evidence) bool { return e.blind && e.before && e.kept }},
	{Parameters, rules.Low, "made before the first optimizer step and held across steps", func(e *evidence) bool { return e.blind && e.spans && e.leads }},
	{Activations, rules.Low, "made and freed between optimizer steps", func(e *evidence) bool { return e.blind && e.made.has(betweenSteps) && !e.spans }},
	{Unknown, rules.Low, "made before the recording began", func(e *evidence) bool { return e.blind && e.before }},
	{Unknown, rules.Low, "no stack was recorded", func(e *evidence) bool { return e.blind }},
	{Other, rules.Low, "by code that no rule knows", func(*evidence) bool { return true }},
}

func (m marks) has(any marks) bool { return m&any != 0 }

// inBackward tells whether the block was made by the backward pass.
func (e *evidence) inBackward() bool { return e.made.has(inBackward) || e.noCode }

// builds tells whether the block was made where modules are set up, and lives on.
func (e *evidence) builds() bool {
	return e.made.has(inConvert|inLoad|inConstructor) && !e.made.has(inModule) && !e.sameLine
}

// rule returns the first rule that fits.
func (e *evidence) rule() *categoryRule { return &categoryRules[e.ruleIndex()] }

// ruleIndex returns the place of the first rule that fits; the last one always does.
func (e *evidence) ruleIndex() int {
	for i := range categoryRules {
		if categoryRules[i].fits(e) {
			return i
		}
	}
	return len(categoryRules) - 1
}
