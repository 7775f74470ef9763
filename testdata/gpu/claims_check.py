"""Measures the advice on GPU memory that circulates: what docs/claims.md says is read from what this prints.

usage: claims_check.py all [SECONDS]      every case, one after the other or several at once; JSON lines; stops starting cases after SECONDS (1200)
       claims_check.py some SECONDS CASE... those whose names begin so
       claims_check.py list               the names of the cases
       claims_check.py case CLAIM/NAME    one case, in this process

A case runs in a process of its own and prints one object: `claim` and `case`, the peaks that PyTorch counted (`peak_allocated_bytes`,
`peak_reserved_bytes`), what NVML says the process held at most at the moments it was asked (`process_bytes`; null where NVML does not
tell), and where time matters `step_ms`, the median of the steps after a warm-up, with the GPU to itself (a lock), and its lowest and
highest. What else a case looks at has names of its own. A case that fails prints its error, and the next one runs. Models come from
configurations, with random weights: nothing is downloaded. Needs torch, torchvision, transformers and nvidia-ml-py; two GPUs for
DataParallel. On an H200 with 16 cores it takes eleven minutes.

The file is long because most of it is the list of cases, and because it can be carried to a machine alone.
"""
from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

MIB, GIB = 1 << 20, 1 << 30
HELD = []
LOCK = os.environ.get("CLAIMS_LOCK", os.path.join(tempfile.gettempdir(), f"claims-{os.getuid()}.lock"))
CONF = "PYTORCH_ALLOC_CONF"


# --- what is measured


def process_bytes():
    """What NVML says that this process holds on the GPU."""
    return sum(b for _, b in processes([os.getpid()])) or None


def processes(pids):
    """(pid, bytes) of those of the processes that hold memory on a GPU; none where NVML does not tell."""
    try:
        import pynvml

        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        running = [p for h in handles for p in pynvml.nvmlDeviceGetComputeRunningProcesses(h)]
    except Exception:  # no driver, no package, or a system where it may not be asked
        return []
    return [(p.pid, p.usedGpuMemory or 0) for p in running if p.pid in pids]


def peaks():
    import torch

    s = torch.cuda.memory_stats()
    return {
        "peak_allocated_bytes": s.get("allocated_bytes.all.peak", 0),
        "peak_reserved_bytes": s.get("reserved_bytes.all.peak", 0),
        "retries": s.get("num_alloc_retries", 0),
        "segments_made": s.get("num_device_alloc", 0),
    }


def now():
    """What is allocated and reserved, and what NVML says, at this moment."""
    import torch

    torch.cuda.synchronize()
    return {"allocated": torch.cuda.memory_allocated(), "reserved": torch.cuda.memory_reserved(), "process": process_bytes()}


def milliseconds(work):
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - start)


def timed(work, warm=6, steps=16, seconds=2.5):
    """The median of the steps after a warm-up: as many as are asked for, or at least eight of those that the time allows."""
    for _ in range(warm):
        work()
    took, start = [], time.perf_counter()
    while len(took) < steps and (len(took) < 8 or time.perf_counter() - start < seconds):
        took.append(milliseconds(work))
    return {"step_ms": round(statistics.median(took), 2), "step_ms_range": [round(min(took), 2), round(max(took), 2)], "steps": len(took)}


def alone():
    """Waits until no other case uses the GPU, and keeps it until the process ends."""
    lock(fcntl.LOCK_EX)


def beside():
    """Lets other cases of this kind use the GPU too, and none that takes times."""
    lock(fcntl.LOCK_SH)


def lock(kind):
    f = open(LOCK, "w")
    fcntl.flock(f, kind)
    HELD.append(f)  # until the process has given its memory back, which is at its end


# --- models


def build(name, **config):
    """A model from its configuration, with random weights."""
    import torch

    torch.manual_seed(0)
    if name.startswith(("resnet", "mobilenet")):
        import torchvision

        return getattr(torchvision.models, name)()
    import transformers as t

    if name == "bert-large":
        return t.BertForMaskedLM(t.BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096))
    if name == "bert-base":
        return t.BertForMaskedLM(t.BertConfig())
    return t.GPT2LMHeadModel(t.GPT2Config(**config))


def is_vision(name):
    return name.startswith(("resnet", "mobilenet"))


def batch_of(name, batch, size, dtype=None, layout=None, vocab=30000):
    """Inputs and labels on the GPU."""
    import torch

    if not is_vision(name):
        ids = torch.randint(0, vocab, (batch, size), device="cuda")
        return ids, ids
    x = torch.randn(batch, 3, size, size, device="cuda", dtype=dtype)
    if layout == "channels_last":
        x = x.to(memory_format=torch.channels_last)
    return x, torch.randint(0, 1000, (batch,), device="cuda")


def loss_of(model, name, x, y):
    from torch.nn import functional

    if is_vision(name):
        return functional.cross_entropy(model(x), y)
    return model(input_ids=x, labels=y).loss


def optimizer_of(name, params):
    import torch

    known = {
        "sgd": lambda: torch.optim.SGD(params, 1e-4),
        "momentum": lambda: torch.optim.SGD(params, 1e-4, momentum=0.9),
        "rmsprop": lambda: torch.optim.RMSprop(params, 1e-4),
        "adam": lambda: torch.optim.Adam(params, 1e-4),
        "adamw": lambda: torch.optim.AdamW(params, 1e-4),
        "adamw_loop": lambda: torch.optim.AdamW(params, 1e-4, foreach=False),
        "adamw_fused": lambda: torch.optim.AdamW(params, 1e-4, fused=True),
        "adafactor": lambda: torch.optim.Adafactor(params, 1e-4),
    }
    return known[name]()


def checkpoint_blocks(model, name, segments):
    """Recomputes a vision model's blocks in as many segments, or each block of a text model."""
    import torch
    from torch.utils.checkpoint import checkpoint

    if not is_vision(name):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        return

    class Checkpointed(torch.nn.Module):
        def __init__(self, blocks):
            super().__init__()
            self.blocks = torch.nn.Sequential(*blocks)

        def forward(self, x):
            return checkpoint(self.blocks, x, use_reentrant=False)

    blocks = [*model.layer1, *model.layer2, *model.layer3, *model.layer4]
    segments = segments if segments > 0 else len(blocks)
    bounds = [round(i * len(blocks) / segments) for i in range(segments + 1)]
    model.layer1 = torch.nn.Sequential(*(Checkpointed(blocks[a:b]) for a, b in zip(bounds, bounds[1:])))
    model.layer2 = model.layer3 = model.layer4 = torch.nn.Identity()


def make_depthwise(model):
    """Puts a depthwise convolution and one of 1 by 1 in place of every convolution of 3 by 3."""
    from torch import nn

    for parent in list(model.modules()):
        for key, child in list(parent.named_children()):
            if isinstance(child, nn.Conv2d) and child.kernel_size == (3, 3):
                wide, out = child.in_channels, child.out_channels
                depthwise = nn.Conv2d(wide, wide, 3, child.stride, 1, groups=wide, bias=False)
                setattr(parent, key, nn.Sequential(depthwise, nn.Conv2d(wide, out, 1, bias=False)))


def prepare(name, o):
    """The model of a case on the CPU, changed as its options say."""
    import torch

    model = build(name, **o.get("config", {}))
    if "checkpoint" in o:
        checkpoint_blocks(model, name, o["checkpoint"])
    if o.get("depthwise"):
        make_depthwise(model)
    if "inplace" in o:
        for m in model.modules():
            if isinstance(m, torch.nn.ReLU):
                m.inplace = o["inplace"]
    if o.get("layout") == "channels_last":
        model = model.to(memory_format=torch.channels_last)
    return model


def set_flags(o):
    import torch

    if o.get("deterministic"):
        torch.use_deterministic_algorithms(True, warn_only=True)
    if "tf32" in o:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = o["tf32"]
    if "benchmark" in o:
        torch.backends.cudnn.benchmark = o["benchmark"]
    if "fraction" in o:
        torch.cuda.set_per_process_memory_fraction(o["fraction"])


# --- training and inference: most cases


class Training:
    """A model in training, with the options of a case."""

    def __init__(self, name, model, o):
        import torch

        self.name, self.o = name, o
        self.dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(o.get("weights"))
        self.model = model.to("cuda", dtype=self.dtype).train()
        self.optimizer = optimizer_of(o.get("optimizer", "adamw"), [p for p in self.model.parameters() if p.requires_grad])
        self.scaler = torch.amp.GradScaler("cuda", enabled=o.get("autocast") == "fp16")
        self.call = torch.compile(self.model, mode=o["compile"]) if "compile" in o else self.model
        self.sizes = o.get("sizes") or [o.get("size", 224 if is_vision(name) else 512)]
        self.random, self.steps = random.Random(0), 0
        self.kept = {}
        self.unused = []  # the share of reserved memory that is not allocated, at the end of each forward pass
        self.held = 0

    def batch(self, size):
        """A batch of a size; the same one again where all have one size."""
        if size not in self.kept or len(self.sizes) > 1:
            parts = self.o.get("parts", 1)
            self.kept = {size: batch_of(self.name, self.o["batch"] // parts, size, self.dtype, self.o.get("layout"))}
        return self.kept[size]

    def precision(self):
        import torch

        kind = self.o.get("autocast")
        dtype = torch.float16 if kind == "fp16" else torch.bfloat16
        return torch.autocast("cuda", dtype=dtype) if kind else contextlib.nullcontext()

    def forward(self, size):
        x, y = self.batch(size)
        with self.precision():
            return loss_of(self.call, self.name, x, y)

    def note(self):
        import torch

        if self.steps < self.o.get("warm", 4):  # asking takes time, so not where time is taken
            self.held = max(self.held, process_bytes() or 0)
        reserved = torch.cuda.memory_reserved()
        self.unused.append(1 - torch.cuda.memory_allocated() / reserved if reserved else 0)

    def step(self):
        import torch

        o, zero = self.o, self.o.get("zero", "start")
        size = self.random.choice(self.sizes)
        if zero in ("start", "zeros"):
            self.optimizer.zero_grad(set_to_none=zero == "start")
        if o.get("sum"):
            total = sum(self.forward(size) for _ in range(o["parts"]))
            total.backward()
        else:
            for _ in range(o.get("parts", 1)):
                loss = self.forward(size)
                if zero == "before_backward":
                    self.optimizer.zero_grad()
                self.note()
                self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if zero == "after_step":
            self.optimizer.zero_grad()
        self.steps += 1
        if o.get("empty_every") and self.steps % o["empty_every"] == 0:
            torch.cuda.empty_cache()


def train(name, **o):
    import torch

    model = prepare(name, o)
    params = sum(p.numel() for p in model.parameters())
    if "compile" not in o and not o.get("untimed"):  # compilers do not need the GPU to themselves
        alone()
    set_flags(o)
    t = Training(name, model, o)
    row = {"model": name, "batch": o["batch"], "params": params}
    start = time.perf_counter()
    for _ in range(o.get("warm", 4)):
        t.step()
    torch.cuda.synchronize()
    row["first_steps_s"] = round(time.perf_counter() - start, 2)
    if not o.get("untimed"):
        if "compile" in o:
            alone()
        row |= timed(t.step, warm=2, steps=o.get("steps", 16))
    row["process_bytes"] = max(t.held, process_bytes() or 0) or None
    row["backend"] = torch.cuda.get_allocator_backend()
    row |= peaks()
    if row["peak_reserved_bytes"]:
        row["unused_at_peak"] = round(1 - row["peak_allocated_bytes"] / row["peak_reserved_bytes"], 4)
    if t.unused:
        row["unused_after_forward"] = round(statistics.mean(t.unused[4:] or t.unused), 4)
    row["inactive_split_peak_bytes"] = torch.cuda.memory_stats().get("inactive_split_bytes.all.peak", 0)
    return row


def infer(name, mode="no_grad", **o):
    """Inference: `mode` is what keeps autograd from saving."""
    import torch

    model = prepare(name, o)
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(o.get("weights"))
    if not o.get("untimed"):
        alone()
    set_flags(o)
    model = model.to("cuda", dtype=dtype).eval()
    weights = torch.cuda.memory_allocated()
    x, _ = batch_of(name, o["batch"], o.get("size", 224 if is_vision(name) else 512), dtype, o.get("layout"))
    guard = {"no_grad": torch.no_grad, "inference_mode": torch.inference_mode, "eval_only": contextlib.nullcontext}[mode]
    cast = torch.autocast("cuda", dtype=torch.bfloat16) if o.get("autocast") else contextlib.nullcontext()

    def work():
        with guard(), cast:
            model(x)

    row = {"model": name, "batch": o["batch"], "weights_bytes": weights}
    row |= {} if o.get("untimed") else timed(work)
    work()
    return row | peaks() | {"process_bytes": process_bytes()}


# --- cases of their own


def empty_cache_returns():
    """What empty_cache gives back: of free segments, of live tensors, of segments with one live tensor in them."""
    import torch

    live = [torch.empty(GIB // 4, dtype=torch.float32, device="cuda") for _ in range(4)]
    free = [torch.empty(GIB // 4, dtype=torch.float32, device="cuda") for _ in range(4)]
    held = now()
    del free
    freed = now()
    torch.cuda.empty_cache()
    emptied = now()
    del live
    torch.cuda.empty_cache()
    base = now()
    small = [torch.empty(4 * MIB, dtype=torch.uint8, device="cuda") for _ in range(1000)]
    full = now()
    small = small[::5]  # one of the five that share a segment of 20 MiB
    torch.cuda.empty_cache()
    return {"held": held, "freed": freed, "emptied": emptied, "nothing": base, "small_held": full, "one_of_five_kept": now(), "kept": len(small)} | peaks()


def empty_cache_before_oom():
    """A request that fits only when cached segments are given back first: PyTorch does so by itself."""
    import torch

    torch.cuda.set_per_process_memory_fraction(0.05)
    free = [torch.empty(256 * MIB, dtype=torch.uint8, device="cuda") for _ in range(20)]
    del free
    before = now()
    large = torch.empty(6 * GIB, dtype=torch.uint8, device="cuda")
    return {"before": before, "after": now(), "asked": large.numel()} | peaks()


def other_calls():
    """What calls that are recommended for freeing memory do to a cache of 2 GiB."""
    import torch

    free = torch.empty(2 * GIB, dtype=torch.uint8, device="cuda")
    del free
    row = {"before": now()}
    for name, call in {"ipc_collect": torch.cuda.ipc_collect, "reset_peak_memory_stats": torch.cuda.reset_peak_memory_stats, "gc_collect": gc.collect, "empty_cache": torch.cuda.empty_cache}.items():
        call()
        row[name] = now()
    return row


def del_and_collect():
    """del, gc.collect and empty_cache, of a tensor, of one in a cycle, and of a model that its optimizer still names."""
    import torch

    gc.disable()
    row = {}
    x = torch.empty(GIB, dtype=torch.uint8, device="cuda")
    row["tensor"] = now()
    del x
    row["tensor_del"] = now()
    box = {"x": torch.empty(GIB, dtype=torch.uint8, device="cuda")}
    box["box"] = box
    del box
    row["cycle_del"] = now()
    gc.collect()
    row["cycle_collected"] = now()
    torch.cuda.empty_cache()
    row["emptied"] = now()
    model = torch.nn.Linear(16384, 16384, bias=False, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.zeros(1, 16384, device="cuda")).sum().backward()
    optimizer.step()
    row["model"] = now()
    del model
    gc.collect()
    row["model_del"] = now()
    del optimizer
    gc.collect()
    row["optimizer_del"] = now()
    return row


def pinned():
    """What pinned main memory takes of the GPU, how it is rounded, and which names with "pin" PyTorch has."""
    import torch

    row = {"names": sorted(f"{m.__name__}.{n}" for m in (torch, torch.cuda, torch.cuda.memory, torch._C) for n in dir(m) if "pin" in n.lower() and "ping" not in n.lower())}
    row["has_alloc_pinned_memory"] = any(hasattr(m, "_alloc_pinned_memory") for m in (torch, torch.cuda, torch.cuda.memory, torch._C))
    row["process_before"] = process_bytes()
    keep = [torch.empty(1 * GIB, dtype=torch.uint8, pin_memory=True)]
    row["process_after_one_gib"] = process_bytes()
    row["first"] = now()
    keep.append(torch.empty(4 * GIB, dtype=torch.uint8, pin_memory=True))
    row["five_gib_pinned"] = now()
    before = host_bytes()
    keep.append(torch.empty(1 * GIB + 100 * MIB, dtype=torch.uint8, pin_memory=True))
    row["host_bytes_for_1124_mib"] = None if before is None else host_bytes() - before
    return row


def host_bytes():
    """Bytes of pinned memory that PyTorch holds, where it counts them."""
    import torch

    stats = getattr(torch.cuda, "host_memory_stats", dict)()
    return next((stats[k] for k in ("segment_bytes.current", "allocated_bytes.current", "reserved_bytes.current") if stats.get(k)), 0 if stats else None)


def context():
    """What a process takes outside of the allocator, step by step."""
    import torch

    outside, row = lambda: (process_bytes() or 0) - torch.cuda.memory_reserved(), {"module_loading": os.environ.get("CUDA_MODULE_LOADING", "")}
    start = time.perf_counter()
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    row["first_call_ms"] = round(1000 * (time.perf_counter() - start))
    row["one_tensor"] = outside()
    a = torch.randn(2048, 2048, device="cuda", requires_grad=True)
    (a @ a).sum().backward()
    torch.cuda.synchronize()
    row["matrix_product"] = outside()
    conv = torch.nn.Conv2d(64, 64, 3, device="cuda")
    conv(torch.randn(8, 64, 64, 64, device="cuda")).sum().backward()
    torch.cuda.synchronize()
    row["convolution"] = outside()
    torch.sort(torch.randn(1 << 20, device="cuda"))
    torch.fft.fft(torch.randn(1 << 20, device="cuda"))
    torch.linalg.inv(torch.randn(256, 256, device="cuda"))
    torch.cuda.synchronize()
    row["sort_fft_inverse"] = outside()
    row["gpu_bytes"] = torch.cuda.get_device_properties(0).total_memory
    return row


def fraction():
    """What a process takes that has a fraction of the GPU to itself."""
    import torch

    torch.cuda.set_per_process_memory_fraction(0.05)
    limit = int(0.05 * torch.cuda.get_device_properties(0).total_memory)
    (torch.randn(2048, 2048, device="cuda") @ torch.randn(2048, 2048, device="cuda")).sum()
    keep = []
    with contextlib.suppress(torch.OutOfMemoryError):
        while True:
            keep.append(torch.empty(32 * MIB, dtype=torch.uint8, device="cuda"))
    return {"limit_bytes": limit, "at_the_limit": now()}


class Samples:
    """A data set of random images; `where` is the device that a worker puts them on."""

    def __init__(self, where):
        self.where = where

    def __len__(self):
        return 256

    def __getitem__(self, i):
        import torch

        return torch.randn(3, 64, 64).to(self.where)


def workers(count, where):
    """How many processes hold memory on the GPU, with a loader's workers."""
    import psutil
    import torch
    from torch.utils.data import DataLoader

    conv = torch.nn.Conv2d(3, 64, 3).cuda()
    method = {"multiprocessing_context": "spawn"} if where == "cuda" else {}
    loader = DataLoader(Samples(where), batch_size=16, num_workers=count, pin_memory=where == "cpu", **(method if count else {}))
    most = []
    for x in loader:
        conv(x.cuda()).sum().backward()
        tree = [os.getpid(), *(p.pid for p in psutil.Process().children(recursive=True))]
        most = max(most, processes(tree), key=len)
    return {"workers": count, "on_gpu": [{"own": pid == os.getpid(), "bytes": b} for pid, b in most]} | peaks()


def optimizer_state(name, weights=None):
    """What an optimizer keeps for each parameter, and what its step takes on top."""
    import torch

    model = build("gpt2").to("cuda", dtype=torch.bfloat16 if weights == "bf16" else None)
    params = sum(p.numel() for p in model.parameters())
    alone()
    base = torch.cuda.memory_allocated()
    optimizer = optimizer_of(name, list(model.parameters()))

    def backward():
        x, y = batch_of("gpt2", 1, 32)
        loss_of(model, "gpt2", x, y).backward()

    backward()
    optimizer.step()
    optimizer.zero_grad()
    torch._C._cuda_clearCublasWorkspaces()  # they are no state
    torch.cuda.synchronize()
    state = torch.cuda.memory_allocated() - base
    backward()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    optimizer.step()
    torch.cuda.synchronize()
    extra = torch.cuda.max_memory_allocated() - before
    took = timed(optimizer.step)
    return {"params": params, "state_bytes": state, "bytes_a_parameter": round(state / params, 2), "step_extra_bytes": extra} | took | peaks()


def seen_by_smi():
    """Requests of many lengths: what NVML says of the process, and what is allocated after each."""
    import torch

    model, r, row = build("gpt2").cuda().eval(), random.Random(0), {}
    series = []
    for i in range(1, 301):
        with torch.inference_mode():
            out = model(torch.randint(0, 30000, (8, r.randrange(16, 1024)), device="cuda"))
        del out
        if i in (1, 10, 30, 100, 200, 300):
            series.append({"request": i} | now())
    torch.cuda.empty_cache()
    row["series"] = series
    row["emptied"] = now()
    return row | peaks()


def first_response(prepared="", name="resnet50"):
    """How long the first response of a model takes, and the next ones, with what is prepared."""
    import torch

    alone()
    start = time.perf_counter()
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    row = {"context_ms": round(1000 * (time.perf_counter() - start), 1)}
    model = build(name).cuda().eval()
    x = torch.randn(8, 3, 224, 224, device="cuda")
    if prepared == "allocator":  # segments that the first request can use
        keep = torch.empty(4 * GIB, dtype=torch.uint8, device="cuda")
        del keep
    if prepared == "warm_up":
        with torch.inference_mode():
            model(torch.randn(8, 3, 224, 224, device="cuda"))
    call = torch.compile(model) if prepared == "compile" else model

    def work():
        with torch.inference_mode():
            call(x)

    row["first_ms"] = round(milliseconds(work), 1)
    row["later_ms"] = timed(work)["step_ms"]
    torch.cuda.empty_cache()
    row["after_empty_cache_ms"] = round(milliseconds(work), 2)
    return row | peaks()


def compiled_twice():
    """The first response of a compiled model without and with what the compiler kept on the disk."""
    row = {}
    with tempfile.TemporaryDirectory() as kept:
        for name in ("cold", "warm"):
            env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": kept}
            done = subprocess.run([sys.executable, __file__, "case", "persistent_cache/compile"], capture_output=True, text=True, env=env)
            row[name] = json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else {"error": done.stderr[-400:]}
    return row


def data_parallel(name, batch, parallel):
    """The peaks of each GPU, with and without DataParallel."""
    import torch
    from torch.nn import functional

    if torch.cuda.device_count() < 2:
        return {"skipped": "one GPU"}
    alone()
    model = build(name).cuda().train()
    optimizer = optimizer_of("adamw", list(model.parameters()))
    call = torch.nn.DataParallel(model) if parallel else model
    x, y = batch_of(name, batch, 224 if is_vision(name) else 512)

    def work():
        optimizer.zero_grad()
        if is_vision(name):
            loss = functional.cross_entropy(call(x), y)
        else:
            logits = call(x, use_cache=False)["logits"]
            loss = functional.cross_entropy(logits.flatten(0, 1), y.flatten())
        loss.backward()
        optimizer.step()

    row = timed(work, steps=12)
    row["gpus"] = [{"allocated": torch.cuda.max_memory_allocated(i), "reserved": torch.cuda.max_memory_reserved(i)} for i in range(torch.cuda.device_count())]
    return row | {"model": name, "batch": batch}


# --- the cases

IMAGES = list(range(128, 385, 32))  # sides of images, drawn anew each step
LENGTHS = list(range(64, 1025, 8))
SETTINGS = {
    "default": {},
    "split_32": {CONF: "max_split_size_mb:32"},
    "split_128": {CONF: "max_split_size_mb:128"},
    "split_512": {CONF: "max_split_size_mb:512"},
    "expandable": {CONF: "expandable_segments:True"},
    "gc": {CONF: "garbage_collection_threshold:0.6"},
    "roundup_4": {CONF: "roundup_power2_divisions:4"},
    "roundup_16": {CONF: "roundup_power2_divisions:16"},
    "malloc_async": {CONF: "backend:cudaMallocAsync"},
    "no_caching": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
}
CUBLAS = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}


def cases():
    """claim/case -> (function, arguments, options, environment)."""
    table = {}

    def add(key, run, *args, env=None, **options):
        table[key] = (run, args, options, env or {})

    add("context/lazy", context)
    add("context/eager", context, env={"CUDA_MODULE_LOADING": "EAGER"})
    add("empty_cache/returns", empty_cache_returns)
    add("empty_cache/before_oom", empty_cache_before_oom)
    add("empty_cache/other_calls", other_calls)
    add("collect/del", del_and_collect)
    add("pinned/memory", pinned)
    add("fraction/limit", fraction)
    add("nvidia_smi/requests", seen_by_smi)
    for count, where in ((0, "cpu"), (8, "cpu"), (4, "cuda")):
        add(f"num_workers/{count}_{where}", workers, count, where)
    add_compiled(add)
    add_settings(add)
    add_precision(add)
    add_steps(add)
    add_batches(add)
    add_models(add)
    for name, batch in (("resnet50", 128), ("gpt2", 16)):
        add(f"data_parallel/{name}_single", data_parallel, name, batch, False)
        add(f"data_parallel/{name}", data_parallel, name, batch, True)
    return table


def add_compiled(add):
    for name, batch in (("resnet50", 64), ("gpt2", 8)):
        add(f"compile/{name}_eager", train, name, batch=batch, tf32=True)
        add(f"compile/{name}_default", train, name, batch=batch, tf32=True, compile="default")
        add(f"compile/{name}_reduce_overhead", train, name, batch=batch, tf32=True, compile="reduce-overhead")
    add("persistent_cache/twice", compiled_twice)
    for prepared in ("", "allocator", "warm_up"):
        add(f"persistent_cache/{prepared or 'plain'}", first_response, prepared)
    add("persistent_cache/plain_eager_loading", first_response, env={"CUDA_MODULE_LOADING": "EAGER"})
    add("persistent_cache/resnet18", first_response, "", "resnet18")
    add("persistent_cache/compile", first_response, "compile", "resnet18")  # run by "twice"


def add_settings(add):
    for name, env in SETTINGS.items():
        add(f"settings/resnet50_{name}", train, "resnet50", env=env, batch=32, sizes=IMAGES, warm=40)
    capped = {"batch": 32, "sizes": IMAGES, "warm": 40, "fraction": 0.1}
    add("settings/resnet50_capped", train, "resnet50", **capped)
    add("settings/resnet50_capped_gc", train, "resnet50", env=SETTINGS["gc"], **capped)
    for name in ("default", "split_128", "expandable", "roundup_4", "roundup_16", "malloc_async"):
        add(f"settings/gpt2_{name}", train, "gpt2", env=SETTINGS[name], batch=8, sizes=LENGTHS, warm=40, tf32=True)
    for name in ("default", "split_32", "split_128", "expandable"):
        add(f"settings/resnet50_fixed_{name}", train, "resnet50", env=SETTINGS[name], batch=64)


def add_precision(add):
    for name, batch in (("resnet50", 64), ("bert-large", 16), ("gpt2", 16)):
        add(f"half/infer_{name}_fp32", infer, name, batch=batch)
        add(f"half/infer_{name}_fp16", infer, name, batch=batch, weights="fp16")
        add(f"half/infer_{name}_autocast", infer, name, batch=batch, autocast=True)
        for kind, options in {"fp32": {}, "fp16_scaled": {"autocast": "fp16"}, "autocast": {"autocast": "bf16"}, "bf16": {"weights": "bf16"}}.items():
            add(f"half/train_{name}_{kind}", train, name, batch=batch, tf32=True, steps=10, untimed=name != "bert-large", **options)
    for segments in (None, 0, 16, 7, 4):
        options = {} if segments is None else {"checkpoint": segments}
        add(f"checkpoint/resnet152_{'none' if segments is None else segments or 'each'}", train, "resnet152", batch=128, optimizer="momentum", steps=10, **options)
    for kind in ("none", "each"):
        options = {"checkpoint": 0} if kind == "each" else {}
        add(f"checkpoint/bert-large_{kind}", train, "bert-large", batch=28, tf32=True, steps=10, **options)


def add_steps(add):
    """What is set or called in a training step."""
    add("empty_cache/never", train, "resnet50", batch=64)
    add("empty_cache/each_step", train, "resnet50", batch=64, empty_every=1)
    add("empty_cache/each_tenth", train, "resnet50", batch=64, empty_every=10)
    add("flags/resnet50_default", train, "resnet50", batch=128)
    add("flags/resnet50_deterministic", train, "resnet50", env=CUBLAS, batch=128, deterministic=True)
    add("flags/resnet50_no_tf32", train, "resnet50", batch=128, tf32=False, steps=12)
    add("flags/resnet50_benchmark", train, "resnet50", batch=128, benchmark=True)
    add("flags/resnet50_sizes_benchmark", train, "resnet50", batch=32, sizes=IMAGES, warm=40, benchmark=True)
    add("flags/bert-base_default", train, "bert-base", batch=16)
    add("flags/bert-base_tf32", train, "bert-base", batch=16, tf32=True)
    add("flags/bert-base_deterministic", train, "bert-base", env=CUBLAS, batch=16, deterministic=True)
    for zero in ("start", "zeros", "before_backward", "after_step"):
        add(f"zero_grad/{zero}", train, "bert-large", batch=4, size=128, tf32=True, zero=zero)
        add(f"zero_grad/large_{zero}", train, "bert-large", batch=16, tf32=True, zero=zero, untimed=True)
    for name in ("sgd", "momentum", "rmsprop", "adam", "adamw", "adamw_loop", "adamw_fused", "adafactor"):
        add(f"optimizer/{name}", optimizer_state, name)
    add("optimizer/adamw_bf16", optimizer_state, "adamw", "bf16")


def add_batches(add):
    for parts in (1, 2, 4, 8):
        add(f"accumulate/resnet50_{parts}", train, "resnet50", batch=256, parts=parts, steps=10)
    add("accumulate/resnet50_sum_4", train, "resnet50", batch=256, parts=4, sum=True, steps=10)
    for parts in (1, 4):
        add(f"accumulate/bert-large_{parts}", train, "bert-large", batch=16, parts=parts, tf32=True, untimed=True)
    for batch in (1, 2, 4, 8, 16, 32):
        add(f"batch/bert-large_{batch}", train, "bert-large", batch=batch, tf32=True, untimed=True)
        add(f"batch/resnet50_{batch * 8}", train, "resnet50", batch=batch * 8, untimed=True)
    for batch in (63, 64, 65, 100, 127, 128, 129):
        add(f"power_of_two/resnet50_{batch}", train, "resnet50", batch=batch, autocast="bf16", layout="channels_last")
    for vocab in (50257, 50304):
        add(f"power_of_two/gpt2_vocab_{vocab}", train, "gpt2", batch=16, autocast="bf16", tf32=True, config={"vocab_size": vocab}, steps=12)


def add_models(add):
    for name in ("resnet50", "mobilenet_v2"):
        add(f"depthwise/{name}", train, name, batch=64)
        add(f"depthwise/infer_{name}", infer, name, batch=64, untimed=True)
    add("depthwise/resnet50_replaced", train, "resnet50", batch=64, depthwise=True)
    add("depthwise/infer_resnet50_replaced", infer, "resnet50", batch=64, depthwise=True, untimed=True)
    for inplace in (True, False):
        add(f"relu/train_{'inplace' if inplace else 'copies'}", train, "resnet50", batch=64, inplace=inplace)
        add(f"relu/infer_{'inplace' if inplace else 'copies'}", infer, "resnet50", batch=64, inplace=inplace, untimed=True)
    for precision in ("fp32", "bf16"):
        for layout in ("contiguous", "channels_last"):
            options = {"autocast": "bf16"} if precision == "bf16" else {}
            add(f"channels_last/{precision}_{layout}", train, "resnet50", batch=128, layout=layout, **options)
    for mode in ("eval_only", "no_grad", "inference_mode"):
        add(f"eval/{mode}", infer, "resnet50", mode, batch=64, untimed=True)


# --- running them

UNTIMED = (context, empty_cache_returns, empty_cache_before_oom, other_calls, del_and_collect, pinned, fraction, seen_by_smi, workers)


def is_untimed(key):
    """Whether a case only counts bytes, so that others may use the GPU beside it."""
    run, _, options, _ = cases()[key]
    return bool(options.get("untimed")) or run in UNTIMED


def run_case(key):
    run, args, options, env = cases()[key]
    os.environ.update(env)  # for a case that is run by hand; CONF is read when CUDA starts
    claim, name = key.split("/", 1)
    if is_untimed(key):
        beside()
    print(json.dumps({"claim": claim, "case": name} | run(*args, **options)), flush=True)


def in_process(key, until):
    """A case's line, or what it failed with."""
    claim, name = key.split("/", 1)
    if time.monotonic() > until:
        return {"claim": claim, "case": name, "skipped": "no time left"}
    env = {**os.environ, **cases()[key][3], "CLAIMS_LOCK": LOCK, "OMP_NUM_THREADS": "2"}
    with tempfile.TemporaryDirectory() as fresh:
        env.setdefault("TORCHINDUCTOR_CACHE_DIR", fresh)
        try:
            done = subprocess.run([sys.executable, __file__, "case", key], capture_output=True, text=True, env=env, timeout=150)
        except subprocess.TimeoutExpired:
            return {"claim": claim, "case": name, "error": "not done after 150 s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"claim": claim, "case": name, "error": (done.stderr or done.stdout)[-500:]}
    return json.loads(lines[-1])


def machine():
    """What it ran on; asked in a process of its own, so that this one stays without a context."""
    code = """import json, torch, torchvision, transformers, pynvml
pynvml.nvmlInit()
p = torch.cuda.get_device_properties(0)
print(json.dumps({"claim": "machine", "case": "versions", "torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
    "driver": pynvml.nvmlSystemGetDriverVersion(), "gpu": p.name, "gpus": torch.cuda.device_count(), "gpu_bytes": p.total_memory,
    "torchvision": torchvision.__version__, "transformers": transformers.__version__}))"""
    return json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip().splitlines()[-1])


def main(seconds, names=("",)):
    """Cases that take no time of the GPU's, and those that compile first, several at once; then the others, which wait for each other."""
    started, everything = time.monotonic(), {k: case for k, case in cases().items() if k.startswith(tuple(names))}
    print(json.dumps(machine()), flush=True)
    first = [k for k, (_, _, o, _) in everything.items() if "compile" in o]  # those that take longest come first
    first += [k for k in everything if is_untimed(k)]
    rest = [k for k in everything if k not in first and k != "persistent_cache/compile"]
    for keys, at_once in ((first, 8), (rest, 4)):
        with ThreadPoolExecutor(at_once) as pool:
            for done in as_completed([pool.submit(in_process, k, started + seconds) for k in keys]):
                print(json.dumps(done.result()), flush=True)
    print(json.dumps({"claim": "machine", "case": "seconds", "seconds": round(time.monotonic() - started, 1)}), flush=True)


if __name__ == "__main__":
    what, rest = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if what == "all":
        main(float(rest[0]) if rest else 1200)
    elif what == "some" and len(rest) > 1:
        main(float(rest[0]), rest[1:])
    elif what == "list":
        print("\n".join(cases()))
    elif what == "case" and rest:
        run_case(rest[0])
    else:
        raise SystemExit(__doc__)
