package analyze

import (
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// What the models hold, in bytes, computed from their configuration.
const (
	resnet50Params  = 25_557_032 * 4
	resnet50Buffers = 2*26_560*4 + 53*8 // running mean and variance, batch counters
	vitParams       = 86_567_656 * 4
	vggParams       = 138_357_544 * 4
	bertParams      = 335_143_938 * 4
	// 12 layers of attention, MLP and two norms, two embeddings, a norm; bfloat16, half on each rank
	llamaShard = (12*(2*2048*2048+2*2048*1024+3*2048*5632+2*2048) + 2*32000*2048 + 2048) * 2 / 2
	imageBatch = 64*3*224*224*4 + 64*8
)

// moments of a run
const (
	atPeak       = "peak"
	atBeforeStep = "before the last optimizer step"
	atEnd        = "end"
)

func momentOf(s DiffSide, moment string) int {
	last := s.TL.Dev.Events.Len() - 1
	switch moment {
	case atPeak:
		return s.Event
	case atEnd:
		return last
	}
	steps := newNotes(s.TL).steps
	from := steps[len(steps)-1].fromUS
	for last > 0 && s.TL.Dev.Events.At(last).TimeUS >= from {
		last--
	}
	return last
}

// Categories are checked against what the model's configuration says. The allocator
// gives more than is asked for: 512 bytes at most for a small request, and up to 1 MiB
// that it does not split off a large one, so a few percent are allowed above the
// computed size, and nothing below it.
func TestCategoriesOfModels(t *testing.T) {
	for _, c := range []struct {
		recording, moment string
		category          Category
		want              int64
		above             float64 // share of want that it may be larger by
		atLeast           rules.Confidence
	}{
		{"resnet50", atPeak, Parameters, resnet50Params + resnet50Buffers, 0.01, rules.High},
		{"resnet50", atPeak, OptimizerState, resnet50Params, 0.05, rules.High},
		{"resnet50", atPeak, Inputs, imageBatch, 0.01, rules.Medium},
		{"resnet50", atPeak, Workspaces, 2*32<<20 + 1<<20, 0, rules.Medium}, // cuBLAS forward and backward, cuBLASLt
		{"resnet50", atBeforeStep, Gradients, resnet50Params, 0.05, rules.High},
		{"resnet50", atBeforeStep, Activations, 0, 0, rules.Low},
		{"resnet50", atEnd, Parameters, resnet50Params + resnet50Buffers, 0.01, rules.High},
		{"resnet50", atEnd, Gradients, 0, 0, rules.Low},

		{"vit", atPeak, Parameters, vitParams, 0.01, rules.High},
		{"vit", atPeak, OptimizerState, 2 * vitParams, 0.01, rules.High},
		{"vit", atPeak, Inputs, imageBatch, 0.01, rules.Medium},
		{"vit", atBeforeStep, Gradients, vitParams, 0.05, rules.High},

		{"vgg16-b500-momentum", atPeak, Parameters, vggParams, 0.01, rules.High},
		{"vgg16-b500-momentum", atPeak, OptimizerState, vggParams, 0.01, rules.High},
		{"vgg16-b500-momentum", atBeforeStep, Gradients, vggParams, 0.01, rules.High},
		{"vgg16-b500-momentum", atPeak, Inputs, 500 * (3*86*86*4 + 8), 0.01, rules.Medium},

		{"bert_varlen-ring", atPeak, Parameters, bertParams, 0.01, rules.High},
		{"bert_varlen-ring", atPeak, OptimizerState, 2 * bertParams, 0.01, rules.High},
		{"bert_varlen-ring", atBeforeStep, Gradients, bertParams, 0.01, rules.High},

		{"ddp-rank0", atPeak, Parameters, resnet50Params + resnet50Buffers, 0.01, rules.High},
		{"ddp-rank0", atBeforeStep, Gradients, 2 * resnet50Params, 0.05, rules.High}, // and the buckets
		{"ddp-rank0", atEnd, Gradients, resnet50Params, 0.05, rules.High},            // the buckets stay

		{"fsdp2-rank0", atBeforeStep, Parameters, llamaShard, 0.05, rules.High},
		{"fsdp2-rank0", atBeforeStep, OptimizerState, 2 * llamaShard, 0.05, rules.High},
		{"fsdp2-rank0", atBeforeStep, Gradients, llamaShard, 0.05, rules.Medium},

		{"cudagraph", atPeak, Parameters, (2*2048*8192 + 2048 + 8192) * 4, 0.01, rules.High},
		{"cudagraph", atPeak, OptimizerState, 0, 0, rules.Low},
		{"leak_eval_outputs-oom", atPeak, Gradients, 0, 0, rules.Low},
	} {
		t.Run(c.recording+"/"+c.moment+"/"+c.category.String(), func(t *testing.T) {
			s := recording(t, c.recording)
			got := categoryAt(s, momentOf(s, c.moment), c.category)
			most := float64(c.want) * (1 + c.above)
			if c.want == 0 {
				most = 64 << 10 // scalars
			}
			if got.Bytes < c.want || float64(got.Bytes) > most {
				t.Errorf("%d bytes, want %d to %.0f", got.Bytes, c.want, most)
			}
			if got.Confidence < c.atLeast {
				t.Errorf("confidence %d, want at least %d: %+v", got.Confidence, c.atLeast, got.Reasons)
			}
		})
	}
}

func categoryAt(s DiffSide, event int, c Category) CategoryShare {
	for _, got := range NewHeld(s.TL, s.Sites, event).Categories() {
		if got.Category == c {
			return got
		}
	}
	return CategoryShare{Category: c}
}

// TestCategoriesOfPoorRecordings takes away what many recordings lack, one at a time.
// What is then still said with high confidence must be what the whole recording says,
// and everything must be said in some way.
func TestCategoriesOfPoorRecordings(t *testing.T) {
	for _, name := range []string{"resnet50", "vit", "ddp-rank0", "fsdp2-rank0", "cudagraph", "bert_varlen-ring"} {
		whole := recording(t, name)
		for _, lack := range poverty {
			t.Run(name+"/"+lack.name, func(t *testing.T) {
				poor := replayed(lack.of(whole.TL.Rec))
				for _, event := range []int{whole.Event, whole.TL.Dev.Events.Len() - 1} {
					want := make(map[Category]int64)
					for _, c := range NewHeld(whole.TL, whole.Sites, event).Categories() {
						want[c.Category] = c.Bytes
					}
					for _, c := range NewHeld(poor.TL, poor.Sites, event).Categories() {
						for _, r := range c.Reasons {
							if r.Confidence == rules.High && r.Bytes > want[c.Category] {
								t.Errorf("event %d: %d bytes of %s are said to be sure (%s); the whole recording says %d", event, r.Bytes, c.Category, r.Text, want[c.Category])
							}
						}
					}
				}
			})
		}
	}
}

var poverty = []struct {
	name string
	of   func(*snapshot.Recording) *snapshot.Recording
}{
	{"no annotations", func(r *snapshot.Recording) *snapshot.Recording {
		poor := *r
		poor.Annotations = nil
		return &poor
	}},
	{"stacks of allocations only", func(r *snapshot.Recording) *snapshot.Recording {
		made := make(map[uint64]snapshot.StackID)
		return mapEvents(r, func(e *snapshot.Event) {
			switch e.Action {
			case snapshot.Alloc:
				made[e.Addr] = e.Stack
			case snapshot.FreeRequested, snapshot.FreeCompleted:
				e.Stack = made[e.Addr]
			}
		})
	}},
	{"no stacks", func(r *snapshot.Recording) *snapshot.Recording {
		poor := mapEvents(r, func(e *snapshot.Event) { e.Stack = 0 })
		poor.Stacks, poor.Frames = snapshot.Stacks{}, nil
		for _, d := range poor.Devices {
			d.Blocks, d.Segments = append([]snapshot.Block(nil), d.Blocks...), append([]snapshot.Segment(nil), d.Segments...)
			for i := range d.Blocks {
				d.Blocks[i].Stack = 0
			}
			for i := range d.Segments {
				d.Segments[i].Stack = 0
			}
		}
		return poor
	}},
}

// mapEvents copies a recording with every event changed by f.
func mapEvents(r *snapshot.Recording, f func(*snapshot.Event)) *snapshot.Recording {
	out := *r
	out.Devices = nil
	for _, d := range r.Devices {
		dev := *d
		dev.Events = &snapshot.Events{Pools: d.Events.Pools, HasPools: d.Events.HasPools, HasTimes: d.Events.HasTimes}
		for i := range d.Events.Len() {
			e := d.Events.At(i)
			f(&e)
			dev.Events.Append(e)
		}
		out.Devices = append(out.Devices, &dev)
	}
	return &out
}

// Each rule is met by evidence that no earlier rule takes.
func TestCategoryRules(t *testing.T) {
	met := make(map[*categoryRule]bool)
	for _, c := range []struct {
		reason   string // that begins so
		category Category
		e        evidence
	}{
		{"cuBLAS workspace, by its C++", Workspaces, evidence{made: inBLAS | inModule | inBackward}},
		{"cuDNN workspace, by its C++", Workspaces, evidence{made: inConvPlan | inModule}},
		{"DDP's gradient buckets", Gradients, evidence{made: inBuckets | inModule}},
		{"made in the backward pass, freed by zero_grad", Gradients, evidence{noCode: true, freed: inZeroGrad, freeKnown: true}},
		{"freed by zero_grad", Gradients, evidence{blind: true, before: true, freed: inZeroGrad}},
		{"freed by zero_grad", Gradients, evidence{made: inModule, freed: inZeroGrad}},
		{"buffers in which gradients", Gradients, evidence{made: inReduce}},
		{"this rank's shards", Parameters, evidence{made: inShardInit | inConstructor, kept: true}},
		{"gathered from all ranks", Parameters, evidence{made: inUnshard | inModule}},
		{"copies for other devices", Parameters, evidence{made: inReplicate, freeKnown: true}},
		{"made where the optimizer sets up", OptimizerState, evidence{made: inOptimizer | inOptimInit, kept: true}},
		{"made and freed within the optimizer's step", Workspaces, evidence{made: inOptimizer, freed: inOptimizer}},
		{"made in the optimizer's step, in which", OptimizerState, evidence{made: inOptimizer, kept: true, dead: true, likeParam: true}},
		{"made in the optimizer's step and kept", OptimizerState, evidence{made: inOptimizer, kept: true, likeParam: true}},
		{"made in the optimizer's step and kept", OptimizerState, evidence{made: inOptimizer, kept: true}},
		{"gradient clipping", Workspaces, evidence{made: inClip}},
		{"copies of weights that autocast", Workspaces, evidence{made: inModule, freed: inAutocastEnd}},
		{"size and life of a cuBLAS", Workspaces, evidence{made: inModule, kept: true, blasSize: true}},
		{"recomputed by activation", Activations, evidence{made: inModule | inRecompute | inBackward}},
		{"made in the backward pass, as large as a parameter, held into", Gradients, evidence{noCode: true, backFreed: true, freeKnown: true, likeParam: true, crosses: true}},
		{"made in the backward pass, as large as a parameter, and not freed", Gradients, evidence{noCode: true, kept: true, likeParam: true}},
		{"made in the backward pass, as large as a parameter, and not freed", Gradients, evidence{noCode: true, freeKnown: true, likeParam: true}},
		{"made in the backward pass, as large as a parameter", Gradients, evidence{noCode: true, likeParam: true}},
		{"gradients of activations: made and freed", Activations, evidence{noCode: true, freeKnown: true, backFreed: true}},
		{"gradients of activations: made in", Activations, evidence{noCode: true}},
		{"made in the backward pass, in which", Activations, evidence{noCode: true, kept: true}},
		{"grown by a cache", KVCache, evidence{made: inKVCache | inModule, kept: true}},
		{"made where modules are built", Parameters, evidence{made: inConvert | inConstructor, kept: true}},
		{"made in a constructor; the optimizer", Parameters, evidence{made: inConstructor, likeState: true}},
		{"made in a constructor", Parameters, evidence{made: inConstructor, kept: true}},
		{"in a private pool", GraphPool, evidence{made: inModule, private: true}},
		{"taken by the capture", GraphPool, evidence{made: inGraph}},
		{"made in the forward pass, freed by the backward", Activations, evidence{made: inModule, backFreed: true}},
		{"made and freed within one operator", Workspaces, evidence{made: inModule, sameLine: true}},
		{"made in the forward pass, freed by Python", Activations, evidence{made: inModule, freeKnown: true}},
		{"made in the forward pass and not freed", Activations, evidence{made: inModule, kept: true}},
		{"made in the forward pass", Activations, evidence{made: inModule}},
		{"moved to the device", Inputs, evidence{made: inData}},
		{"made by the user's own line, freed by the backward", Activations, evidence{own: true, backFreed: true}},
		{"made by the user's own line and held across", Other, evidence{own: true, leads: true, spans: true}},
		{"made by the user's own line before", Inputs, evidence{own: true, leads: true}},
		{"made by the user's own line outside of modules, and freed", Activations, evidence{own: true, trains: true, freeKnown: true}},
		{"made by the user's own line outside", Other, evidence{own: true}},
		{"made before the recording began, freed by the backward", Activations, evidence{blind: true, before: true, backFreed: true}},
		{"held since before the recording", Unknown, evidence{blind: true, before: true, kept: true}},
		{"made before the first optimizer step", Parameters, evidence{blind: true, leads: true, spans: true}},
		{"made and freed between optimizer steps", Activations, evidence{blind: true, made: betweenSteps}},
		{"made before the recording began", Unknown, evidence{blind: true, before: true}},
		{"no stack was recorded", Unknown, evidence{blind: true}},
		{"by code that no rule knows", Other, evidence{}},
	} {
		r := c.e.rule()
		met[r] = true
		if r.category != c.category || !strings.HasPrefix(r.reason, c.reason) {
			t.Errorf("%s: got %s, %q", c.reason, r.category, r.reason)
		}
	}
	for i := range categoryRules {
		if r := &categoryRules[i]; !met[r] {
			t.Errorf("no evidence in this test meets the rule %s, %q", r.category, r.reason)
		}
	}
}

// What the marks of whole stacks are, where single frames would mislead.
func TestMarksOfStacks(t *testing.T) {
	optim := func(name string) snapshot.Frame { return frame(pkgs+"torch/optim/adam.py", 9, name) }
	wrapper := frame(pkgs+"torch/optim/optimizer.py", 533, "wrapper")
	user := func(name string) snapshot.Frame { return frame("/p/train.py", 5, name) }
	lightning := frame(pkgs+"lightning/pytorch/loops/optimization/automatic.py", 146, "closure")
	for _, c := range []struct {
		name          string
		stack         []snapshot.Frame
		has, mustLack marks
	}{
		{"optimizer", []snapshot.Frame{optim("_init_group"), optim("step"), wrapper, user("step")}, inOptimizer | inOptimInit, 0},
		{"the user's own optimizer", []snapshot.Frame{frame("/p/muon.py", 3, "step"), wrapper, user("main")}, inOptimizer, inModule},
		{"forward pass in a closure", join([]snapshot.Frame{frame("/p/net.py", 3, "forward")}, callFrames(), []snapshot.Frame{user("training_step"), lightning, optim("step"), wrapper, user("main")}), inModule, inOptimizer},
		{"batch in a closure", []snapshot.Frame{user("training_step"), lightning, optim("step"), wrapper, user("main")}, 0, inOptimizer},
		{"backward pass in a closure", []snapshot.Frame{frame(pkgs+"torch/autograd/__init__.py", 9, "_make_grads"), lightning, optim("step"), wrapper}, inBackward, inOptimizer},
		{"module's constructor", []snapshot.Frame{frame("/p/net.py", 3, "__init__"), user("main")}, inConstructor, 0},
		{"training in a constructor", []snapshot.Frame{user("step"), frame("/p/trainer.py", 3, "__init__")}, 0, inConstructor},
		{"layer's constructor", []snapshot.Frame{frame(pkgs+"torch/nn/modules/linear.py", 109, "__init__"), user("build")}, inConvert, 0},
		{"conversion", []snapshot.Frame{frame(pkgs+"torch/nn/modules/module.py", 1370, "convert"), frame(pkgs+"torch/nn/modules/module.py", 930, "_apply"), user("main")}, inConvert, inModule},
		{"ZeRO gathers", []snapshot.Frame{frame(pkgs+"deepspeed/runtime/zero/partition_parameters.py", 9, "_all_gather_dtype"), user("main")}, inUnshard, 0},
		{"ZeRO's constructor", []snapshot.Frame{frame(pkgs+"deepspeed/runtime/zero/partition_parameters.py", 9, "_convert_to_deepspeed_param"), user("main")}, inShardInit, 0},
		{"Megatron's buffers", []snapshot.Frame{frame(pkgs+"megatron/core/distributed/param_and_grad_buffer.py", 9, "__init__"), user("main")}, inBuckets, inConstructor},
		{"8-bit optimizer", []snapshot.Frame{frame(pkgs+"bitsandbytes/optim/optimizer.py", 9, "get_state_buffer"), frame(pkgs+"bitsandbytes/optim/optimizer.py", 3, "init_state"), user("main")}, inOptimInit, 0},
		{"loader of a framework", []snapshot.Frame{frame(pkgs+"accelerate/utils/operations.py", 9, "send_to_device"), user("main")}, inData, inModule},
		{"weights", []snapshot.Frame{frame(pkgs+"safetensors/torch.py", 9, "load_file"), user("main")}, inLoad, 0},
	} {
		var m made
		id := m.stack(c.stack...)
		if got := NewSites(&m.rec).At(id).marks; got&c.has != c.has || got.has(c.mustLack) {
			t.Errorf("%s: marks %b, want %b and none of %b", c.name, got, c.has, c.mustLack)
		}
	}
}

func TestMarksOfFrames(t *testing.T) {
	reader := newFrameReader(nil)
	for _, c := range []struct {
		file, name string
		want       marks
	}{
		{"torch/amp/autocast_mode.py", "__exit__", inAutocastEnd},
		{"torch/amp/autocast_mode.py", "__enter__", 0},
		{"torch/amp/grad_scaler.py", "unscale_", inScaler},
		{"torch/cuda/amp/grad_scaler.py", "scale", inScaler},
		{"torch/cuda/graphs.py", "capture_begin", inGraph},
		{"torch/nn/utils/clip_grad.py", "clip_grad_norm_", inClip},
		{"torch/nn/parallel/replicate.py", "replicate", inReplicate},
		{"torch/nn/parallel/scatter_gather.py", "scatter_kwargs", inData},
		{"torch/nn/parallel/distributed.py", "_ddp_init_helper", inBuckets},
		{"torch/nn/parallel/distributed.py", "forward", 0},
		{"torch/nn/init.py", "kaiming_uniform_", inConvert},
		{"torch/nn/modules/module.py", "to_empty", inConvert},
		{"torch/nn/modules/module.py", "_load_from_state_dict", inLoad},
		{"torch/utils/checkpoint.py", "recompute_fn", inRecompute | inBackward},
		{"torch/utils/data/_utils/pin_memory.py", "do_one_step", inData},
		{"torch/autograd/function.py", "backward", inBackward},
		{"torch/_functorch/_aot_autograd/runtime_wrappers.py", "backward", inBackward},
		{"torch/_tensor.py", "backward", inBackward},
		{"torch/serialization.py", "load", inLoad},
		{"torch/optim/adagrad.py", "__init__", inConstructor | inOptimizer | inOptimInit},
		{"torch/optim/optimizer.py", "zero_grad", inZeroGrad},
		{"torch/distributed/fsdp/_fully_shard/_fsdp_param.py", "_init_sharded_param", inShardInit},
		{"torch/distributed/fsdp/_flat_param.py", "_alloc_padded_unsharded_flat_param", inUnshard},
		{"torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py", "foreach_reduce", inReduce},
		{"transformers/cache_utils.py", "update", inKVCache},
		{"transformers/optimization.py", "step", inOptimizer},
		{"transformers/modeling_utils.py", "_load_state_dict_into_meta_model", inLoad},
		{"transformers/trainer.py", "_prepare_inputs", inData},
		{"vllm/v1/worker/gpu_model_runner.py", "_allocate_kv_cache_tensors", inKVCache},
		{"lightning/fabric/utilities/apply_func.py", "batch_to", inData},
		{"deepspeed/runtime/zero/stage_1_and_2.py", "initialize_optimizer_states", inOptimizer | inOptimInit},
		{"deepspeed/runtime/zero/stage_1_and_2.py", "_optimizer_step", inOptimizer},
		{"deepspeed/runtime/zero/stage_1_and_2.py", "reduce_ipg_grads", inReduce},
	} {
		if got := reader.facts(frame(pkgs+c.file, 1, c.name)).marks; got != c.want {
			t.Errorf("%s in %s: marks %b, want %b", c.name, c.file, got, c.want)
		}
	}
	for name, want := range map[string]marks{"zero_grad": inZeroGrad, "__init__": inConstructor, "init_weights": inConvert, "collate_fn": inData, "forward": 0} {
		if got := reader.facts(frame("/p/train.py", 1, name)).marks; got != want {
			t.Errorf("the user's %s: marks %b, want %b", name, got, want)
		}
	}
}

func TestStepsThatEncloseThePass(t *testing.T) {
	events := &snapshot.Events{HasTimes: true}
	for us := range int64(40) {
		events.Append(snapshot.Event{Action: snapshot.Snapshot, TimeUS: us})
	}
	rec := &snapshot.Recording{Annotations: []snapshot.Annotation{
		{Name: "Optimizer.step#SGD.step", Start: true, TimeUS: 10},
		{Name: "Optimizer.zero_grad#SGD.zero_grad", Start: true, TimeUS: 15},
		{Name: "Optimizer.zero_grad#SGD.zero_grad", TimeUS: 16},
		{Name: "Optimizer.step#SGD.step", TimeUS: 30},
	}}
	n := newNotes(&timeline.Timeline{Dev: &snapshot.Device{Events: events}, Rec: rec})
	if got := n.at(12); got != betweenSteps {
		t.Errorf("within a step that calls a closure: %b", got)
	}
	if got := n.at(15); got != inZeroGrad {
		t.Errorf("within zero_grad: %b", got)
	}
}

func TestPeriods(t *testing.T) {
	note := func(name string, start bool, timeUS int64) snapshot.Annotation {
		return snapshot.Annotation{Name: name, Start: start, TimeUS: timeUS}
	}
	const step, zero = "Optimizer.step#AdamW.step", "Optimizer.zero_grad#AdamW.zero_grad"
	events := &snapshot.Events{HasTimes: true}
	for us := range int64(60) {
		events.Append(snapshot.Event{Action: snapshot.Snapshot, TimeUS: us})
	}
	tl := &timeline.Timeline{Dev: &snapshot.Device{Events: events}, Rec: &snapshot.Recording{Annotations: []snapshot.Annotation{
		note(step, false, 5), // its start was lost
		note("forward", true, 6), note("forward", false, 9),
		note(step, true, 10), note(step, false, 20),
		note(zero, true, 20), note(zero, false, 22),
		note(step, true, 40), note(step, true, 45), note(step, false, 50), // the first has no end
		note(step, true, 55), // its end was lost
	}}}
	n := newNotes(tl)
	for event, want := range map[int]marks{0: betweenSteps, 5: betweenSteps, 10: inOptimizer, 15: inOptimizer, 20: inZeroGrad, 22: inZeroGrad, 23: betweenSteps, 47: inOptimizer, 50: inOptimizer, 57: betweenSteps} {
		if got := n.at(event); got != want {
			t.Errorf("event %d: %b, want %b", event, got, want)
		}
	}
	if !n.beforeFirstStep(9) || n.beforeFirstStep(10) {
		t.Error("the first step begins at event 10")
	}
	if got := n.stepsBetween(0, 59); got != 2 {
		t.Errorf("%d steps begin, want 2", got)
	}
}
