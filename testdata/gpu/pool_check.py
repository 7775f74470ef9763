"""Finds out on a GPU what ullage.Pool rests on, and whether it does what it says.

usage: pool_check.py [CASE ...]

Cases case_* ask PyTorch: how its private pools route, refuse, keep and return memory. Cases show_* ask the package: limits, reserves,
isolation, backward passes, threads, caches, and the examples. `show_` means all of these. Needs one GPU, of 16 GiB or
more, and torch 2.8 or newer; two GPUs for tensor parallelism. Prints one JSON object a case; a case that fails prints its error and
the next one runs. Cases that could hang run in a process of their own with a deadline.

The file is long because each case stands for itself, so that one can be read and run without the others.
"""
from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "src"))
import ullage  # noqa: E402  (of this tree)

MIB = 1 << 20
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
KEEP = []  # the allocator keeps addresses of what is in here


class Capped:
    """A private pool whose segments come through a function of ours, which refuses what would pass the cap."""

    def __init__(self, cap_bytes):
        self.lib = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libc10_cuda.so"))
        self.cap, self.used, self.refused, self.calls, self.seconds, self.threads = cap_bytes, 0, [], [], 0.0, set()
        self.callback = CALLBACK(self.segment)
        free = ctypes.cast(self.lib.cudaFree, ctypes.c_void_p).value
        self.allocator = torch._C._cuda_customAllocator(ctypes.cast(self.callback, ctypes.c_void_p).value, free)
        KEEP.append((self.callback, self.allocator))
        self.pool = torch.cuda.MemPool(self.allocator)

    def segment(self, size, device, stream):
        start = time.perf_counter()
        self.threads.add(threading.current_thread().name)
        if self.used + size > self.cap:
            self.refused.append(size)
            return None
        pointer = ctypes.c_void_p()
        error = self.lib.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size))
        if error:
            self.refused.append(-error)
            return None
        self.used += size
        self.calls.append(size)
        self.seconds += time.perf_counter() - start
        return pointer.value

    def use(self):
        return torch.cuda.use_mem_pool(self.pool)

    def held(self):
        return held(self.pool)


def held(pool):
    """Bytes of a pool's segments, and of the blocks in use in them."""
    segments = pool.snapshot()
    return {"segments": len(segments), "reserved": sum(s["total_size"] for s in segments), "allocated": sum(s["allocated_size"] for s in segments)}


def gpu():
    free, total = torch.cuda.mem_get_info()
    return {"allocated": torch.cuda.memory_allocated(), "reserved": torch.cuda.memory_reserved(), "free": free, "used": total - free}


def empty(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")


def attempt(fn):
    try:
        return {"returned": str(fn())[:200]}
    except BaseException as e:  # noqa: BLE001  (what it raises is the result)
        return {"raised": type(e).__module__ + "." + type(e).__name__, "text": str(e)[:700]}


def settings():
    return torch.cuda.memory._snapshot().get("allocator_settings", {})


def release_lock():
    last = settings().get("PYTORCH_CUDA_ALLOC_CONF", "")
    wanted = (last + "," if last else "") + "release_lock_on_cudamalloc:True"
    torch.cuda.memory._set_allocator_settings(wanted)


def case_environment():
    torch.empty(1, device="cuda")
    known = [n for n in dir(torch._C) if "llocatorSettings" in n or "ToPool" in n or "customAllocator" in n]
    return {"torch": torch.__version__, "cuda": torch.version.cuda, "gpus": torch.cuda.device_count(), "name": torch.cuda.get_device_name(), "known": known,
            "now": gpu(), "settings": settings()}


def case_release_lock():
    before = settings()
    release_lock()
    after = settings()
    return {"changed": {k: [before.get(k), v] for k, v in after.items() if before.get(k) != v}}


def case_cap():
    """Is the cap exact, what does the refusal look like, and does it flush what others have cached?"""
    outside = empty(256)
    del outside
    cached = torch.cuda.memory_reserved()
    c = Capped(100 * MIB)
    out = {}
    with c.use():
        a = empty(60)
        out["after_60"] = [c.used // MIB, c.held()]
        out["asks_60_more"] = attempt(lambda: empty(60))
        out["asks_again"] = attempt(lambda: empty(60))
        b = empty(40)
        out["fills_to_cap"] = [c.used // MIB, c.held()]
        out["asks_one_byte"] = attempt(lambda: torch.empty(1, device="cuda"))
    out["default_cache_before_and_after_refusal"] = [cached, torch.cuda.memory_reserved() - c.used]
    out["outside_still_works"] = attempt(lambda: empty(300).numel())
    out |= {"calls": c.calls, "refused": c.refused, "us_per_segment": c.seconds / max(1, len(c.calls)) * 1e6, "ooms": torch.cuda.memory_stats()["num_ooms"],
            "retries": torch.cuda.memory_stats()["num_alloc_retries"]}
    del a, b
    out["freed"] = c.held()
    torch.cuda.empty_cache()
    out["after_empty_cache_outside"] = c.held()
    with c.use():
        torch.cuda.empty_cache()
    out["after_empty_cache_inside"] = c.held()
    before = gpu()
    pool_id = c.pool.id
    del c.pool
    gc.collect()
    out["del_returns"] = [before["used"] - gpu()["used"], before["reserved"] - gpu()["reserved"]]
    out["snapshot_of_a_gone_pool"] = attempt(lambda: torch.cuda.memory_snapshot(pool_id))
    return out


def case_close_with_live():
    """What becomes of a pool that is dropped while a tensor in it lives?"""
    c = Capped(200 * MIB)
    with c.use():
        a, b = empty(50), empty(50)
    a.fill_(7)
    pool_id = c.pool.id
    uses = c.pool.use_count()
    del b, c.pool
    gc.collect()
    out = {"use_count": uses, "after_del": gpu(), "snapshot": attempt(lambda: [(s["total_size"], s["allocated_size"]) for s in torch.cuda.memory_snapshot(pool_id)]),
           "intact": bool((a == 7).all())}
    before = gpu()
    del a
    out["tensor_gone_returns"] = before["used"] - gpu()["used"]
    torch.cuda.empty_cache()
    out["empty_cache_returns"] = before["used"] - gpu()["used"]
    return out


def model_and_input():
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[m for _ in range(4) for m in (torch.nn.Linear(2048, 2048), torch.nn.GELU())]).cuda()
    return model, torch.randn(4096, 2048, device="cuda")


def routed(single_threaded, checkpoint=None, stream_filter=False):
    """Bytes that a forward and a backward pass put in the pool and outside."""
    import torch.utils.checkpoint as ckpt

    model, x = model_and_input()
    model(x).sum().backward()  # cuBLAS's workspace of both threads is taken outside
    model.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    c = Capped(2048 * MIB)
    before = torch.cuda.memory_reserved()
    was = torch.autograd.is_multithreading_enabled() if hasattr(torch.autograd, "is_multithreading_enabled") else None
    names = set()
    next(model.parameters()).register_hook(lambda g: names.add(threading.current_thread().name + ":" + str(threading.get_ident() == main)))
    main = threading.get_ident()
    device = torch.cuda.current_device()
    if stream_filter:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        context = torch.cuda.stream(side)
    else:
        context = c.use()
    with context:
        if stream_filter:
            torch._C._cuda_beginAllocateCurrentStreamToPool(device, c.pool.id)
        with torch.autograd.set_multithreading_enabled(not single_threaded):
            if checkpoint is None:
                y = model(x)
            else:
                y = ckpt.checkpoint_sequential(model, 4, x.requires_grad_(), use_reentrant=checkpoint)
            y.sum().backward()
        if stream_filter:
            torch._C._cuda_endAllocateToPool(device, c.pool.id)
            torch._C._cuda_releasePool(device, c.pool.id)
    torch.cuda.synchronize()
    grads = sum(p.grad.numel() * 4 for p in model.parameters())
    in_pool = {id(p): any(s["address"] <= p.grad.data_ptr() < s["address"] + s["total_size"] for s in c.pool.snapshot()) for p in model.parameters()}
    return {"pool_reserved": c.held()["reserved"] // MIB, "outside_growth": (torch.cuda.memory_reserved() - before - c.used) // MIB, "grad_mib": grads // MIB,
            "grads_in_pool": sum(in_pool.values()), "grads": len(in_pool), "hook_thread": sorted(names), "segment_threads": sorted(c.threads),
            "was_multithreaded": was}


def case_backward():
    return {"default": routed(False), "single_threaded": routed(True), "single_checkpoint": routed(True, False), "single_checkpoint_reentrant": routed(True, True),
            "stream_filter": attempt(lambda: json.dumps(routed(False, stream_filter=True)))}


def case_backward_outside():
    """Forward inside, backward after the block: where do gradients go, and is anything wrong?"""
    model, x = model_and_input()
    c = Capped(2048 * MIB)
    with c.use():
        y = model(x).sum()
    before = c.held()
    y.backward()
    return {"pool_before": before, "pool_after": c.held()}


def case_nesting():
    a, b = Capped(100 * MIB), Capped(100 * MIB)
    out = {}
    with a.use():
        t = empty(10)
        with b.use():
            u = empty(20)
        v = empty(30)
    out["inner_outer"] = [a.held(), b.held()]
    out["same_pool_twice"] = attempt(lambda: nested(a))
    w = empty(5)
    out["after"] = [a.held()["allocated"], b.held()["allocated"], torch.cuda.memory_allocated()]
    out["left_out_of_order"] = attempt(lambda: out_of_order(a, b))
    del t, u, v, w
    return out


def nested(c):
    with c.use():
        with c.use():
            inner = empty(10)
        after = empty(10)
        return [c.held(), inner.numel(), after.numel()]


def out_of_order(a, b):
    first, second = a.use(), b.use()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    x = empty(11)
    where = [a.held()["allocated"] // MIB, b.held()["allocated"] // MIB]
    second.__exit__(None, None, None)
    del x
    return where


def case_two_threads():
    """Two threads, two pools, at once; then one pool in two threads."""
    pools = [Capped(300 * MIB), Capped(300 * MIB)]
    barrier, got = threading.Barrier(2), [None, None]

    def work(i, pool):
        try:
            with pool.use():
                barrier.wait()
                kept = [empty(10 + i) for _ in range(5)]
                barrier.wait()
            got[i] = [pool.held()["allocated"] // MIB, len(kept), sorted(pool.threads)]
        except BaseException as e:  # noqa: BLE001
            barrier.abort()
            got[i] = f"{type(e).__name__}: {e}"[:300]

    out = {}
    for name, chosen in (("two_pools", pools), ("one_pool", [pools[0], pools[0]])):
        barrier.reset()
        threads = [threading.Thread(target=work, args=(i, chosen[i]), name=f"worker{i}") for i in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        out[name] = list(got)
    return out


def case_isolation():
    """Both pools full of known bytes; one asks for too much, over and over, also through the device's true end."""
    a, b = Capped(400 * MIB), Capped(1 << 50)
    outside = torch.full((64 * MIB,), 3, dtype=torch.uint8, device="cuda")
    with a.use():
        mine = torch.full((200 * MIB,), 1, dtype=torch.uint8, device="cuda")
    with b.use():
        theirs = torch.full((200 * MIB,), 2, dtype=torch.uint8, device="cuda")
    before = [a.held(), b.held()]
    capped = [attempt(lambda: run_in(a, 300)).get("raised") for _ in range(5)]
    device_full = attempt(lambda: run_in(b, 1 << 20))
    intact = [bool((mine == 1).all()), bool((theirs == 2).all()), bool((outside == 3).all())]
    return {"before": before, "after": [a.held(), b.held()], "raised": capped, "device_full": device_full, "intact": intact}


def run_in(c, mib):
    with c.use():
        return empty(mib).numel()


def case_reserve():
    """A large segment taken at once and its tensor freed: is it kept, through empty_cache and OOM outside, and used piece by piece?"""
    c = Capped(512 * MIB)
    with c.use():
        del_me = empty(480)
        small = [torch.empty(MIB, dtype=torch.uint8, device="cuda") for _ in range(16)]
    del del_me, small
    out = {"taken": c.held()}
    torch.cuda.empty_cache()
    out["after_empty_cache"] = c.held()
    out["oom_outside"] = attempt(lambda: empty(1 << 20))
    out["after_oom"] = c.held()
    with c.use():
        kept = [empty(n) for n in (5, 15, 100, 1, 200, 3)] + [torch.empty(1000, device="cuda") for _ in range(20)]
    out["served_without_new_segments"] = [c.held(), c.calls, c.refused]
    side = torch.cuda.Stream()
    with c.use(), torch.cuda.stream(side):
        out["from_another_stream"] = attempt(lambda: empty(15).numel())
    out["refused"] = c.refused
    del kept
    return out


def case_graphs():
    """A CUDA graph captured inside the pool's block, and one that is given the pool."""
    x = torch.randn(1024, 1024, device="cuda")
    y = x @ x
    torch.cuda.synchronize()
    out = {}
    c = Capped(400 * MIB)

    def inside():
        with c.use():
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                z = (x @ x).relu()
            g.replay()
            torch.cuda.synchronize()
            return [c.held(), float((z - (x @ x).relu()).abs().max())]

    def given():
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g, pool=c.pool.id):
            z = (x @ x).relu()
        g.replay()
        torch.cuda.synchronize()
        return [c.held(), float((z - (x @ x).relu()).abs().max())]

    out["inside"] = attempt(inside)
    out["given_grows"] = attempt(given)
    del y
    return out


def case_fraction():
    """Does the process's fraction bound a pool too, and does a pool's refusal differ from it?"""
    c = Capped(1 << 40)
    total = torch.cuda.get_device_properties(0).total_memory
    limit = torch.cuda.memory_reserved() + 100 * MIB
    torch.cuda.set_per_process_memory_fraction(limit / total)
    try:
        out = {"ok_80": attempt(lambda: run_in(c, 80)), "over_120": attempt(lambda: run_in(c, 120)), "refused": c.refused}
        out["outside_over"] = attempt(lambda: empty(200))
        out["exact"] = attempt(lambda: [run_in(c, 100)])
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    out["after"] = attempt(lambda: empty(200).numel())
    return out


def case_cost():
    """Microseconds of entering and leaving, and of what could be asked at each."""
    c = Capped(100 * MIB)

    def per_call(fn, n=300):
        fn()
        start = time.perf_counter()
        for _ in range(n):
            fn()
        return round((time.perf_counter() - start) / n * 1e6, 2)

    def enter():
        with c.use():
            pass

    def enter_single():
        with c.use(), torch.autograd.set_multithreading_enabled(False):
            pass

    run_in(c, 20)
    return {"enter_us": per_call(enter), "enter_single_threaded_us": per_call(enter_single), "snapshot_us": per_call(lambda: c.pool.snapshot()),
            "memory_stats_us": per_call(torch.cuda.memory_stats), "raw_stats_us": per_call(lambda: torch._C._cuda_memoryStats(0)),
            "mem_get_info_us": per_call(torch.cuda.mem_get_info)}


def case_latency():
    """One request's allocations: with a cold allocator, a warm one, and views of memory taken beforehand."""
    shapes = [(8, 32, 4096, 128)] * 8 + [(8, 4096, 4096)] * 4
    total = sum(torch.Size(s).numel() * 2 for s in shapes)

    def request(empty_like_cache):
        torch.cuda.synchronize()
        start = time.perf_counter()
        kept = [empty_like_cache(s) for s in shapes]
        for t in kept:
            t[..., :1].zero_()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1e3

    def plain(shape):
        return torch.empty(shape, dtype=torch.bfloat16, device="cuda")

    request(plain)
    cold = []
    for _ in range(5):
        torch.cuda.empty_cache()
        cold.append(request(plain))
    warm = [request(plain) for _ in range(5)]
    slab = torch.empty(total, dtype=torch.uint8, device="cuda")
    offset = 0

    def view(shape):
        nonlocal offset
        size = torch.Size(shape).numel() * 2
        out = slab[offset:offset + size].view(torch.bfloat16).view(shape)
        offset += size
        return out

    bumped = []
    for _ in range(5):
        offset = 0
        bumped.append(request(view))
    return {"mib": total // MIB, "cold_ms": cold, "warm_ms": warm, "views_ms": bumped}


def stress(lock_released):
    """A grows and drops pools; B and C, holding the interpreter's lock, free tensors and read counters all the time."""
    torch.empty(1, device="cuda")
    if lock_released:
        release_lock()
    stop, counts = threading.Event(), [0, 0, 0]

    def churn():
        while not stop.is_set():
            kept = [torch.empty(1000, device="cuda") for _ in range(50)]
            del kept
            counts[1] += 1

    def read():
        while not stop.is_set():
            torch.cuda.memory_stats()
            counts[2] += 1

    others = [threading.Thread(target=churn, daemon=True), threading.Thread(target=read, daemon=True)]
    for t in others:
        t.start()
    end = time.monotonic() + 5
    while time.monotonic() < end:
        c = Capped(200 * MIB)
        with c.use():
            kept = [empty(2) for _ in range(40)]
            attempt(lambda: empty(400))
        del kept, c.pool
        KEEP.clear()
        counts[0] += 1
        print(json.dumps(counts), file=sys.stderr, flush=True)
    stop.set()
    for t in others:
        t.join()
    return {"rounds": counts}


def in_process(case, deadline_s=25, **env):
    command = [sys.executable, "-X", "faulthandler", __file__, case]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=deadline_s, env={**os.environ, **env})
        return {"rc": done.returncode, "out": done.stdout[-1500:], "err": (done.stderr[:700] + " ... " + done.stderr[-300:]) if done.returncode else ""}
    except subprocess.TimeoutExpired as e:
        return {"hangs": True, "err": (e.stderr or b"")[-300:].decode()}


def sub_stress_released():
    return stress(True)


def sub_stress_held():
    return stress(False)


def sub_expandable():
    """With expandable segments, does a pool's own allocator still get asked?"""
    torch.empty(1, device="cuda")
    release_lock()
    c = Capped(100 * MIB)
    out = {"fits": attempt(lambda: run_in(c, 60)), "calls": c.calls, "over": attempt(lambda: run_in(c, 200)).get("raised"), "held": c.held()}
    out["settings"] = {k: v for k, v in settings().items() if k in ("expandable_segments", "release_lock_on_cudamalloc", "PYTORCH_CUDA_ALLOC_CONF")}
    return out


def sub_exit_with_pool():
    """Does a process end well that leaves a pool with live tensors in it?"""
    c = Capped(100 * MIB)
    global LEFT
    with c.use():
        LEFT = empty(50)
    return {"left": c.held()}


def case_stress_lock_released():
    return in_process("sub_stress_released")


def case_stress_lock_held():
    return in_process("sub_stress_held", 15)


def case_expandable():
    return in_process("sub_expandable", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")


def case_exit_with_pool():
    return in_process("sub_exit_with_pool")


# --- the package

WIDTH, HEADS, LAYERS = 2048, 16, 24


class Decoder(torch.nn.Module):
    """A transformer's decoder as far as memory is concerned: weights, and keys and values that a request brings."""

    def __init__(self, layers=LAYERS, width=WIDTH, heads=HEADS):
        super().__init__()
        self.heads, self.dim = heads, width // heads
        self.qkv = torch.nn.ModuleList(torch.nn.Linear(width, 3 * width, device="cuda", dtype=torch.bfloat16) for _ in range(layers))
        self.mlp = torch.nn.ModuleList(torch.nn.Linear(width, width, device="cuda", dtype=torch.bfloat16) for _ in range(layers))

    def forward(self, x, kv, at):
        batch, length, width = x.shape
        for qkv, mlp, (keys, values) in zip(self.qkv, self.mlp, kv):
            q, k, v = qkv(x).view(batch, length, 3, self.heads, self.dim).permute(2, 0, 3, 1, 4)
            keys[:, :, at:at + length], values[:, :, at:at + length] = k, v
            seen = keys[:, :, :at + length], values[:, :, :at + length]
            x = x + mlp(torch.nn.functional.scaled_dot_product_attention(q, *seen).transpose(1, 2).reshape(batch, length, width))
        return x

    @torch.inference_mode()
    def answer(self, make, batch, length, tokens=4):
        """A request: its caches, its prompt, a few tokens. Returns milliseconds and a number that depends on all of it."""
        torch.cuda.synchronize()
        start = time.perf_counter()
        kv = [(make(batch, self.heads, length, self.dim), make(batch, self.heads, length, self.dim)) for _ in self.qkv]
        x = torch.full((batch, length - tokens, self.heads * self.dim), 0.01, device="cuda", dtype=torch.bfloat16)
        x = self(x, kv, 0)[:, -1:]
        for i in range(tokens):
            x = self(x, kv, length - tokens + i)
        value = float(x.float().mean())
        return (time.perf_counter() - start) * 1e3, value


def plain(*shape):
    return torch.empty(shape, dtype=torch.bfloat16, device="cuda")


def spread(ms):
    return {"median_ms": round(statistics.median(ms), 2), "p95_ms": round(sorted(ms)[int(len(ms) * 0.95)], 2), "max_ms": round(max(ms), 2), "of": len(ms)}


def state(pool):
    return {"reserved": pool.reserved_bytes // MIB, "allocated": pool.allocated_bytes // MIB}


def show_limit_and_reserve():
    before = gpu()["used"]
    start = time.perf_counter()
    pool = ullage.Pool(limit=1024 * MIB, reserve=512 * MIB, name="p")
    out = {"made_in_ms": (time.perf_counter() - start) * 1e3, "driver_gave": (gpu()["used"] - before) // MIB, "taken": state(pool)}
    torch.cuda.empty_cache()
    out["oom_outside"] = attempt(lambda: empty(1 << 20)).get("raised")
    out["kept"] = state(pool)
    kept = [pool.run(empty, n) for n in (200, 100, 50, 12, 1)]
    out["from_the_reserve"] = state(pool)
    out["over"] = attempt(lambda: pool.run(empty, 600))
    kept.append(pool.run(empty, 510))
    kept.append(pool.run(empty, 2))
    out["to_the_limit"] = [pool.limit_bytes - pool.reserved_bytes, attempt(lambda: kept.append(pool.run(empty, 512))).get("raised"), state(pool)]
    out["close_with_tensors"] = attempt(pool.close)
    kept.clear()
    a = torch.ones(512, 512, device="cuda")
    thread = threading.Thread(target=lambda: pool.run(lambda: a @ a))  # a new thread's cuBLAS workspace is in the pool
    thread.start()
    thread.join()
    out["in_a_workspace"] = pool.allocated_bytes
    pool.close()
    out["matmul_after_close"] = float((a @ a)[0, 0])
    del a
    out["close_left"] = (gpu()["used"] - before) // MIB
    return out


def show_isolation():
    """Two models, two threads: one asks too much all the time. Are the other's answers the same bit by bit, and as fast?"""
    pools = [ullage.Pool(limit=3 << 30, reserve=2 << 30, name=n) for n in ("greedy", "other")]
    models = [p.run(Decoder, 4) for p in pools]
    _, first = pools[1].run(models[1].answer, plain, 4, 1024)

    def other(n):
        got = [pools[1].run(models[1].answer, plain, 4, 1024) for _ in range(n)]
        return spread([ms for ms, _ in got]), all(value == first for _, value in got)

    alone, stop, failures = other(50), threading.Event(), []

    def greedy():
        while not stop.is_set():
            failures.append(attempt(lambda: pools[0].run(models[0].answer, plain, 64, 16384))["raised"])
            time.sleep(0.02)

    before = state(pools[1])
    thread = threading.Thread(target=greedy)
    thread.start()
    beside = other(50)
    stop.set()
    thread.join()
    out = {"alone": alone, "beside_one_that_runs_out": beside, "times_it_ran_out": len(failures), "as": sorted(set(failures))}
    out["memory_before_and_after"] = [before, state(pools[1])]
    out["the_greedy_one_afterwards"] = attempt(lambda: pools[0].run(models[0].answer, plain, 4, 1024)[1] is not None)
    out["the_greedy_ones_memory"] = state(pools[0])
    del models
    for p in pools:
        p.close()
    return out


def show_backward():
    """Training steps in a pool and outside: where memory goes, and what it costs that backward runs in the calling thread."""
    out = {}
    for name, width, batch in (("small kernels", 64, 32), ("large kernels", 2048, 2048)):
        def train(steps):
            torch.manual_seed(0)
            model = torch.nn.Sequential(*[m for _ in range(16) for m in (torch.nn.Linear(width, width), torch.nn.GELU())]).cuda()
            optimizer = torch.optim.AdamW(model.parameters())
            x, times = torch.randn(batch, width, device="cuda"), []
            for _ in range(steps):
                torch.cuda.synchronize()
                start = time.perf_counter()
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
                torch.cuda.synchronize()
                times.append((time.perf_counter() - start) * 1e3)
            return spread(times[5:]), float(model(x).sum())

        outside = train(45)
        pool = ullage.Pool(limit=4 << 30)
        before = torch.cuda.memory_reserved() - pool.reserved_bytes
        inside = pool.run(train, 45)
        out[name] = {"outside": outside[0], "inside": inside[0], "same_result": outside[1] == inside[1], "pool": state(pool),
                     "grew_outside": torch.cuda.memory_reserved() - pool.reserved_bytes - before}
        gc.collect()
        pool.close()
    return out


def sub_threads():
    """Four threads fill, overfill, close and make pools; others read counters, free tensors and collect garbage meanwhile."""
    stop, rounds, errors = threading.Event(), [0] * 4, []
    warnings.simplefilter("ignore", ResourceWarning)

    def work(i):
        try:
            while not stop.is_set():
                pool = ullage.Pool(limit=200 * MIB, reserve=64 * MIB)
                with pool:
                    kept = [empty(2 + i) for _ in range(20)]
                    ullage.Pool(limit=64 * MIB)  # dropped at once, while threads are in pools
                if "raised" not in attempt(lambda: pool.run(empty, 500)) or pool.reserved_bytes > pool.limit_bytes:
                    errors.append("limit passed")
                del kept
                pool.close()
                rounds[i] += 1
        except BaseException:  # noqa: BLE001
            errors.append(traceback.format_exc()[-500:])

    def disturb():
        while not stop.is_set():
            torch.cuda.memory_stats()
            junk = [torch.empty(1000, device="cuda") for _ in range(20)]
            del junk
            gc.collect(0)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)] + [threading.Thread(target=disturb)]
    for t in threads:
        t.start()
    time.sleep(6)
    stop.set()
    for t in threads:
        t.join()
    return {"rounds": rounds, "errors": errors[:3]}


def show_threads():
    return in_process("sub_threads", 40)


def show_nesting_and_graphs():
    one, two = ullage.Pool(limit=512 * MIB), ullage.Pool(limit=512 * MIB)
    with one:
        kept = [empty(10)]
        with two, one, two:
            kept.append(empty(40))
        kept.append(empty(20))
    out = {"nested": [state(one), state(two)]}
    x = torch.randn(1024, 1024, device="cuda")
    torch.cuda.synchronize()
    for name in ("in_the_block", "given_the_pool"):
        def capture():
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, **({"pool": one.id} if name == "given_the_pool" else {})):
                y = (x @ x).relu()
            graph.replay()
            torch.cuda.synchronize()
            return float((y - (x @ x).relu()).abs().max()), graph

        before = one.reserved_bytes
        got = attempt(lambda: str((one.run(capture) if name == "in_the_block" else capture())[0]))
        out[name] = [got, (one.reserved_bytes - before) // MIB]
    kept.clear()
    gc.collect()
    out["close"] = [attempt(one.close), attempt(two.close)]
    return out


def sub_first_plain():
    return first_response(False)


def sub_first_cache():
    return first_response(True)


def first_response(cached):
    """In a process of its own, with kernels and libraries loaded by a short request: the first long one, and those after it."""
    pool = ullage.Pool(limit=16 << 30)
    model = pool.run(Decoder)
    size = 2 * LAYERS * 8 * HEADS * 4096 * (WIDTH // HEADS) * 2
    cache = pool.cache(size) if cached else None
    pool.run(model.answer, plain, 1, 64)

    def request(length):
        with pool:
            if cache is None:
                return model.answer(plain, 8, length)[0]
            with cache.request():
                return model.answer(lambda *shape: cache.empty(*shape, dtype=torch.bfloat16), 8, length)[0]

    times = [request(4096) for _ in range(21)]
    return {"cache_mib": size // MIB, "first_ms": round(times[0], 2), "later": spread(times[1:]), "reserved": pool.reserved_bytes // MIB}


def show_first_response():
    return {"plain": in_process("sub_first_plain", 60), "cache": in_process("sub_first_cache", 60)}


def show_requests_of_many_lengths():
    """Under a limit not much above what the longest request takes: what differing sizes do to the caching allocator, and to a cache."""
    size, lengths = 2 * LAYERS * 8 * HEADS * 4096 * (WIDTH // HEADS) * 2, [512 + (i * 977) % 3585 for i in range(40)]
    out = {}
    for name in ("plain", "cache"):
        torch.cuda.empty_cache()
        model = Decoder()
        with ullage.limit(torch.cuda.memory_reserved() + size + (3 << 30)):
            cache = ullage.Cache(torch.empty(size, dtype=torch.uint8, device="cuda")) if name == "cache" else None
            make = plain if cache is None else lambda *shape: cache.empty(*shape, dtype=torch.bfloat16)
            model.answer(plain, 1, 64)
            before, times, failed = torch.cuda.memory_stats(), [], 0
            for length in lengths:
                try:
                    with cache.request() if cache else contextlib.nullcontext():
                        times.append(model.answer(make, 8, length)[0] / length * 1000)
                except torch.cuda.OutOfMemoryError:
                    failed += 1
            after = torch.cuda.memory_stats()
            out[name] = {"ms_per_1000_tokens": spread(times), "out_of_memory": failed, "flushes": after["num_alloc_retries"] - before["num_alloc_retries"],
                         "driver_allocations": after["num_device_alloc"] - before["num_device_alloc"]}
        del model, cache, make
    return out


def show_cache_is_checked():
    pool = ullage.Pool(limit=64 * MIB)
    cache = pool.cache(32 * MIB)
    with cache.request():
        x = cache.empty(1024, 1024).fill_(1)
        view, copy = x[3].t(), x.clone()
    with cache.request():
        y = cache.empty(1024, 1024).fill_(2)
        used = {name: attempt(fn).get("text", "not noticed")[:60] for name, fn in (
            ("add", lambda: x + 1), ("matmul", lambda: x @ x), ("view", lambda: view * 2), ("to cpu", lambda: x.cpu()), ("item", lambda: x[0, 0].item()))}
        out = {"used": used, "copy_intact": bool((copy == 1).all()), "other_intact": bool((y == 2).all())}
    start = time.perf_counter()
    for _ in range(1000):
        with cache.request():
            cache.empty(16, 16)
    out["us_per_request_of_one"] = (time.perf_counter() - start) * 1e3
    del x, y, view
    pool.close()
    return out


def show_limit():
    before = torch.cuda.memory_reserved()
    held = ullage.limit(before + 100 * MIB)
    out = {"fits_exactly": attempt(lambda: empty(100).numel()), "one_more": attempt(lambda: [empty(100), torch.empty(1, device="cuda")]).get("raised")}
    out["process_uses_beyond_the_limit"] = (gpu()["used"] - before - 100 * MIB) // MIB
    held.restore()
    out["restored"] = attempt(lambda: empty(300).numel())
    return out


def sub_exit():
    """A process that ends with pools open, tensors in them, inside a block."""
    global LEFT
    pool = ullage.Pool(limit=512 * MIB, reserve=64 * MIB)
    pool.__enter__()
    LEFT = pool, empty(50), pool.cache(16 * MIB).empty(100)
    return state(pool)


def show_exit():
    return in_process("sub_exit")


def sub_settings():
    pool = ullage.Pool(limit=512 * MIB, reserve=64 * MIB)
    now = settings()
    return {"pool": state(pool), "settings": now.get("PYTORCH_CUDA_ALLOC_CONF"), "gc": now.get("garbage_collection_threshold"),
            "over": attempt(lambda: pool.run(empty, 600)).get("raised")}


def show_settings():
    return {conf: in_process("sub_settings", PYTORCH_CUDA_ALLOC_CONF=conf) for conf in (
        "garbage_collection_threshold:0.8,roundup_power2_divisions:4", "expandable_segments:True", "backend:cudaMallocAsync", "max_split_size_mb:64")}


def show_examples():
    """Prints a line for each, since a machine may be lent for less time than all of them take."""
    torch.cuda.empty_cache()
    two = str(min(2, torch.cuda.device_count()))
    for name, arguments in (("serve-two-models/serve.py", []), ("tensor-parallel/tensor_parallel.py", [two]), ("spawn-workers/spawn.py", [two]),
                            ("checkpointing-and-amp/compare.py", []), ("resilient-training/train.py", []), ("preflight/preflight.py", [])):
        start = time.monotonic()
        try:
            done = subprocess.run([sys.executable, str(ROOT / "examples" / name), *arguments], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "PYTHONPATH": str(ROOT / "python" / "src")})
            got = {"rc": done.returncode, "out": done.stdout.splitlines()[-30:], "err": done.stderr.splitlines()[-6:] if done.returncode else []}
        except subprocess.TimeoutExpired as e:
            got = {"rc": None, "out": str(e.stdout)[-1000:], "err": str(e.stderr)[-1000:]}
        print(json.dumps({"case": "example", "name": name, **got, "seconds": round(time.monotonic() - start, 1)}), flush=True)
    return {"gpus": torch.cuda.device_count()}


def main():
    wanted = sys.argv[1:] or ["case_", "show_"]
    for name in [n for n in globals() if n in wanted or n.startswith(tuple(w for w in wanted if w.endswith("_")))]:
        start = time.monotonic()
        try:
            line = {"case": name, **globals()[name]()}
        except BaseException:  # noqa: BLE001  (the other cases are to run)
            line = {"case": name, "error": traceback.format_exc()[-1500:]}
        line["seconds"] = round(time.monotonic() - start, 2)
        print(json.dumps(line, default=str), flush=True)
        gc.collect()


if __name__ == "__main__":
    main()
