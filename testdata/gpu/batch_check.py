"""Holds find_batch_size against the true maximum on a GPU, and beside it the finders of accelerate and Lightning.

usage: batch_check.py [WORKLOAD ...]

Workloads: resnet50 (channels_last, bfloat16 autocast), transformer (AdamW), mlp. Each may reserve 20 GiB, so that it is quick. The
true maximum is found by trying sizes in fresh processes, five at a time, so it needs 110 GiB of one GPU; without them, the search for
it takes longer (--one-by-one). Prints a table, then one JSON object a workload. Needs torch 2.8 or newer; accelerate and Lightning
where they are installed.

Every measurement runs in a process of its own, forked from one that has imported torch and has not used CUDA.
"""
from __future__ import annotations

import json
import math
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # is_available() must not use CUDA before the fork
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "src"))
import ullage  # noqa: E402  (of this tree)

LIMIT_BYTES = 20 << 30
STEPS = 3  # that every finder makes in a trial
AT_ONCE = 5
DEADLINE_S = 120  # of one process
FORK = multiprocessing.get_context("fork")


# --- the workloads: each has a model, an optimizer, and loss(size)


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        def conv(a, b, kernel, step=1):
            return nn.Sequential(nn.Conv2d(a, b, kernel, step, kernel // 2, bias=False), nn.BatchNorm2d(b))
        self.body = nn.Sequential(conv(inputs, width, 1), nn.ReLU(True), conv(width, width, 3, stride), nn.ReLU(True), conv(width, 4 * width, 1))
        self.skip = conv(inputs, 4 * width, 1, stride) if stride != 1 or inputs != 4 * width else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x), inplace=True)


class ResNet50:
    def __init__(self, device):
        layers, inputs = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)], 64
        for width, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
            for i in range(count):
                layers.append(Bottleneck(inputs, width, 2 if i == 0 and width != 64 else 1))
                inputs = 4 * width
        self.device = device
        self.model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)).to(device, memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)

    def loss(self, size):
        x = torch.randn(size, 3, 224, 224, device=self.device).to(memory_format=torch.channels_last)
        with torch.autocast(self.device, torch.bfloat16):
            return F.cross_entropy(self.model(x), torch.zeros(size, dtype=torch.long, device=self.device))


class Decoder(nn.Module):
    WIDTH, LAYERS, HEADS, TOKENS, LENGTH = 512, 8, 8, 16000, 256

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(self.TOKENS, self.WIDTH)
        layer = [nn.TransformerEncoderLayer(self.WIDTH, self.HEADS, 4 * self.WIDTH, 0.1, F.gelu, batch_first=True, norm_first=True) for _ in range(self.LAYERS)]
        self.layers, self.head = nn.ModuleList(layer), nn.Linear(self.WIDTH, self.TOKENS, bias=False)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=tokens.device)
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.head(x)


class Transformer:
    def __init__(self, device):
        self.device, self.model = device, Decoder().to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)

    def loss(self, size):
        tokens = torch.randint(Decoder.TOKENS, (size, Decoder.LENGTH + 1), device=self.device)
        with torch.autocast(self.device, torch.bfloat16):
            return F.cross_entropy(self.model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


class MLP:
    def __init__(self, device):
        self.device = device
        self.model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 4096), nn.GELU(), nn.Linear(4096, 10)).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def loss(self, size):
        return F.cross_entropy(self.model(torch.randn(size, 1024, device=self.device)), torch.zeros(size, dtype=torch.long, device=self.device))


WORKLOADS = {"resnet50": ResNet50, "transformer": Transformer, "mlp": MLP}


def start(name, limited=True):
    """A workload on the GPU, and its step."""
    if limited:
        torch.cuda.set_per_process_memory_fraction(LIMIT_BYTES / torch.cuda.get_device_properties(0).total_memory)
    torch.manual_seed(0)
    work = WORKLOADS[name]("cuda")

    def step(size):
        work.optimizer.zero_grad(set_to_none=True)
        work.loss(size).backward()
        work.optimizer.step()

    return work, step


# --- what runs in a process of its own; each returns a dict


def fits(name, size):
    _, step = start(name)
    try:
        for _ in range(STEPS + 1):
            step(size)
        torch.cuda.synchronize()
        return {"fits": True}
    except torch.OutOfMemoryError:
        return {"fits": False}


def by_ullage(name):
    work, step = start(name)
    before = [t.cpu() for t in (*work.model.parameters(), *work.model.buffers())]
    torch.manual_seed(3)
    began, rng = time.perf_counter(), torch.cuda.get_rng_state()
    found = ullage.find_batch_size(step, state=[work.model, work.optimizer], steps=STEPS)
    seconds = time.perf_counter() - began
    restored = all(torch.equal(a, b.cpu()) for a, b in zip(before, (*work.model.parameters(), *work.model.buffers())))
    restored = restored and torch.equal(rng, torch.cuda.get_rng_state()) and not work.optimizer.state
    for _ in range(STEPS):
        step(found.size)
    torch.cuda.synchronize()
    return {"size": found.size, "trials": len(found.trials), "seconds": seconds, "restored": restored, "reason": found.reason,
            "each": [{"size": t.size, "fits": t.fits, "peak_allocated_bytes": t.peak_allocated_bytes, "peak_reserved_bytes": t.peak_reserved_bytes,
                      "phases_bytes": t.phases_bytes, "asked_bytes": t.asked_bytes, "limit_bytes": t.limit_bytes, "flushes": t.flushes,
                      "seconds": round(t.seconds, 3)} for t in found.trials]}


def by_accelerate(name, first):
    """Goes down from first by a tenth: which size to begin with is the caller's guess. Restores nothing."""
    try:
        from accelerate.utils import find_executable_batch_size
    except ImportError:
        return {"missing": "not installed"}
    _, step = start(name)
    tried = []

    @find_executable_batch_size(starting_batch_size=first)
    def train(batch_size):
        tried.append(batch_size)
        for _ in range(STEPS):
            step(batch_size)
        torch.cuda.synchronize()
        return batch_size

    began = time.perf_counter()
    size = train()
    return {"size": size, "trials": len(tried), "seconds": time.perf_counter() - began, "first": first}


def by_lightning(name):
    """Doubles, then halves the interval, and takes off its margin of 5 %."""
    try:
        import lightning.pytorch as pl
        from lightning.pytorch.tuner import Tuner, batch_size_scaling
    except ImportError:
        return {"missing": "not installed"}
    work, _ = start(name)

    class Indices(torch.utils.data.Dataset):
        def __len__(self):
            return 1 << 22

        def __getitems__(self, indices):
            return indices

        def __getitem__(self, index):
            return index

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.inner, self.batch_size = work.model, 2

        def training_step(self, batch, number):
            return work.loss(len(batch))

        def configure_optimizers(self):
            return work.optimizer

        def train_dataloader(self):
            return torch.utils.data.DataLoader(Indices(), batch_size=self.batch_size)

    tried, loop = [], batch_size_scaling._try_loop_run
    module = Module()

    def counted(*args):
        tried.append(module.batch_size)
        return loop(*args)

    batch_size_scaling._try_loop_run = counted
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(accelerator="gpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                             enable_model_summary=False, max_epochs=1, default_root_dir=folder)
        began = time.perf_counter()
        size = Tuner(trainer).scale_batch_size(module, mode="binsearch", steps_per_trial=STEPS, max_val=1 << 20)
        return {"size": size, "trials": len(tried), "seconds": time.perf_counter() - began}


# --- the processes


def child(pipe, function, args):
    try:
        pipe.send(function(*args))
    except BaseException:
        pipe.send({"error": traceback.format_exc()[-2000:]})
    pipe.close()
    sys.stdout.flush()
    os._exit(0)


def together(calls):
    """Runs functions at the same time, each in a process of its own, and returns what they return."""
    started = []
    for function, *args in calls:
        mine, theirs = FORK.Pipe(False)
        process = FORK.Process(target=child, args=(theirs, function, args))
        process.start()
        theirs.close()
        started.append((process, mine))
    results = []
    for process, pipe in started:
        try:
            results.append(pipe.recv() if pipe.poll(DEADLINE_S) else {"error": f"no answer within {DEADLINE_S} s"})
        except EOFError:
            results.append({"error": f"ended with {process.exitcode}"})
        process.kill()  # this one, which we started
        process.join()
    return results


def true_maximum(name, near, at_once):
    """The largest size that runs, to 0.2 %, and how many were tried. near is where to begin."""
    low, high, tried = 0, None, 0
    sizes = sorted({max(1, round(near * (0.98 + 0.03 * i))) for i in range(at_once)})
    while True:
        for size, result in zip(sizes, together([(fits, name, size) for size in sizes])):
            if "error" in result:
                raise RuntimeError(f"{name} at {size}: {result['error']}")
            tried += 1
            if result["fits"]:
                low = max(low, size)
            elif high is None or size < high:
                high = size
        if high is not None and high - low <= max(1, 0.002 * low):
            return low, tried
        bottom, top = (low, high) if high is not None else (low, round(low * 1.2) + at_once)
        sizes = sorted({bottom + max(1, (top - bottom) * (i + 1) // (at_once + 1)) for i in range(at_once)} - {bottom, high})


def check(name, at_once):
    ours, = together([(by_ullage, name)])
    if "error" in ours:
        return {"workload": name, "ullage": ours}
    most, tried = true_maximum(name, ours["size"], at_once)
    first = 2 ** math.ceil(math.log2(2 * most))
    accelerate, = together([(by_accelerate, name, first)])
    lightning, = together([(by_lightning, name)])
    return {"workload": name, "limit_bytes": LIMIT_BYTES, "true_maximum": most, "sizes_tried_for_it": tried, "ullage": ours,
            "accelerate": accelerate, "lightning": lightning, "composer": {"missing": "not installed"}}


def row(name, finder, result, most):
    if "missing" in result or "error" in result:
        return f"{name:12} {finder:11} {result.get('missing') or result['error'].strip().splitlines()[-1]}"
    return (f"{name:12} {finder:11} {result['size']:>9,} {100 * result['size'] / most:>7.1f} % {result['trials']:>7} {result['seconds']:>8.1f} s"
            + ("" if result.get("restored", True) else "  NOT RESTORED"))


def main(arguments):
    at_once = 1 if "--one-by-one" in arguments else AT_ONCE
    names = [a for a in arguments if not a.startswith("-")] or list(WORKLOADS)
    began, results = time.perf_counter(), []
    print(f"{'workload':12} {'finder':11} {'size':>9} {'of true':>9} {'trials':>7} {'time':>10}")
    for name in names:
        result = check(name, at_once)
        results.append(result)
        most = result.get("true_maximum", 1)
        if "true_maximum" in result:
            print(f"{name:12} {'(true)':11} {most:>9,}")
        for finder in ("ullage", "accelerate", "lightning", "composer"):
            if finder in result:
                print(row(name, finder, result[finder], most), flush=True)
    print(f"{time.perf_counter() - began:.0f} s in all")
    for result in results:
        print(json.dumps(result))
    close = all(0.97 * r.get("true_maximum", 0) - 1 <= r["ullage"].get("size", 0) <= r.get("true_maximum", 0) * 1.002 + 1
                and r["ullage"].get("trials", 9) <= 6 and r["ullage"].get("restored") for r in results)
    return 0 if close else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
