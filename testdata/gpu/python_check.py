"""Holds measure, preflight, release, watch and snapshot of the Python package against what a GPU does, and prints a table.

usage: python_check.py [CHECK ...]      CHECK is one of measure, preflight, release, watch, snapshot; by default all

Exits with 1 if a row is not as promised. Needs torch 2.8 or newer and 24 GiB of one GPU. Under 90 seconds on an H200.
"""
from __future__ import annotations

import gc
import os
import pickle
import statistics
import sys
import tempfile
import time
import warnings

import batch_check  # beside this file: the workloads, and the package of this tree
import torch
import ullage
from torch.nn import functional as F

MIB, GIB = 1 << 20, 1 << 30
CAP_BYTES = 20 * GIB
ROWS = []


def row(check, what, value, ok):
    """Prints a line of the table; ok is whether the promise holds, None where there is none."""
    ROWS.append(ok)
    print(f"{check:<10} {what:<66} {value:>28}  {'' if ok is None else 'ok' if ok else 'NOT AS PROMISED'}", flush=True)


def fresh(cap=None):
    """Nothing of an earlier check is left, and the process may reserve cap."""
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(1.0 if cap is None else cap / torch.cuda.get_device_properties(0).total_memory)
    torch.manual_seed(0)


class Work:
    """A training of batch_check's, with its batch as an argument of the step."""

    def __init__(self, name):
        work = batch_check.WORKLOADS[name]("cuda")
        self.name, self.model, self.optimizer = name, work.model, work.optimizer

    def batch(self, size):
        if self.name == "resnet50":
            return torch.randn(size, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
        return torch.randint(batch_check.Decoder.TOKENS, (size, batch_check.Decoder.LENGTH + 1), device="cuda")

    def loss(self, batch):
        with torch.autocast("cuda", torch.bfloat16):
            if self.name == "resnet50":
                return F.cross_entropy(self.model(batch), torch.zeros(len(batch), dtype=torch.long, device="cuda"))
            return F.cross_entropy(self.model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())

    def step(self, batch):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(batch)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


# --- measure


def check_measure():
    fresh()
    work = Work("transformer")
    batch = work.batch(32)
    work.step(batch)
    torch.cuda.reset_peak_memory_stats()
    work.step(batch)
    peak, reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
    with ullage.measure("step") as m:
        with ullage.measure(sites=False) as inner:
            work.step(batch)
        with ullage.measure(sites=False):
            pass
    use = m[0]
    row("measure", "peak of a step, less torch's own peak of the step before", f"{use.peak_bytes - peak:,} B", use.peak_bytes == peak)
    row("measure", "of blocks within it", f"{inner.peak_bytes - peak:,} B", inner.peak_bytes == peak)
    row("measure", "peak reserved, less torch's own", f"{use.peak_reserved_bytes - reserved:,} B", use.peak_reserved_bytes == reserved)
    told = sum(s.size_bytes for s in use.at_peak) + use.before_at_peak_bytes
    row("measure", "of the peak explained by sites and what was there before", f"{told / peak:.2%}", abs(told / peak - 1) < 0.01)
    with ullage.measure() as m:
        kept = [torch.empty(3 * MIB + 100, dtype=torch.uint8, device="cuda") for _ in range(5)]
    off = m[0].kept_bytes - m[0].change_bytes
    row("measure", "kept, less what the allocator counts as allocated since", f"{off:,} B", off == 0)
    row("measure", "the line of what was kept", m[0].kept[0].place.rpartition(os.sep)[2], "check_measure" in m[0].kept[0].place)
    del kept
    plain, counted, sited = (statistics.median(timed(work, batch, how)) for how in (None, False, True))
    row("measure", "time of a step, with counters alone", f"{counted / plain - 1:+.1%}", None)
    row("measure", "time of a step, with sites: recording and its evaluation", f"{sited / plain - 1:+.1%}", None)
    row("measure", "recording is off again", str(not torch._C._cuda_isHistoryEnabled()), not torch._C._cuda_isHistoryEnabled())


def timed(work, batch, sites):
    for _ in range(12):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        if sites is None:
            work.step(batch)
        else:
            with ullage.measure(sites=sites):
                work.step(batch)
        torch.cuda.synchronize()
        yield time.perf_counter() - begin


# --- preflight


def check_preflight():
    for name, size in (("resnet50", 64), ("transformer", 32)):
        fresh(CAP_BYTES)
        work = Work(name)
        batch = work.batch(size)
        before, rng = [t.cpu() for t in (*work.model.parameters(), *work.model.buffers())], torch.cuda.get_rng_state()
        began = time.perf_counter()
        told = ullage.preflight(work.model, work.step, work.optimizer, batch=batch)
        seconds = time.perf_counter() - began
        same = all(torch.equal(a, b.cpu()) for a, b in zip(before, (*work.model.parameters(), *work.model.buffers())))
        same = same and torch.equal(rng, torch.cuda.get_rng_state()) and not work.optimizer.state
        row("preflight", f"{name}: weights, buffers, states and random numbers are as before", str(same), same)
        del before
        fresh(CAP_BYTES)
        for _ in range(3):
            torch.cuda.reset_peak_memory_stats()
            work.step(batch)
        peak = torch.cuda.max_memory_allocated()
        off = told.later_peak_bytes / peak - 1
        row("preflight", f"{name}: the peak it tells for step 3, less that of step 3", f"{off:+.2%}", abs(off) < 0.01)
        del work, batch
        check_computed(name, size)
        share = largest_share(name, told.largest_batch)
        what = f"{name}: largest batch {told.largest_batch} (a step with {told.tried_batch} ran), of the true one"
        row("preflight", what, f"{share:.1%}", abs(share - 1) < 0.05)
        row("preflight", f"{name}: time", f"{seconds:.1f} s", None)


def check_computed(name, size):
    """What is computed where a second step has no room, against that step with room."""
    fresh(CAP_BYTES)
    work = Work(name)
    batch = work.batch(size)
    measured = ullage.preflight(work.model, lambda: work.step(batch), work.optimizer)
    lacking = ullage.preflight(work.model, lambda: work.step(batch), work.optimizer, limit=int(0.9 * measured.later_peak_bytes))
    off = lacking.later_peak_bytes / measured.later_peak_bytes - 1
    row("preflight", f"{name}: the same, computed from the first step alone", f"{off:+.2%}", not lacking.measured and abs(off) < 0.03)


def largest_share(name, told):
    """The batch told over the largest that three steps fit with, to within 1 %."""
    low, high = int(told * 0.85), int(told * 1.15)
    while high - low > max(1, told // 100):
        size = (low + high) // 2
        if fits(name, size):
            low = size
        else:
            high = size
    return told / low


def fits(name, size):
    fresh(CAP_BYTES)
    work = Work(name)
    batch = work.batch(size)
    try:
        for _ in range(3):
            work.step(batch)
        return True
    except torch.OutOfMemoryError:
        return False


# --- release


PROBES = {}


def check_release():
    fresh()
    idle = torch.cuda.memory_allocated()
    work = Work("transformer")
    work.step(work.batch(8))
    model, optimizer = work.model, work.optimizer
    del work
    PROBES["attention"] = model.layers[3].self_attn.in_proj_weight.detach()
    held = torch.cuda.memory_allocated() - idle
    released = ullage.release(model, optimizer)
    print(released)
    left = PROBES["attention"].untyped_storage().nbytes()
    more = released.alive_bytes - left
    row("release", "is still held, besides the one tensor that is referred to elsewhere", f"{more:,} B", more == 0)
    holder = "; ".join(released.holders().values())
    row("release", "says who holds it", holder[-28:], "PROBES['attention']" in holder)
    share = released.held_bytes / held
    row("release", "of what was allocated is accounted for by the objects", f"{share:.1%}", share > 0.95)
    PROBES.clear()
    row("release", "once nobody refers to it any more", f"{released.check().alive_bytes:,} B", released.complete)
    side = torch.cuda.Stream()
    x = torch.ones(64 * MIB, device="cuda")
    with torch.cuda.stream(side):
        for _ in range(50):
            x.mul_(1.0001)
    x.record_stream(side)
    reserved = torch.cuda.memory_reserved()
    with ullage.release(x) as released:
        del x
    back = reserved - torch.cuda.memory_reserved()
    done = released.complete and back >= 256 * MIB
    row("release", "goes back to the driver though another stream was using it", f"{back / MIB:.0f} MiB", done)


# --- watch


def check_watch():
    fresh()
    work = Work("transformer")
    batch = work.batch(2)
    cost = []
    watch = ullage.watch(on_growth=lambda growth: None)
    for _ in range(250):
        work.step(batch)
        begin = time.perf_counter()
        watch.step()
        cost.append(time.perf_counter() - begin)
    row("watch", "a healthy training of 250 steps: what is reported", str(len(watch.found)), not watch.found)
    row("watch", "time of one step() (median)", f"{statistics.median(cost) * 1e6:.0f} us", statistics.median(cost) < 1e-3)
    varying = ullage.watch(on_growth=lambda growth: None)
    for i in range(250):
        loss = work.step(batch[:1 + i % 2])
        varying.step()
    row("watch", "batches of different sizes: what is reported", str(len(varying.found)), not varying.found)
    torch.cuda.memory._record_memory_history(context="alloc", stacks="python", max_entries=100_000)
    history, losses = [], []
    watch = ullage.watch(on_growth=print)
    for i in range(400):
        loss = work.loss(batch[:1])
        history.append(loss)  # with its graph, and all that the graph keeps
        losses.append(loss.detach())
        work.optimizer.zero_grad()
        watch.step()
        if watch.found or torch.cuda.memory_allocated() > CAP_BYTES:
            break
    torch.cuda.memory._record_memory_history(enabled=None)
    found = watch.found[0] if watch.found else None
    row("watch", "results kept with their graphs: found at step", "never" if found is None else str(found.at_step), found is not None)
    holder = "" if found is None else found.holders[0]
    row("watch", "its holder", holder[:28], "history[" in holder)
    site = "" if found is None or not found.sites else found.sites[0].place.rpartition(os.sep)[2]
    row("watch", "its place", site[-28:], bool(site))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        small, watch = [], ullage.watch(min_growth_bytes=64 << 10)
        for _ in range(3000):
            small.append(torch.ones(1, device="cuda"))
            watch.step()
    row("watch", "512 bytes a step: found at step", str(watch.found[0].at_step) if watch.found else "never", bool(watch.found))
    row("watch", "warnings of it", str(len(caught)), len(caught) == 1)
    del loss, history, losses, small


# --- snapshot


def check_snapshot():
    fresh()
    with tempfile.TemporaryDirectory() as folder:
        torch.cuda.memory._record_memory_history(context="alloc", stacks="python", max_entries=1000)
        x = torch.ones(MIB, device="cuda")
        path = ullage.snapshot(os.path.join(folder, "now.pickle"))
        torch.cuda.memory._record_memory_history(enabled=None)
        with open(path, "rb") as f:
            events = pickle.load(f)["device_traces"][0]
        files = sorted(os.listdir(folder))
        row("snapshot", "events in the file; files", f"{len(events)}; {', '.join(files)}", len(events) > 0 and len(files) == 2)
        del x


CHECKS = {
    "measure": check_measure, "preflight": check_preflight, "release": check_release, "watch": check_watch, "snapshot": check_snapshot,
}


def main():
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name(0)}")
    began = time.perf_counter()
    for name in sys.argv[1:] or CHECKS:
        CHECKS[name]()
    print(f"{sum(ok is False for ok in ROWS)} of {len(ROWS)} rows not as promised; {time.perf_counter() - began:.0f} s")
    sys.exit(any(ok is False for ok in ROWS))


if __name__ == "__main__":
    main()
