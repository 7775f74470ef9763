package triage

// treeGrows: what keeps memory that grows while the program runs.
var treeGrows = []Question{
	{
		Key:  "what",
		Text: "What grows?",
		Help: "Print torch.cuda.memory_allocated() and torch.cuda.memory_reserved() at the same point of every step, and look at the process in nvidia-smi. Allocated that grows is a leak. Only reserved: pieces. Only nvidia-smi: something outside PyTorch's allocator.",
		Options: []Option{
			ask("allocated", "allocated memory, at the same point of every step", "where"),
			ask("reserved", "reserved memory alone; allocated stays level", "pieces"),
			ask("outside", "what nvidia-smi shows; allocated and reserved stay level", "outside"),
			ask("host", "main memory", "host"),
			ask(Unsure, "I cannot tell", "where"),
		},
	},
	{
		Key:  "where",
		Text: "When does it grow?",
		Help: "Look at the same point of several steps, epochs or requests: a leak leaves a little more behind each time.",
		Options: []Option{
			ask("training", "in every training step", "loop"),
			ask("evaluation", "only in evaluation or generation", "grad"),
			ask("epoch", "over an epoch, and falls back at its end", "epoch"),
			end("bursts", "it rises and falls in bursts, or falls when gc.collect() is called", likely("leak/reference-cycle"), likely("leak/module-self-reference"), maybe("leak/create-graph")),
			ask("requests", "with each request of a server, or each call", "serving"),
			end("rounds", "with each fold, trial or model that is made anew", likely("leak/lr-scheduler"), likely("leak/module-self-reference"), maybe("leak/reference-cycle"), maybe("leak/exception-frame")),
			end("cells", "with each cell of a notebook", likely("leak/notebook-out"), maybe("leak/exception-frame"), maybe("leak/reference-cycle")),
			end("shapes", "with each new shape; the model is compiled", likely("leak/compile-cache"), likely("frag/graph-pools"), maybe("leak/cached-method")),
		},
	},
	{
		Key:  "loop",
		Text: "What does the loop do with the loss, the outputs or the state?",
		Help: "Where the sources are given (ullage triage train.py), the linter looks by itself. Take what is in the loop; memory is kept by what outlives a step.",
		Options: []Option{
			end("sum", "adds the loss up: total += loss", likely("leak/loss-with-graph"), maybe("leak/list-with-graph")),
			end("list", "appends losses or outputs to a list, a dict or a buffer", likely("leak/list-with-graph"), maybe("leak/logger-tensors")),
			end("cat", "concatenates results: x = torch.cat([x, y])", likely("leak/concat-in-loop"), maybe("leak/list-with-graph")),
			end("log", "gives it to a logger, a progress bar or a metric", likely("leak/logger-tensors"), likely("leak/step-outputs"), maybe("leak/list-with-graph")),
			end("state", "feeds a hidden state or memory back into the next step", likely("leak/recurrent-state"), maybe("leak/retain-graph")),
			end("create", "calls backward with create_graph=True, as for a gradient penalty", likely("leak/create-graph"), maybe("leak/retain-graph")),
			end("retain", "calls backward with retain_graph=True", likely("leak/retain-graph"), likely("leak/recurrent-state")),
			end("zero", "never calls zero_grad", likely("leak/no-zero-grad"), maybe("leak/loss-with-graph")),
			end("hooks", "has hooks that keep activations or gradients", likely("leak/hook-cache"), maybe("leak/module-self-reference")),
			end("memo", "keeps results by their input, in a dict or by lru_cache", likely("leak/unbounded-cache"), likely("leak/cached-method"), maybe("leak/list-with-graph")),
			end("function", "uses an autograd.Function of its own, or an extension", likely("leak/tensor-on-ctx"), maybe("leak/reference-cycle")),
			end("profiler", "runs under a profiler", likely("leak/profiler"), maybe("leak/list-with-graph")),
			end("catches", "catches errors and goes on", likely("leak/exception-frame"), maybe("leak/list-with-graph")),
			end("nothing", "nothing of these", likely("leak/reference-cycle"), maybe("leak/hook-cache"), maybe("leak/cached-method"), maybe("leak/list-with-graph")),
		},
	},
	{
		Key:  "grad",
		Text: "Does it run under no_grad or inference_mode?",
		Help: "model.eval() is not that: it changes dropout and batch norm, and graphs are still built. outputs.requires_grad tells.",
		Options: []Option{
			end("no", "no, or only model.eval()", likely("leak/eval-without-no-grad"), likely("leak/list-with-graph"), maybe("leak/concat-in-loop")),
			ask("yes", "yes", "collects"),
			ask(Unsure, "I cannot tell", "collects"),
		},
	},
	{
		Key:  "collects",
		Text: "Who collects the predictions?",
		Help: "Predictions of a whole data set, with a vocabulary or a mask each, are large; on the GPU they fill it.",
		Options: []Option{
			end("trainer", "the Trainer of transformers, with compute_metrics", likely("leak/eval-gather"), maybe("peak/full-logits"), maybe("leak/eval-without-no-grad")),
			end("lightning", "Lightning: step outputs, self.log or a metric", likely("leak/step-outputs"), likely("leak/logger-tensors"), maybe("leak/eval-gather")),
			end("own", "my own loop, in a list or by cat", likely("leak/concat-in-loop"), likely("leak/eval-gather"), maybe("leak/list-with-graph")),
			end("nobody", "nobody: each batch is dropped", likely("frag/variable-shapes"), maybe("leak/eval-without-no-grad"), maybe("peak/cudnn-benchmark"), maybe("leak/reference-cycle")),
		},
	},
	{
		Key:  "epoch",
		Text: "What runs the epoch?",
		Help: "What is kept to the end of an epoch is kept by what makes its summary.",
		Options: []Option{
			end("lightning", "Lightning or another trainer with hooks for the end of an epoch", likely("leak/step-outputs"), maybe("leak/logger-tensors")),
			end("own", "my own loop, which makes a summary at the end", likely("leak/list-with-graph"), likely("leak/loss-with-graph"), maybe("leak/concat-in-loop")),
		},
	},
	{
		Key:  "serving",
		Text: "What goes on in the server?",
		Help: "A server lives for weeks: little is enough. What is kept for a request, for a new argument, for a thread, for a new shape?",
		Options: []Option{
			end("graphs", "requests run without no_grad or inference_mode", likely("leak/eval-without-no-grad"), maybe("leak/list-with-graph")),
			end("caches", "results or models are cached, as by lru_cache or in a dict", likely("leak/cached-method"), likely("leak/unbounded-cache"), maybe("peak/model-copy")),
			end("errors", "it began after a request failed, for instance for lack of memory", likely("leak/exception-frame"), maybe("leak/reference-cycle")),
			end("threads", "each request may get a thread of its own", likely("third/thread-workspaces"), maybe("third/cublas-workspace")),
			end("processes", "tensors are handed to other processes", likely("leak/ipc-consumer"), maybe("third/context")),
			end("compiled", "the model is compiled, or captured as CUDA graphs", likely("leak/compile-cache"), likely("frag/graph-pools")),
			end("lengths", "requests have many lengths or sizes", likely("frag/variable-shapes"), maybe("leak/cached-method"), maybe("frag/kept-cache")),
		},
	},
}
