"""Shows on a real GPU that what holds leaked memory is named, and prints a table. Takes a few minutes on one H200.

usage: holders_check.py [ULLAGE [OUT]]      ULLAGE is the program, OUT a folder for what `ullage run` writes (default: a temporary one)

Without ULLAGE only the census itself is checked, in this process; with it, each leak is also run until memory is full, under
`ullage run`, and what `ullage explain --json` says of the recording is looked at. Without a GPU the first part runs on the CPU.
Ends with 1 if a leak is not attributed as planted.
"""
import collections
import functools
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "python", "src"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

from ullage._holders import census  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SIDE = 64 if DEVICE == "cuda" else 16
WARM, STEPS = 3, 8
LIMIT = "6GiB"  # of the runs that are to fail
ENOUGH = 0.95  # of the leaked bytes have to be attributed to what was planted


# --- leaks, each of a kind that users report: a function that makes a step, and what its holder has to read


def network():
    return nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).to(DEVICE)


def images():
    return torch.randn(16, 3, SIDE, SIDE, device=DEVICE)


def learn(net, optimizer, keep_graph=False):
    loss = net(images()).square().mean()
    loss.backward(retain_graph=keep_graph)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss


class Coach:
    def __init__(self):
        self.net, self.history = network(), []
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def round(self):
        self.history.append(learn(self.net, self.optimizer, keep_graph=True))


def history():
    coach = Coach()
    return lambda: coach.round()


def running_total():
    net, sums = network(), {"loss": 0.0}
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def step():
        sums["loss"] = sums["loss"] + learn(net, optimizer, keep_graph=True)

    return step


def outputs_with_graphs():
    net, outputs = network(), []
    return lambda: outputs.append(net(images()))


def hook_in_a_closure():
    net, store = network(), []
    net[2].register_forward_hook(lambda module, args, out: store.append(out.detach()))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    return lambda: learn(net, optimizer) and None


class Twin:
    """Two of these refer to each other."""


def cycles():
    gc.disable()
    net = network()

    def step():
        left, right = Twin(), Twin()
        left.other, right.other = right, left
        with torch.no_grad():
            left.map = net[0](images())

    return step


def stored_errors():
    errors = []

    def fails():
        activation = images() * 2
        raise ValueError(activation.shape)

    def step():
        try:
            fails()
        except ValueError as e:
            errors.append(e)

    return step


def cached_results():
    @functools.lru_cache(maxsize=None)
    def positions(n):
        return torch.full((1 << 20,), n, device=DEVICE)

    numbers = iter(range(1 << 30))
    return lambda: positions(next(numbers)) is None


def context_attributes():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.scaled = x.detach() * 3
            return ctx.scaled.sum()

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.scaled

    kept = collections.deque()
    return lambda: kept.append(Scale.apply(images().requires_grad_()))


LEAKS = {  # name: what makes a step, and what the text of its holder has to match
    "history": (history, r"graph of coach\.history\[…\] × \d+ .*saved by"),
    "running_total": (running_total, r"graph of sums\['loss'\] .*saved by"),
    "outputs_with_graphs": (outputs_with_graphs, r"graph of outputs\[…\] × \d+ .*saved by|^outputs\[…\]"),
    "hook_in_a_closure": (hook_in_a_closure, r"store\[…\] × \d+ \(closure cell 'store' of <lambda> at .*, hook on net\[2\]"),
    "cycles": (cycles, r"Twin\.map.* \(garbage, in a cycle of 2 Twin\)"),
    "stored_errors": (stored_errors, r"local 'activation' of .*fails\(\).*kept by errors\[…\]"),
    "cached_results": (cached_results, r"lru_cache of positions"),
    "context_attributes": (context_attributes, r"ctx\.scaled .*ScaleBackward in graph of kept\[…\]|graph of kept\[…\]"),
}


# --- the census in this process


def blocks():
    """The blocks in use, by address, with their bytes."""
    if DEVICE == "cuda":
        segments = torch.cuda.memory_snapshot()
        return {b["address"]: b["size"] for s in segments for b in s["blocks"] if b["state"] == "active_allocated"}
    return {int(a, 16): 0 for row in take()["list"] for a in row["addresses"]}


def take():
    return census.take(torch, wanted=lambda memory: memory.device.startswith(DEVICE) and memory.size_bytes >= 512)


def text_of(row):
    text = row["path"] + (f" × {row['places']}" if row["places"] > 1 else "")
    about = [row["where"]] if row["where"] else []
    about += ["saved by " + ", ".join(row["saved_by"])] if row["saved_by"] else []
    return text + (f" ({'; '.join(about)})" if about else "")


def check(name):
    """One leak: (share of the leaked bytes that its planted holder has, the text of that holder, seconds, what is wrong)."""
    make, want = LEAKS[name]
    step = make()
    for _ in range(WARM):
        step()
    before = blocks()
    for _ in range(STEPS):
        step()
    if DEVICE == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    taken = take()
    wrong = [] if taken.get("complete") else [f"not complete: {taken.get('problem')}"]
    if DEVICE == "cuda" and (torch.cuda.max_memory_allocated(), torch.cuda.memory_reserved()) != (allocated, reserved):
        wrong.append("the census allocated memory on the GPU")
    if gc.isenabled() == (name == "cycles"):
        wrong.append("the collector is not as it was")
    share, found = attributed(taken, {a: size for a, size in blocks().items() if a not in before}, want)
    gc.enable()
    del step
    gc.collect()
    return share, found, taken.get("seconds", 0.0), wrong


def attributed(taken, leaked, want):
    """The share of leaked blocks that holders have whose text is as wanted, and the text of the largest of these."""
    count = sum(leaked.values()) or len(leaked)
    named, texts = 0, []
    for row in taken["list"]:
        if re.search(want, text_of(row)):
            here = [int(a, 16) for a in row["addresses"] if int(a, 16) in leaked]
            named += sum(leaked[a] or 1 for a in here)
            texts.append(text_of(row))
    return named / max(count, 1), texts[0] if texts else "; ".join(text_of(row) for row in taken["list"][:3])


def check_all():
    if DEVICE == "cuda":
        torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python", context="alloc")
    good = True
    print(f"torch {torch.__version__} on {torch.cuda.get_device_name() if DEVICE == 'cuda' else 'the CPU'}: the census in the process")
    for name in LEAKS:
        share, found, seconds, wrong = check(name)
        good &= share >= ENOUGH and not wrong
        print(f"  {'ok' if share >= ENOUGH and not wrong else 'WRONG':5} {name:20} {share:7.1%} of what it leaks is held by {found}"
              f" ({seconds:.2f} s){''.join('; ' + w for w in wrong)}")
    return good


# --- under `ullage run`, until memory is full


def until_full(name):
    step = LEAKS[name][0]()
    while True:
        step()


def explained(ullage, folder, name):
    """What explain says of the recording of a run that a leak has ended: (seconds of the census, its row, kept_by, the leak's finding)."""
    out = os.path.join(folder, name)
    command = [ullage, "run", "--limit", LIMIT, "--out", out, "--", sys.executable, __file__, "--until-full", name]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    recording = next(os.path.join(out, f) for f in sorted(os.listdir(out)) if f.endswith(".pickle"))
    with open(recording[:-len(".pickle")] + ".json", encoding="utf-8") as f:
        seconds = json.load(f)["holders"].get("seconds")
    told = json.loads(subprocess.run([ullage, "explain", "--json", recording], check=False, capture_output=True).stdout)["devices"][0]
    finding = next((f for f in told["findings"] if f["rule"] == "leak/growing-site"), {"evidence": []})
    return seconds, told["kept_by"], next((e for e in finding["evidence"] if "were held by" in e), "no leak finding names a holder")


def run_all(ullage, folder):
    good = True
    print(f"each until {LIMIT} are full, under ullage run")
    for name, (_, want) in LEAKS.items():
        begun = time.monotonic()
        seconds, kept, evidence = explained(ullage, folder, name)
        named = [k for k in kept["keepers"] if re.search(want, text_of({"where": "", "saved_by": [], **k}))]
        share = sum(k["bytes"] for k in named) / kept["allocated_bytes"]
        right = bool(named) and share > 0.5
        good &= right
        by = named[0]["path"] if named else [k["path"] for k in kept["keepers"][:3]]
        print(f"  {'ok' if right else 'WRONG':5} {name:20} {share:7.1%} of {kept['allocated_bytes'] >> 20} MiB is kept by {by}"
              f" (census {seconds} s, in all {time.monotonic() - begun:.0f} s)")
        print(f"        {evidence}")
    return good


def main():
    if sys.argv[1:2] == ["--until-full"]:
        until_full(sys.argv[2])
    good = check_all()
    if len(sys.argv) > 1:
        good &= run_all(os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
