package triage

// Check is how to see whether a cause is the one: a command, or lines of Python to put
// where the rule's page says. What it shows is told there, under "How to confirm".
type Check struct {
	Run  string   // a command line
	Code []string // at most three lines
}

func run(command string) Check   { return Check{Run: command} }
func code(lines ...string) Check { return Check{Code: lines} }
func recorded(part string) Check { return run("ullage run -- python train.py  # then look at " + part) }

func allocated(after string) Check {
	return code(after, "print(torch.cuda.memory_allocated())")
}

// Commands that confirm several causes.
const (
	smi      = "nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory --format=csv"
	lintHere = "ullage lint --all ."
	doctor   = "ullage doctor"
	settings = "print(torch.cuda.memory._snapshot()[\"allocator_settings\"])"
)

// checks has every rule that a walk or a sight can end in.
var checks = map[string]Check{
	"conf/async-backend":            code(`print(torch.cuda.get_allocator_backend())`),
	"conf/bad-value":                run(doctor),
	"conf/better-settings":          run("ullage tune run.pickle"),
	"conf/changed-at-run-time":      code(settings),
	"conf/expandable-ipc":           run("PYTORCH_ALLOC_CONF=expandable_segments:False python train.py"),
	"conf/expandable-off":           code(settings),
	"conf/fraction-as-isolation":    run(smi),
	"conf/fraction-in-settings":     code(`print(torch.cuda.get_per_process_memory_fraction())`),
	"conf/host-option":              run(doctor),
	"conf/ignored-variable":         code(settings),
	"conf/inert-gc":                 run(doctor),
	"conf/inert-non-split-rounding": run(doctor),
	"conf/max-split-expandable":     run(doctor),
	"conf/max-split-waste":          run("ullage tune run.pickle"),
	"conf/no-caching":               run("env | grep PYTORCH_NO_CUDA_MEMORY_CACHING"),
	"conf/past-scheduler":           run("env | grep NVIDIA_VISIBLE_DEVICES; nvidia-smi -L  # in the container"),
	"conf/refused-limit":            run("kubectl describe pod POD  # under Events"),
	"conf/small-shm":                run("df -h /dev/shm  # in the container"),
	"conf/unknown-resource":         run("kubectl get nodes -o jsonpath='{.items[*].status.allocatable}'"),
	"conf/repeated-option":          run(doctor),
	"conf/roundup-cost":             run("ullage tune run.pickle"),
	"conf/roundup-trap":             run("ullage tune run.pickle"),
	"conf/throw-without-fraction":   run(doctor),
	"conf/unknown-option":           run(doctor),
	"conf/visible-devices":          run("env | grep -E 'VISIBLE_DEVICES|DRIVER_CAPABILITIES'"),

	"dist/data-parallel":     code(`print([torch.cuda.max_memory_allocated(i) for i in range(torch.cuda.device_count())])`),
	"dist/ddp-bucket-copies": code(`before = torch.cuda.memory_allocated(); model = DistributedDataParallel(model)`, `print(torch.cuda.memory_allocated() - before)`),
	"dist/load-on-gpu0":      run(smi + "  # while it loads"),
	"dist/no-set-device":     run(smi),
	"dist/ranks-per-gpu":     code(`print(os.environ["LOCAL_WORLD_SIZE"], torch.cuda.device_count())`),
	"dist/thread-context":    run(smi + "  # before and after the thread starts"),
	"dist/worker-context":    run(smi + "  # then: ps -o pid,ppid,args -p PID"),

	"frag/empty-cache-loop": run("grep -rn empty_cache --include=*.py ."),
	"frag/graph-pools":      code(`from collections import Counter`, `print(Counter(str(s["segment_pool_id"]) for s in torch.cuda.memory_snapshot()))`),
	"frag/kept-cache":       code(`print(torch.cuda.memory_allocated(), torch.cuda.memory_reserved())`),
	"frag/pinned-segment":   recorded("what keeps large segments"),
	"frag/record-stream":    code(`s = torch.cuda.memory_stats()`, `print(s["active_bytes.all.current"] - s["allocated_bytes.all.current"])`),
	"frag/segment-churn":    code(`s = torch.cuda.memory_stats()`, `print(s["num_alloc_retries"], s["num_device_alloc"], s["num_device_free"])`),
	"frag/stream-per-call":  code(`print(len({s["stream"] for s in torch.cuda.memory_snapshot()}))  # in two steps`),
	"frag/stranded-pool":    recorded("the pools"),
	"frag/stranded-stream":  recorded("the streams"),
	"frag/variable-shapes":  code(`print({k: v.shape for k, v in batch.items()})  # in each step`, `print(torch.cuda.memory_reserved() - torch.cuda.memory_allocated())`),

	"host/pinned-rounding": code(`print(torch.cuda.host_memory_stats())`),
	"host/unified-memory":  run("grep MemAvailable /proc/meminfo"),

	"leak/cached-method":         code(`print(Model.method.cache_info())  # in two steps`),
	"leak/compile-cache":         run("TORCH_LOGS=recompiles python train.py"),
	"leak/concat-in-loop":        code(`print(preds.shape, preds.requires_grad, preds.device)  # in two steps`),
	"leak/create-graph":          allocated(`optimizer.zero_grad(set_to_none=True); del loss`),
	"leak/eval-gather":           recorded("the growing site in evaluation"),
	"leak/eval-without-no-grad":  code(`print(output.requires_grad)  # in the evaluation loop`),
	"leak/exception-frame":       code(`print(torch.cuda.memory_allocated())  # last line of the except block, and the line after it`),
	"leak/hook-cache":            code(`print(sum(len(m._forward_hooks) + len(m._backward_hooks) for m in model.modules()))  # in two steps`),
	"leak/ipc-consumer":          allocated(`torch.cuda.ipc_collect()`),
	"leak/list-with-graph":       code(`print(len(losses), [x.grad_fn for x in losses[-2:]])`),
	"leak/logger-tensors":        code(`print([type(o) for t in gc.get_objects() if isinstance(t, torch.Tensor) and t.grad_fn for o in gc.get_referrers(t)][:20])`),
	"leak/loss-with-graph":       code(`print(total.requires_grad)  # after the step`),
	"leak/lr-scheduler":          allocated(`del model, optimizer, scheduler; gc.collect()`),
	"leak/module-self-reference": code(`alive = weakref.ref(model); del model; print(alive() is None)`, `gc.collect(); print(alive() is None)`),
	"leak/no-zero-grad":          code(`print(next(model.parameters()).grad is None)  # before the second backward`),
	"leak/notebook-out":          code(`%reset -f out`, `import sys; sys.last_traceback = sys.last_value = sys.last_exc = None; import gc; gc.collect()`, `torch.cuda.memory_allocated()`),
	"leak/profiler":              run("ullage run -- python train.py  # once with and once without the profiler"),
	"leak/recurrent-state":       code(`print(hidden.grad_fn)  # at the start of a step`),
	"leak/reference-cycle":       code(`from torch.utils.viz._cycles import warn_tensor_cycles`, `warn_tensor_cycles()`),
	"leak/retain-graph":          run(lintHere),
	"leak/step-outputs":          code(`print(torch.cuda.memory_allocated())  # before and after the end of an epoch`),
	"leak/tensor-on-ctx":         run(lintHere),
	"leak/unbounded-cache":       code(`print(len(cache))  # in two steps`),

	"oom/fraction-cap":  code(`print(torch.cuda.get_per_process_memory_fraction())`),
	"oom/fragmentation": run("ullage tune run.pickle"),
	"oom/hidden":        code(`print(torch.cuda.mem_get_info(), torch.cuda.memory_reserved())  # where it fails`),
	"oom/host-killed":   run("dmesg | grep -i -E 'out of memory|oom-kill'"),
	"oom/host-pinned":   code(`print(torch.cuda.host_memory_stats())`),
	"oom/nvml-assert":   code(`print(torch.cuda.memory_summary())  # in an except RuntimeError`),
	"oom/other-process": run(smi),
	"oom/pending-free":  allocated(`torch.cuda.synchronize()`),
	"oom/survived":      code(`print(torch.cuda.memory_stats()["num_ooms"], torch.cuda.memory_stats()["num_alloc_retries"])`),
	"oom/true-shortage": run("ullage fit --remedies all -- python train.py"),

	"peak/activations":       run("ullage fit --remedies all -- python train.py"),
	"peak/autocast-cache":    code(`with torch.autocast("cuda", cache_enabled=False): ...`, `print(torch.cuda.max_memory_allocated())`),
	"peak/checkpoint-load":   allocated(`del checkpoint`),
	"peak/checkpoint-misuse": code(`print(torch.cuda.memory_allocated())  # at the end of the forward pass, with and without checkpointing`),
	"peak/cudnn-benchmark":   code(`torch.backends.cudnn.benchmark = False`, `print(torch.cuda.max_memory_reserved())`),
	"peak/flat-gradients":    recorded("the largest block at the peak"),
	"peak/full-logits":       run("ullage fit --remedies all -- python train.py"),
	"peak/logits-fp32":       recorded("the largest blocks at the peak"),
	"peak/model-copy":        recorded("what holds the memory, by category"),
	"peak/optimizer-states":  code(`print(sum(t.nbytes for s in optimizer.state.values() for t in s.values() if torch.is_tensor(t)))`),

	"ranks/context-on-gpu0": run(smi),
	"ranks/odd-one-out":     run("ullage explain RANKS  # the folder with a recording of each rank"),

	"rec/unbounded": run("grep -rn _record_memory_history --include=*.py ."),

	"third/context":           code(`torch.zeros(1, device="cuda"); print(torch.cuda.memory_reserved())  # then compare nvidia-smi`),
	"third/cublas-workspace":  code(`before = torch.cuda.memory_allocated(); torch._C._cuda_clearCublasWorkspaces()`, `print(before - torch.cuda.memory_allocated())`),
	"third/cufft-plans":       code(`print(torch.backends.cuda.cufft_plan_cache.size)  # in two steps`),
	"third/jax-preallocation": run("XLA_PYTHON_CLIENT_PREALLOCATE=false python program.py"),
	"third/nccl-buffers":      run(smi + "  # before and after the first collective"),
	"third/thread-workspaces": code(`print(threading.active_count(), torch.cuda.memory_allocated())  # in two requests`),
	"third/zombie-process":    run("fuser -v /dev/nvidia*"),
}

// CheckOf returns how to confirm a rule; nothing where no walk ends in it.
func CheckOf(rule string) Check { return checks[rule] }
