package triage

import (
	"slices"
	"testing"
)

// stories are reports of others, told anew, with the answers that their authors would have
// given and the cause that the thread ended in.
var stories = []struct {
	after   string // the thread
	story   string
	answers Answers
	want    string
}{
	{
		"pytorch#1840", "a tagger's likelihoods are added up over an epoch; memory grows until it fails",
		Answers{Root: "oom", "error": "torch", "message": "full", "when": "later", "what": "allocated", "where": "training", "loop": "sum"},
		"leak/loss-with-graph",
	},
	{
		"DecoupleNet#3", "meters take the losses as they are; after some hundred iterations the GPU is full",
		Answers{Root: "grows", "what": Unsure, "where": "training", "loop": "sum"},
		"leak/loss-with-graph",
	},
	{
		"tntorch#19", "errors of each step are collected in a list for a plot",
		Answers{Root: "grows", "what": "allocated", "where": "training", "loop": "list"},
		"leak/list-with-graph",
	},
	{
		"pytorch#13613", "predictions are concatenated batch by batch, in a loop of its own without no_grad",
		Answers{Root: "grows", "what": "allocated", "where": "training", "loop": "cat"},
		"leak/concat-in-loop",
	},
	{
		"pytorch#4932", "validation with model.eval() runs out of memory though training fits",
		Answers{Root: "oom", "error": "torch", "message": "full", "when": "phase", "phase": "evaluation", "grad": "no"},
		"leak/eval-without-no-grad",
	},
	{
		"transformers#7232", "a Trainer's predict over half a million sentences fails, later with each larger set",
		Answers{Root: "oom", "error": "torch", "message": "full", "when": "phase", "phase": "evaluation", "grad": "yes", "collects": "trainer"},
		"leak/eval-gather",
	},
	{
		"transformers#8476", "evaluation grows while it runs, and falls when it is done",
		Answers{Root: "grows", "what": "allocated", "where": "evaluation", "grad": Unsure, "collects": "trainer"},
		"leak/eval-gather",
	},
	{
		"pytorch#27600", "after an out-of-memory error is caught, nothing is freed, whatever is collected",
		Answers{Root: "stays", "after": "error", "notebook": "no"},
		"leak/exception-frame",
	},
	{
		"ipython PR#11572", "after a failed cell the notebook keeps the GPU full; only a restart helps",
		Answers{Root: "stays", "after": "error", "notebook": "yes"},
		"leak/notebook-out",
	},
	{
		"pytorch#1085", "training was killed, nvidia-smi still shows its memory and nothing that uses it",
		Answers{Root: "stays", "after": "end"},
		"third/zombie-process",
	},
	{
		"pytorch#8805", "a job's loader workers live on after terminate, and hold the GPU",
		Answers{Root: "more", "outside": "dead"},
		"third/zombie-process",
	},
	{
		"pytorch#49481", "GPU 0 has 871 MiB from each of the seven other ranks",
		Answers{Root: "uneven", "parallel": "processes", "surplus": "contexts", "device": "no"},
		"dist/no-set-device",
	},
	{
		"examples#969", "both processes are listed on GPU 0; a checkpoint is loaded without map_location",
		Answers{Root: "uneven", "parallel": "processes", "surplus": "load"},
		"dist/load-on-gpu0",
	},
	{
		"pytorch#58626", "each rank sets its device, and still opens a context on GPU 0 when batches are pinned",
		Answers{Root: "more", "outside": "children", "contexts": "ranks", "device": "yes"},
		"dist/thread-context",
	},
	{
		"pytorch#1893", "with nn.DataParallel the first GPU is full while the others are half empty",
		Answers{Root: "uneven", "parallel": "dp"},
		"dist/data-parallel",
	},
	{
		"ace PR#1395", "24 processes of one job hold half a gibibyte each: the data set makes CUDA tensors in its workers",
		Answers{Root: "more", "outside": "children", "contexts": "workers"},
		"dist/worker-context",
	},
	{
		"pytorch#20532", "a tensor of four bytes takes hundreds of megabytes by nvidia-smi",
		Answers{Root: "more", "outside": "mine", "extra": "start"},
		"third/context",
	},
	{
		"nccl#864", "memory outside PyTorch jumps when the communicators are made",
		Answers{Root: "more", "outside": "mine", "extra": "collective"},
		"third/nccl-buffers",
	},
	{
		"data-to-text-hierarchical#7", "nvidia-smi climbs in the first epoch and then stays; batches have all lengths",
		Answers{Root: "grows", "what": "reserved", "pieces": "shapes"},
		"frag/variable-shapes",
	},
	{
		"pytorch#29554", "it fails with gigabytes reserved and not allocated; sentences have many lengths",
		Answers{Root: "oom", "error": "torch", "message": "pieces", "pieces": "shapes"},
		"frag/variable-shapes",
	},
	{
		"pytorch#122057", "expandable_segments is set and the same error comes: the build does not have it",
		Answers{Root: "oom", "error": "torch", "message": "pieces", "pieces": "expandable"},
		"conf/expandable-off",
	},
	{
		"pytorch#183387", "PYTORCH_ALLOC_CONF changes nothing in 2.9.1, the old name does",
		Answers{Root: "setting", "setting": "expandable"},
		"conf/ignored-variable",
	},
	{
		"pytorch#128424", "a compiled model is captured for each batch size, and reserved grows with each",
		Answers{Root: "grows", "what": "reserved", "pieces": "graphs"},
		"frag/graph-pools",
	},
	{
		"pytorch#117106", "a compiled model answers prompts of all lengths until the GPU is full; uncompiled it does not",
		Answers{Root: "oom", "error": "torch", "message": "full", "when": "later", "what": Unsure, "where": "shapes"},
		"frag/graph-pools",
	},
	{
		"pytorch#2198", "the hidden state of an RNN goes into the next step; each backward takes longer",
		Answers{Root: "slow", "slow": "each"},
		"leak/recurrent-state",
	},
	{
		"pytorch#4661", "backward(create_graph=True) in a loop, then backward of the gradient's norm: each run leaves memory behind",
		Answers{Root: "grows", "what": "allocated", "where": "training", "loop": "create"},
		"leak/create-graph",
	},
	{
		"pytorch#20199", "memory saws up and down, and gc.collect() brings it down",
		Answers{Root: "grows", "what": "allocated", "where": "bursts"},
		"leak/reference-cycle",
	},
	{
		"transformers#22123", "resuming needs more memory than the run did, at the load of the checkpoint",
		Answers{Root: "oom", "error": "torch", "message": "full", "when": "phase", "phase": "save"},
		"peak/checkpoint-load",
	},
	{
		"Liger-Kernel#241", "with a vocabulary of 150,000 the loss takes the largest part of the memory",
		Answers{Root: "large", "first": "vocabulary"},
		"peak/full-logits",
	},
	{
		"pytorch#3667", "with cudnn.benchmark and images of all sizes it takes far more",
		Answers{Root: "large", "first": "convolutions"},
		"peak/cudnn-benchmark",
	},
	{
		"recap#2", "the second iteration needs 400 MB more than the first, and so do all that follow",
		Answers{Root: "large", "first": "optimizer"},
		"peak/optimizer-states",
	},
	{
		"pytorch#122068", "on a MIG instance it ends in an internal assert with NVML in it",
		Answers{Root: "oom", "error": "assert"},
		"oom/nvml-assert",
	},
	{
		"pytorch#128601", "cublasCreate fails with CUBLAS_STATUS_ALLOC_FAILED in one of many threads",
		Answers{Root: "oom", "error": "library", "library": "cublas"},
		"third/thread-workspaces",
	},
	{
		"pytorch#42111", "a web server with a thread for each request grows; with one thread it does not",
		Answers{Root: "grows", "what": Unsure, "where": "requests", "serving": "threads"},
		"third/thread-workspaces",
	},
	{
		"transformers#45412", "a service that caches a method's results never lets old models go",
		Answers{Root: "grows", "what": "allocated", "where": "requests", "serving": "caches"},
		"leak/cached-method",
	},
	{
		"pytorch#85410", "each trial of a search leaves its model behind; the scheduler refers to it",
		Answers{Root: "stays", "after": "rerun", "repeat": "round"},
		"leak/lr-scheduler",
	},
	{
		"pytorch#95823", "a large pinned buffer takes twice its size of main memory, and the machine runs out",
		Answers{Root: "killed", "host": "pinned"},
		"host/pinned-rounding",
	},
	{
		"pytorch#149187", "a queue of CUDA tensors: the sender's memory stays until the receiver lets go",
		Answers{Root: "stays", "after": "del", "counted": "stays", "holder": "shared"},
		"leak/ipc-consumer",
	},
	{
		"pytorch#58466", "a process is given half of the GPU, and nvidia-smi shows more than half for it",
		Answers{Root: "setting", "setting": "fraction"},
		"conf/fraction-as-isolation",
	},
	{
		"pytorch#69688", "a model that fits on a small GPU fails on a large one under a fraction of that size",
		Answers{Root: "oom", "error": "torch", "message": "limit"},
		"conf/fraction-as-isolation",
	},
	{
		"pytorch#135279", "each rank but the first holds a gigabyte on GPU 0; with set_device it is gone",
		Answers{Root: "more", "outside": "children", "contexts": "ranks", "device": "no"},
		"dist/no-set-device",
	},
	{
		"piper#484", "after a burst of requests of many lengths the server keeps gigabytes for good",
		Answers{Root: "grows", "what": Unsure, "where": "requests", "serving": "lengths"},
		"frag/variable-shapes",
	},
}

// TestStories: the cause that a thread ended in is the first or the second.
func TestStories(t *testing.T) {
	if len(stories) < 20 {
		t.Fatalf("%d stories", len(stories))
	}
	for _, s := range stories {
		t.Run(s.after, func(t *testing.T) {
			for key, value := range s.answers {
				if err := CheckAnswer(key, value); err != nil {
					t.Fatal(err)
				}
			}
			out := Conclude(s.answers, nil)
			if len(out.Open) > 0 || len(out.Unused) > 0 {
				t.Fatalf("%s: it is asked for %v, and %v is not asked for", s.story, out.Open, out.Unused)
			}
			at := slices.IndexFunc(out.Causes, func(c Cause) bool { return c.Rule.ID == s.want })
			if at < 0 || at > 1 {
				t.Errorf("%s: %s is at %d of %d", s.story, s.want, at+1, len(out.Causes))
			}
		})
	}
}
