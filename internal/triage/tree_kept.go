package triage

// treeKept: memory that is not given back, and memory that PyTorch does not count.
var treeKept = []Question{
	{
		Key:  "after",
		Text: "After what does it stay?",
		Help: "torch.cuda.memory_allocated() tells whether tensors are alive; nvidia-smi shows the cache too.",
		Options: []Option{
			ask("error", "after an error, or an interrupt", "notebook"),
			ask("del", "after del of the model or of tensors", "counted"),
			end("end", "after the program has ended", likely("third/zombie-process"), maybe("leak/ipc-consumer")),
			ask("rerun", "when the same code is run again in one process", "repeat"),
		},
	},
	{
		Key:  "repeat",
		Text: "What is run again?",
		Help: "Something of the first run still refers to its model: a name, a traceback, a scheduler that the optimizer knows.",
		Options: []Option{
			end("cell", "a cell of a notebook", likely("leak/notebook-out"), likely("leak/lr-scheduler"), maybe("leak/exception-frame"), maybe("leak/reference-cycle")),
			end("round", "a fold, a trial, a call of the function that trains", likely("leak/lr-scheduler"), likely("leak/exception-frame"), maybe("leak/module-self-reference"), maybe("leak/reference-cycle")),
		},
	},
	{
		Key:  "notebook",
		Text: "Is it a notebook, or another interactive session?",
		Help: "Jupyter, Colab, IPython and the console keep the last results and the last traceback by themselves.",
		Options: []Option{
			end("yes", "yes", likely("leak/notebook-out"), likely("leak/exception-frame"), maybe("leak/reference-cycle")),
			end("no", "no", likely("leak/exception-frame"), maybe("leak/reference-cycle"), maybe("leak/module-self-reference")),
		},
	},
	{
		Key:  "counted",
		Text: "What does torch.cuda.memory_allocated() say after del?",
		Help: "del removes a name, not the object. If it falls while nvidia-smi does not, the memory is in PyTorch's cache, from which the next allocation takes it.",
		Options: []Option{
			end("falls", "it falls; nvidia-smi does not", likely("frag/kept-cache"), maybe("third/context")),
			end("zero", "it is near zero, and after empty_cache() nvidia-smi still shows some hundred MiB", likely("third/context"), maybe("third/cublas-workspace")),
			ask("stays", "it stays", "holder"),
			ask(Unsure, "I cannot tell", "holder"),
		},
	},
	{
		Key:  "holder",
		Text: "What was deleted?",
		Help: "gc.collect() after del tells cycles from other references: if memory falls, it was a cycle.",
		Options: []Option{
			end("model", "a model that was trained", likely("leak/lr-scheduler"), likely("leak/module-self-reference"), maybe("leak/hook-cache"), maybe("leak/reference-cycle")),
			end("hooked", "a model with hooks, lambdas or bound methods in its attributes", likely("leak/module-self-reference"), likely("leak/hook-cache")),
			end("checkpoint", "a checkpoint or state_dict that was loaded", likely("peak/checkpoint-load"), maybe("peak/model-copy")),
			end("shared", "tensors that other processes were given", likely("leak/ipc-consumer"), maybe("third/zombie-process")),
			end("results", "results in a notebook", likely("leak/notebook-out"), maybe("leak/reference-cycle")),
			end("tensors", "other tensors", likely("leak/reference-cycle"), maybe("leak/list-with-graph"), maybe("leak/exception-frame"), maybe("leak/cached-method")),
		},
	},
	{
		Key:  "outside",
		Text: "Whose memory is it?",
		Help: "nvidia-smi lists the processes of each GPU. For your own, subtract torch.cuda.memory_reserved(): what is left is the CUDA context and libraries.",
		Options: []Option{
			ask("mine", "my process's: it holds more than it reserves", "extra"),
			ask("children", "several processes' of the same program", "contexts"),
			end("dead", "nobody's: no such process runs, or its parent is gone", likely("third/zombie-process"), maybe("leak/ipc-consumer")),
			end("jax", "a program's that uses JAX or TensorFlow", likely("third/jax-preallocation"), maybe("oom/other-process")),
			end("others", "another program's, or another user's", likely("oom/other-process"), maybe("conf/fraction-as-isolation"), maybe("conf/past-scheduler"), maybe("third/zombie-process")),
			end("cache", "mine: nvidia-smi shows what is reserved, and less is allocated", likely("frag/kept-cache"), likely("frag/variable-shapes"), maybe("frag/graph-pools")),
		},
	},
	{
		Key:  "extra",
		Text: "When did it come?",
		Help: "Look at nvidia-smi after the first CUDA call, after the first product of matrices, after the first collective and after some steps.",
		Options: []Option{
			end("start", "at the first CUDA call: some hundred MiB, once", likely("third/context"), likely("third/cublas-workspace")),
			end("collective", "at the first collective, and with each process group", likely("third/nccl-buffers"), maybe("third/context")),
			end("threads", "with threads", likely("third/thread-workspaces"), maybe("third/cublas-workspace")),
			end("fft", "with FFTs of ever other sizes", likely("third/cufft-plans"), maybe("third/context")),
			end("shared", "with tensors from or for other processes", likely("leak/ipc-consumer"), maybe("third/zombie-process")),
			end("shapes", "with each new shape; the model is compiled", likely("leak/compile-cache"), likely("frag/graph-pools"), maybe("third/context")),
			end(Unsure, "I cannot tell", likely("third/context"), maybe("third/cublas-workspace"), maybe("third/nccl-buffers"), maybe("third/thread-workspaces")),
		},
	},
	{
		Key:  "contexts",
		Text: "Which processes are they?",
		Help: "ps -o pid,ppid,args -p PID. Each process that makes one CUDA call takes some hundred MiB for its context.",
		Options: []Option{
			end("workers", "workers of a DataLoader, or of multiprocessing", likely("dist/worker-context"), maybe("leak/ipc-consumer")),
			ask("ranks", "ranks of a distributed job, on a GPU that is not theirs", "device"),
			end("old", "earlier runs", likely("third/zombie-process"), maybe("leak/ipc-consumer")),
		},
	},
	{
		Key:  "device",
		Text: "Does each rank call torch.cuda.set_device before any other CUDA call?",
		Help: "set_device(local_rank), or CUDA_VISIBLE_DEVICES of one GPU for each rank, before the first tensor, torch.load or barrier.",
		Options: []Option{
			end("no", "no", likely("dist/no-set-device"), likely("dist/load-on-gpu0"), maybe("dist/thread-context")),
			end("yes", "yes", likely("dist/thread-context"), likely("dist/load-on-gpu0"), maybe("dist/no-set-device")),
		},
	},
}
