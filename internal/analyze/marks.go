package analyze

import "strings"

// marks are what single frames say of the code that ran. The marks of a stack are
// those of all its frames; the rules of category.go read them.
type marks uint32

const (
	inModule      marks = 1 << iota // within a call of an nn.Module, or of torch.nn.functional
	inBackward                      // within autograd's backward pass
	inRecompute                     // activation checkpointing runs a forward again
	inOptimizer                     // within an optimizer's code
	inOptimInit                     // where optimizers make their state
	inZeroGrad                      // zero_grad
	inClip                          // gradient clipping
	inScaler                        // gradient scaler
	inConstructor                   // a constructor
	inConvert                       // a module is moved or converted, or its parameters are reset
	inLoad                          // weights are loaded
	inShardInit                     // FSDP or ZeRO splits parameters
	inUnshard                       // FSDP or ZeRO gathers parameters
	inReduce                        // gradients are reduced across ranks
	inReplicate                     // parameters are copied to other devices
	inBuckets                       // DDP makes or rebuilds its gradient buckets
	inData                          // a loader or a framework moves a batch to the device
	inKVCache                       // a cache of keys and values grows
	inAutocastEnd                   // autocast drops its copies of weights
	inGraph                         // CUDA graph capture
	inBLAS                          // a cuBLAS or cuBLASLt workspace is taken
	inConvPlan                      // cuDNN workspace
	betweenSteps                    // annotations tell that no optimizer was running
)

// userMarks judges the user's own frames, by the names that torch itself gives meaning to.
func userMarks(name string) marks {
	switch name {
	case "zero_grad":
		return inZeroGrad
	case "__init__":
		return inConstructor
	case "reset_parameters", "_init_weights", "init_weights":
		return inConvert
	}
	if isDataMover(name) {
		return inData
	}
	return 0
}

func libraryMarks(pkg, rel, name string) marks {
	m := nameMarks(name)
	if strings.HasPrefix(rel, "torch/") {
		return m | torchMarks(rel[len("torch/"):], name)
	}
	switch pkg {
	case "transformers":
		return m | transformersMarks(rel, name)
	case "safetensors":
		return m | inLoad
	case "deepspeed":
		return m | deepspeedMarks(rel, name)
	case "megatron":
		if strings.HasSuffix(rel, "/param_and_grad_buffer.py") {
			return m&^inConstructor | inBuckets
		}
	}
	switch pkg {
	case "bitsandbytes", "apex", "torchao", "timm", "pytorch_optimizer", "deepspeed", "megatron", "transformer_engine":
		if strings.Contains(rel, "optim") {
			return m | optimizerMarks(name)
		}
	case "lightning", "pytorch_lightning", "lightning_fabric", "accelerate", "torchdata", "nvidia", "webdataset":
		if isDataMover(name) || strings.Contains(rel, "fetchers.py") {
			m |= inData
		}
	case "vllm", "sglang", "tensorrt_llm":
		if strings.Contains(name, "kv_cache") {
			m |= inKVCache
		}
	}
	return m
}

// nameMarks reads function names that mean the same in every library.
func nameMarks(name string) marks {
	switch name {
	case "zero_grad":
		return inZeroGrad
	case "__init__":
		return inConstructor
	case "reset_parameters", "_init_weights", "init_weights", "initialize_weights":
		return inConvert
	case "from_pretrained", "load_state_dict", "_load_pretrained_model", "load_checkpoint_and_dispatch", "set_module_tensor_to_device":
		return inLoad
	}
	return 0
}

// isDataMover recognises the functions by which frameworks move a batch to the device.
func isDataMover(name string) bool {
	switch name {
	case "send_to_device", "move_data_to_device", "batch_to_device", "transfer_batch_to_device", "batch_to", "_prepare_inputs", "_prepare_input",
		"to_device", "move_to_device", "recursive_to", "_batch_to_device", "pin_memory", "default_collate", "collate_fn", "prefetch", "_prefetch_batch", "preload":
		return true
	}
	return false
}

// torchMarks judges a frame of torch; file is its path below torch/.
func torchMarks(file, name string) marks {
	switch folder, _, _ := strings.Cut(file, "/"); folder {
	case "nn":
		return nnMarks(file, name)
	case "optim":
		return optimizerMarks(name)
	case "autograd":
		return autogradMarks(file, name)
	case "_functorch":
		if name == "backward" {
			return inBackward
		}
	case "distributed":
		return distributedMarks(file, name)
	case "amp":
		return ampMarks(file, name)
	case "utils":
		return utilMarks(file, name)
	case "cuda":
		return cudaMarks(file, name)
	}
	switch {
	case file == "_tensor.py" && name == "backward":
		return inBackward
	case file == "serialization.py":
		return inLoad
	}
	return 0
}

func nnMarks(file, name string) marks {
	switch file {
	case "nn/modules/module.py":
		switch name {
		case "_call_impl", "_wrapped_call_impl", "_slow_forward":
			return inModule
		case "_apply", "convert", "to", "cuda", "half", "float", "bfloat16", "to_empty", "<lambda>":
			return inConvert
		case "_load_from_state_dict":
			return inLoad
		}
		return 0
	case "nn/functional.py":
		return inModule
	case "nn/parameter.py":
		return inConvert
	case "nn/init.py":
		return inConvert
	case "nn/utils/clip_grad.py":
		return inClip
	case "nn/parallel/distributed.py":
		switch name {
		case "_ddp_init_helper", "_rebuild_buckets", "_pre_forward":
			return inBuckets
		}
		return 0
	case "nn/parallel/replicate.py", "nn/parallel/comm.py":
		if strings.Contains(name, "broadcast") || strings.Contains(name, "replicate") {
			return inReplicate
		}
		return 0
	case "nn/parallel/scatter_gather.py":
		if strings.HasPrefix(name, "scatter") {
			return inData
		}
		return 0
	}
	if name == "__init__" && strings.HasPrefix(file, "nn/modules/") {
		return inConvert // a layer makes its parameters
	}
	return 0
}

// optimizerMarks judges a frame of an optimizer's file. Most make their state in the
// first step; Adagrad makes it in its constructor.
func optimizerMarks(name string) marks {
	switch name {
	case "zero_grad":
		return inZeroGrad
	case "__init__", "_init_group", "_init_state", "init_state", "init_state_dict", "__setstate__", "load_state_dict", "get_state_buffer", "_new_buffer":
		return inOptimizer | inOptimInit
	case "add_param_group":
		return 0
	}
	return inOptimizer
}

func autogradMarks(file, name string) marks {
	switch {
	case file == "autograd/graph.py" && name == "_engine_run_backward",
		file == "autograd/__init__.py" && (name == "backward" || name == "grad" || name == "_make_grads"),
		file == "autograd/function.py" && (name == "backward" || name == "vjp"):
		return inBackward
	}
	return 0
}

// distributedMarks reads the functions of FSDP 1 and 2 by what they do to parameters.
func distributedMarks(file, name string) marks {
	if !strings.Contains(file, "fsdp") {
		if strings.Contains(name, "reduce_scatter") {
			return inReduce
		}
		return 0
	}
	switch {
	case name == "_init_sharded_param", name == "_init_flat_param_and_metadata", name == "flatten_tensors_into_flat_param", name == "_init_param_handle_from_params",
		name == "shard", name == "_get_shard":
		return inShardInit
	case strings.Contains(name, "all_gather"), strings.Contains(name, "unshard"):
		return inUnshard
	case name == "foreach_reduce", strings.Contains(name, "reduce_scatter"), name == "_reduce_grad", name == "_post_backward_hook", name == "post_backward":
		return inReduce
	}
	return 0
}

func ampMarks(file, name string) marks {
	switch {
	case file == "amp/grad_scaler.py":
		return inScaler
	case file == "amp/autocast_mode.py" && name == "__exit__":
		return inAutocastEnd
	}
	return 0
}

func utilMarks(file, name string) marks {
	switch {
	case file == "utils/checkpoint.py" && (name == "recompute_fn" || name == "unpack_hook" || name == "backward"):
		return inRecompute | inBackward
	case strings.HasPrefix(file, "utils/data/"):
		return inData
	}
	return 0
}

func cudaMarks(file, name string) marks {
	switch {
	case file == "cuda/graphs.py" && (name == "capture_begin" || name == "replay" || name == "__enter__"):
		return inGraph
	case strings.HasPrefix(file, "cuda/amp/grad_scaler"):
		return inScaler
	}
	return 0
}

func transformersMarks(rel, name string) marks {
	switch {
	case strings.HasSuffix(rel, "/cache_utils.py"):
		return inKVCache
	case strings.HasSuffix(rel, "/optimization.py"):
		return optimizerMarks(name)
	case strings.HasSuffix(rel, "/modeling_utils.py") && strings.Contains(name, "load"), strings.HasSuffix(rel, "/core_model_loading.py"):
		return inLoad
	case isDataMover(name):
		return inData
	}
	return 0
}

// deepspeedMarks reads the functions of ZeRO by what they do to parameters.
func deepspeedMarks(rel, name string) marks {
	if !strings.HasPrefix(rel, "deepspeed/runtime/") {
		return 0
	}
	switch {
	case name == "initialize_optimizer_states":
		return inOptimizer | inOptimInit
	case name == "_optimizer_step", name == "unscale_and_clip_grads":
		return inOptimizer
	case name == "_convert_to_deepspeed_param", name == "_partition_param", name == "partition":
		return inShardInit
	case strings.Contains(name, "allgather"), strings.Contains(name, "all_gather"), name == "fetch_sub_module":
		return inUnshard
	case strings.Contains(name, "ipg"), strings.HasPrefix(name, "reduce_"), strings.Contains(name, "reduce_scatter"):
		return inReduce
	}
	return 0
}

// nativeMarks judges C++ frames, which recordings with stacks="all" hold.
func nativeMarks(name string) marks {
	switch {
	case strings.Contains(name, "autograd::Engine::"), strings.Contains(name, "Backward0::apply"), strings.Contains(name, "AccumulateGrad"):
		return inBackward
	case strings.Contains(name, "CUDABlas"), strings.Contains(name, "setWorkspaceForHandle"), strings.Contains(name, "getCUDABlasLt"), strings.Contains(name, "CublasLtWorkspace"):
		return inBLAS
	case strings.Contains(name, "run_conv_plan"), strings.Contains(name, "cudnn") && strings.Contains(strings.ToLower(name), "workspace"):
		return inConvPlan
	case strings.Contains(name, "c10d::Reducer"):
		return inBuckets
	}
	return 0
}
