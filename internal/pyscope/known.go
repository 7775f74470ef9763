package pyscope

// What is known of other modules' names. A name that is in none of these is not known, and
// says so.

func set(names ...string) map[string]bool {
	s := make(map[string]bool, len(names))
	for _, n := range names {
		s[n] = true
	}
	return s
}

var (
	// plainAttributes of tensors are not tensors.
	plainAttributes = set("shape", "device", "dtype", "ndim", "requires_grad", "is_cuda", "layout", "grad_fn", "is_leaf", "itemsize", "nbytes", "name")
	// detachedAttributes are tensors without a graph.
	detachedAttributes = set("data", "grad")

	// plainMethods return numbers, texts, arrays or nothing, whatever they are called on.
	plainMethods = set("item", "tolist", "numpy", "size", "dim", "numel", "nelement", "element_size", "data_ptr", "backward",
		"format", "join", "split", "strip", "startswith", "endswith", "lower", "upper", "keys", "is_contiguous", "get_device",
		"stride", "storage_offset", "nbytes", "untyped_storage", "storage", "is_shared", "is_pinned",
		"zero_grad", "step", "append", "extend", "close", "write", "mkdir", "exists")
	// endMethods return tensors without a graph: of integers or truth values, or cut off.
	endMethods = set("detach", "detach_", "argmax", "argmin", "argsort", "argwhere", "nonzero", "eq", "ne", "lt", "le", "gt", "ge",
		"equal", "isnan", "isinf", "isfinite", "bool", "long", "int", "short", "byte", "sign", "round", "floor", "ceil", "bincount",
		"randint_like", "zeros_like", "ones_like", "rand_like", "randn_like", "empty_like", "full_like", "new_zeros", "new_ones",
		"new_empty", "new_full", "new_tensor", "bernoulli", "multinomial", "logical_and", "logical_or", "logical_not", "isclose", "allclose",
		"searchsorted", "bucketize", "unique", "histc", "one_hot", "from_numpy", "as_tensor",
		"clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "get_total_norm")
	// ofOutputs are functions for what a network puts out.
	ofOutputs = set("softmax", "log_softmax", "cross_entropy", "binary_cross_entropy_with_logits", "gumbel_softmax")
	// keepMethods return the object itself, or the same elsewhere.
	keepMethods = set("to", "cuda", "cpu", "eval", "train", "half", "bfloat16", "float", "double", "requires_grad_", "apply",
		"contiguous", "share_memory", "share_memory_", "pin_memory", "compile", "xpu", "type")
	// withIndices return values and, second, their indices.
	withIndices = set("max", "min", "topk", "sort", "kthvalue", "mode", "median", "cummax", "cummin")

	// plainCalls return nothing of autograd.
	plainCalls = set("float", "int", "len", "str", "bool", "range", "print", "repr", "isinstance", "hasattr", "type", "id", "hash",
		"format", "open", "input", "bytes", "ord", "chr", "callable", "issubclass", "any", "all")
	// plainPackages have functions that know nothing of autograd.
	plainPackages = set("math", "numpy", "time", "os", "random", "json", "logging", "pathlib", "sys", "re", "datetime", "statistics",
		"pandas", "sklearn", "scipy", "string", "shutil", "glob", "argparse", "csv", "yaml", "psutil", "matplotlib", "PIL", "cv2")
	// throughCalls return what they are given.
	throughCalls = set("sum", "max", "min", "abs", "list", "tuple", "dict", "set", "sorted", "reversed", "zip", "enumerate", "iter", "next", "map",
		"filter", "pow", "round", "collections.deque", "collections.OrderedDict", "itertools.chain", "copy.copy", "copy.deepcopy", "collections.defaultdict")
	plainKeywords = set("dim", "axis", "keepdim", "dtype", "device", "reduction", "desc", "total", "disable", "maxlen", "key", "training", "p", "size_average")

	// torchMakes are functions of torch that make tensors of no others.
	torchMakes = set("zeros", "ones", "empty", "full", "rand", "randn", "randint", "randperm", "arange", "linspace", "logspace", "eye", "tensor",
		"as_tensor", "from_numpy", "normal", "tril_indices", "triu_indices", "zeros_like", "ones_like", "rand_like", "randn_like", "empty_like",
		"full_like", "is_tensor", "numel", "device", "manual_seed", "get_rng_state", "initial_seed", "get_default_dtype", "is_available", "frombuffer",
		"complex", "hann_window", "hamming_window")

	// moduleMakers return modules.
	moduleMakers = set("timm.create_model", "create_model", "torch.hub.load", "create_feature_extractor", "torch.compile", "torch.jit.script", "torch.jit.trace", "torch.jit.load", "torch.nn.parallel.DistributedDataParallel",
		"torch.nn.DataParallel", "torch.distributed.fsdp.FullyShardedDataParallel", "get_peft_model")
	// parameterFree are modules whose result has a graph only if what they are given has.
	parameterFree = set("ReLU", "GELU", "SiLU", "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "Flatten", "Dropout", "Identity", "MaxPool2d", "AvgPool2d",
		"AdaptiveAvgPool2d", "Upsample", "PixelShuffle", "CosineSimilarity", "PairwiseDistance", "LeakyReLU", "ELU", "Hardswish", "ReLU6")
	// makerVerbs begin the names of functions that make something, verbs those of functions.
	makerVerbs = set("build", "get", "create", "make", "load", "init", "setup", "define", "prepare", "construct", "instantiate", "new")
	verbs      = set("build", "get", "create", "make", "load", "init", "setup", "define", "prepare", "construct", "instantiate", "new",
		"train", "test", "eval", "evaluate", "save", "run", "fit", "update", "set", "is", "has", "count", "print", "freeze", "compile", "wrap", "convert", "export")
	// moduleNames are what people call their models.
	moduleNames = set("model", "net", "network", "encoder", "decoder", "generator", "discriminator", "backbone", "classifier", "policy", "actor", "critic", "student",
		"netg", "netd", "net_g", "net_d", "unet", "vae", "transformer", "rnn", "lstm", "gru", "resnet", "cnn", "mlp", "q_net", "policy_net", "ddp_model")
)
