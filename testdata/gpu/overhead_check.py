"""What recording costs a step, resolved on a machine whose speed changes from one second to the next.

usage: ullage run --out FOLDER -- python3 overhead_check.py [ROUNDS]

Processes of their own cannot show it: medians of the same steps were up to 40 % apart from process to process (run_check.txt).
So both are measured in one process, in blocks of steps that take turns (on, off, off, on), with recording switched on as
`ullage run` does it. A pair of neighbouring blocks gives one ratio of medians; the figure is the median of the ratios, and the
interval what 95 % of 2,000 resamplings of the pairs give. That results stay equal to the last bit is for
run_check.py to show. The companion's thread runs all the time; what it does is timed by itself.
"""
import json
import os
import random
import statistics
import sys
import time

import torch
from run_check import decoding, resnet, transformer

WARM_UP, BLOCK = 12, 10

# Training as such a card is used, where the processor runs ahead of the GPU; then steps that are so short that the GPU waits
# for the processor, which has nothing to hide the cost of recording behind.
WORKLOADS = {
    "resnet50, batch 256": lambda: resnet(256),
    "transformer, batch 64": lambda: transformer(64),
    "resnet50, batch 64": resnet,
    "transformer, batch 16": transformer,
    "decoding, batch 1": decoding,
}
VARIANTS = {  # what recording could leave out, on the two kinds of steps
    "no stacks": {"context": None},
    "no free_requested": {"context": "alloc", "skip_actions": ["free_requested"]},
    "stacks of frees": {"context": "all"},
}


def switch(on, variant=None):
    from ullage._torch import api

    if not on:
        torch.cuda.memory._record_memory_history(enabled=None)
    elif variant is None:
        api.record(torch, 200_000)
    else:
        torch.cuda.memory._record_memory_history(stacks="python", max_entries=200_000, **variant)


def block(step):
    times = []
    for _ in range(BLOCK):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def interval(ratios):
    rng = random.Random(0)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(2000))
    return medians[50], medians[-51]


def overhead(name, make, rounds, variant=None):
    torch.manual_seed(0)
    step = make()
    for _ in range(WARM_UP):
        step()
    ratios, off_all, on_all = [], [], []
    for i in range(rounds):
        first = i % 2 == 0
        both = {}
        for on in (first, not first):
            switch(on, variant)
            step()  # the first step after a switch is not counted
            both[on] = block(step)
        ratios.append(both[True] / both[False])
        off_all.append(both[False])
        on_all.append(both[True])
    switch(True)
    low, high = interval(ratios)
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    step()
    made = torch.cuda.memory_stats()["allocation.all.allocated"] - before
    return {"workload": name, "overhead": statistics.median(ratios) - 1, "low": low - 1, "high": high - 1, "pairs": rounds, "steps": 2 * rounds * BLOCK,
            "off_ms": statistics.median(off_all) * 1e3, "on_ms": statistics.median(on_all) * 1e3, "allocations_a_step": made}


def ticks():
    """Seconds of one look of the companion's thread, the larger kind, which is due every 10 s."""
    from ullage._torch import api

    begin = time.perf_counter()
    for _ in range(100):
        api.used_devices(torch)
    return (time.perf_counter() - begin) / 100


def show(row):
    print(f"{row['workload']:42s} {row['off_ms']:8.3f} ms without, {row['on_ms']:8.3f} ms with: {row['overhead']:+.2%} (95 %: {row['low']:+.2%} to {row['high']:+.2%}; "
          f"{row['pairs']} pairs, {row['steps']} steps), {(row['on_ms'] - row['off_ms']) * 1e3 / row['allocations_a_step']:.2f} us an allocation, {row['allocations_a_step']} a step", flush=True)
    print("json " + json.dumps(row), flush=True)
    torch.cuda.empty_cache()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    if not os.environ.get("ULLAGE_RUN"):
        sys.exit("overhead_check: start it with ullage run")
    torch.backends.cudnn.deterministic = True
    for name, make in WORKLOADS.items():
        show(overhead(name, make, rounds))
    for what, variant in VARIANTS.items():
        for name in ("resnet50, batch 64", "decoding, batch 1"):
            show(overhead(f"{name}: {what}", WORKLOADS[name], rounds // 2, variant))
    print(f"a look of the thread: {ticks() * 1e6:.0f} us")


if __name__ == "__main__":
    main()
