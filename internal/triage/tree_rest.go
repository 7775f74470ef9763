package triage

// treeRest: unequal GPUs, slow steps, main memory and settings.
var treeRest = []Question{
	{
		Key:  "parallel",
		Text: "How is the work spread over the GPUs?",
		Help: "nn.DataParallel is one process with a thread for each GPU; DistributedDataParallel, FSDP and pipelines have a process for each.",
		Options: []Option{
			end("dp", "nn.DataParallel, or device_map of one process", likely("dist/data-parallel"), maybe("peak/full-logits")),
			ask("processes", "a process for each GPU", "surplus"),
		},
	},
	{
		Key:  "surplus",
		Text: "What is more on that GPU?",
		Help: "nvidia-smi tells whether other ranks' processes are listed on it, or its own process holds more.",
		Options: []Option{
			ask("contexts", "small shares of the other ranks, alike", "device"),
			end("load", "much, while a checkpoint is loaded or after it", likely("dist/load-on-gpu0"), likely("peak/checkpoint-load")),
			end("gathers", "its own: it gathers metrics, logits or gradients, or keeps an EMA", likely("leak/eval-gather"), likely("peak/model-copy"), maybe("peak/flat-gradients"), maybe("ranks/odd-one-out")),
			end("thread", "a helper thread: pinning, prefetching, logging", likely("dist/thread-context"), maybe("dist/no-set-device")),
			end(Unsure, "I cannot tell", likely("ranks/odd-one-out"), likely("dist/no-set-device"), maybe("dist/load-on-gpu0"), maybe("ranks/context-on-gpu0")),
		},
	},
	{
		Key:  "slow",
		Text: "How is it slow?",
		Help: "torch.cuda.memory_stats()[\"num_alloc_retries\"] counts how often the cache was given back to make room; each time the GPU waits.",
		Options: []Option{
			end("each", "each step takes longer than the one before, and memory grows", likely("leak/recurrent-state"), likely("leak/retain-graph"), maybe("leak/create-graph")),
			end("empty", "empty_cache() is called in the loop", likely("frag/empty-cache-loop"), maybe("frag/segment-churn")),
			end("retries", "memory is nearly full, and num_alloc_retries grows", likely("frag/variable-shapes"), likely("frag/segment-churn"), maybe("oom/survived")),
			end("uncached", "PYTORCH_NO_CUDA_MEMORY_CACHING is set", likely("conf/no-caching")),
			end("shapes", "whenever a new shape comes", likely("leak/compile-cache"), likely("peak/cudnn-benchmark"), maybe("frag/variable-shapes")),
		},
	},
	{
		Key:  "host",
		Text: "What takes main memory?",
		Help: "\"Killed\", exit code 137, OOMKilled: the system ended it. dmesg, or memory.events of the container's cgroup, tells.",
		Options: []Option{
			end("pinned", "pinned memory: pin_memory=True, offloading to the CPU", likely("host/pinned-rounding"), maybe("oom/host-killed")),
			end("recorder", "a recording of memory, without max_entries", likely("rec/unbounded"), maybe("oom/host-killed")),
			end("profiler", "a profiler", likely("leak/profiler"), maybe("oom/host-killed")),
			end("unified", "GPU and CPU share one memory: Jetson, DGX Spark, an APU", likely("host/unified-memory"), maybe("oom/host-killed")),
			end("workers", "DataLoader workers, or the data set", likely("oom/host-killed"), maybe("conf/small-shm"), maybe("host/pinned-rounding")),
			end("shared", "/dev/shm: a bus error, \"No space left on device\"", likely("conf/small-shm"), maybe("oom/host-killed")),
			end("checkpoint", "a checkpoint that every rank loads", likely("peak/checkpoint-load"), likely("oom/host-killed")),
			end("lists", "results that are moved to the CPU and kept", likely("leak/list-with-graph"), maybe("leak/logger-tensors"), maybe("oom/host-killed")),
		},
	},
	{
		Key:  "setting",
		Text: "What about the setting?",
		Help: "ullage reads PYTORCH_ALLOC_CONF and its older names by itself where they are set here; with ullage lint also where scripts set them.",
		Options: []Option{
			end("refused", "PyTorch refuses it: unrecognized, or an error at start", likely("conf/unknown-option"), likely("conf/bad-value")),
			end("expandable", "expandable_segments changes nothing", likely("conf/expandable-off"), likely("conf/ignored-variable"), maybe("conf/max-split-expandable")),
			end("ipc", "since expandable_segments, sharing tensors or NCCL fails", likely("conf/expandable-ipc")),
			end("gc", "garbage_collection_threshold changes nothing", likely("conf/inert-gc"), maybe("conf/ignored-variable")),
			end("split", "max_split_size_mb changes nothing, or makes it worse", likely("conf/max-split-expandable"), likely("conf/ignored-variable"), maybe("conf/max-split-waste")),
			end("roundup", "roundup_power2_divisions takes more memory", likely("conf/roundup-trap"), maybe("conf/roundup-cost")),
			end("async", "cudaMallocAsync: settings are ignored, or more memory is taken", likely("conf/async-backend")),
			end("fraction", "a memory fraction does not keep processes apart, or stops too early", likely("conf/fraction-as-isolation"), likely("conf/fraction-in-settings")),
			ask("container", "it is one of a container, a cluster or a launcher", "container"),
			end(Unsure, "I cannot tell", likely("conf/ignored-variable"), maybe("conf/expandable-off"), maybe("conf/inert-gc"), maybe("conf/changed-at-run-time")),
		},
	},
	{
		Key:  "container",
		Text: "What is wrong there?",
		Help: "nvidia-smi and df -h /dev/shm inside of the container tell what it was given.",
		Options: []Option{
			end("limit", "a limit of GPU memory keeps nobody from anything, or the pod stays pending", likely("conf/unknown-resource"), likely("conf/refused-limit"), maybe("conf/fraction-as-isolation")),
			end("refused", "GPUs are asked for and none are given", likely("conf/refused-limit"), likely("conf/unknown-resource"), maybe("conf/visible-devices")),
			end("hidden", "a GPU is not seen", likely("conf/visible-devices")),
			end("surplus", "more GPUs are seen than were asked for, and others use them", likely("conf/past-scheduler"), maybe("oom/other-process")),
			end("ranks", "there are more ranks than GPUs", likely("dist/ranks-per-gpu"), likely("conf/visible-devices")),
			end("shared", "shared memory is too small for workers or NCCL", likely("conf/small-shm")),
		},
	},
}
