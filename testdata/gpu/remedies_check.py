"""Holds the remedies of `ullage fit --remedies` against a GPU, and measures what is commonly said of them.

usage: remedies_check.py measure                    on a GPU: the peaks of every case; JSON lines
       remedies_check.py times [MODEL ...]          on a GPU: how long a step takes, with and without remedies; JSON lines
       remedies_check.py compare FILE [MODEL ...]   without one: the same through `ullage fit`, against such lines; a table
       remedies_check.py job --model NAME [--remedy REMEDY] ...

A job trains a model for three steps, with a remedy written by hand as its user would: predictions are made from the job without the
remedy, by the tracer. The job's own peaks come from torch.cuda.memory_stats(). Each case runs in a process of its own, several at
once; times are taken of one job after the other, in one process, with a batch that lies on the GPU. Needs torch, torchvision and
transformers, nothing is downloaded; 110 GiB of one GPU. On an H200 with 16 cores, measure takes 100 seconds and times 200.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

GIB = 1 << 30
AT_ONCE = 10  # jobs that share the GPU; the largest ten take 110 GiB
BASES = {
    "resnet50": "--batch 64 --image 224 --optimizer adamw",
    "resnet152": "--batch 32 --image 224 --optimizer momentum",
    "vit_b_16": "--batch 64 --image 224 --optimizer adamw",
    "bert-large": "--batch 16 --tokens 512 --optimizer adamw",
    "gpt2": "--batch 16 --tokens 512 --optimizer adamw",
    "llama": "--batch 4 --tokens 1024 --optimizer adamw",
}
# What is measured of each: a remedy's name is that of `ullage fit --remedies`.
CASES = {
    "resnet50": "checkpoint autocast bf16 foreach fused sgd accumulate half:image freeze",
    "resnet152": "checkpoint autocast",
    "vit_b_16": "checkpoint autocast bf16 accumulate lora",
    "bert-large": "checkpoint autocast bf16 fused sgd adafactor accumulate half:tokens lora",
    "gpt2": "checkpoint autocast bf16 foreach adafactor half:tokens",
    "llama": "checkpoint autocast bf16 fused adafactor lora",
}
# What times are taken of, with batches that keep the GPU busy.
TIMED = {"resnet152": 128, "resnet50": 256, "bert-large": 16, "gpt2": 16, "vit_b_16": 128}
TIMED_REMEDIES = ["", "checkpoint", "autocast", "bf16", "fused", "foreach", "accumulate"]


# --- the job


def build_model(name):
    """A model from its configuration, with random weights."""
    if name.startswith(("resnet", "vit")):
        import torchvision

        return getattr(torchvision.models, name)()
    import transformers as t

    if name == "bert-large":
        return t.BertForMaskedLM(t.BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096))
    if name == "gpt2":
        return t.GPT2LMHeadModel(t.GPT2Config())
    if name == "llama":
        heads = {"num_attention_heads": 16, "num_key_value_heads": 8}
        return t.LlamaForCausalLM(t.LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=16, vocab_size=32000, **heads))
    raise SystemExit(f"unknown model {name!r}")


def blocks_of(model, name):
    """The lists of a vision model's repeated blocks."""
    return [model.encoder.layers] if name.startswith("vit") else [model.layer1, model.layer2, model.layer3, model.layer4]


def checkpoint_blocks(model, name):
    """Recomputes each block in the backward pass."""
    import torch
    from torch.utils.checkpoint import checkpoint

    if hasattr(model, "gradient_checkpointing_enable"):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        return

    class Checkpointed(torch.nn.Module):
        def __init__(self, block):
            super().__init__()
            self.block = block

        def forward(self, x):
            return checkpoint(self.block, x, use_reentrant=False)

    for blocks in blocks_of(model, name):
        for i in range(len(blocks)):
            blocks[i] = Checkpointed(blocks[i])


def add_lora(model, rank=16):
    """Freezes the model and puts an adapter beside each linear layer."""
    import torch
    from torch import nn

    class Adapted(nn.Module):
        def __init__(self, base, inputs, outputs):
            super().__init__()
            self.base, self.scale = base, 2.0
            self.down, self.up = nn.Linear(inputs, rank, bias=False), nn.Linear(rank, outputs, bias=False)
            nn.init.zeros_(self.up.weight)
            if isinstance(base, nn.Linear):  # what looks at a layer's weight, as attention in torch.nn does, finds the layer's own
                self.weight, self.bias = base.weight, base.bias

        def forward(self, x):
            return self.base(x) + self.up(self.down(x)) * self.scale

    for p in model.parameters():
        p.requires_grad_(False)
    attention = torch.nn.MultiheadAttention
    inside = {id(m) for a in model.modules() if isinstance(a, attention) for m in a.modules()}
    for parent in list(model.modules()):
        for key, child in list(parent.named_children()):
            if id(child) in inside:
                continue
            if isinstance(child, nn.Linear):
                setattr(parent, key, Adapted(child, child.in_features, child.out_features))
            elif type(child).__name__ == "Conv1D":  # GPT-2's linear layer
                setattr(parent, key, Adapted(child, *child.weight.shape))


def build_optimizer(a, params):
    """The optimizer of a job, with the remedy's options."""
    import torch

    options = {"foreach": {"foreach": False}, "fused": {"fused": True}}.get(a.remedy, {})
    params = [p for p in params if p.requires_grad]
    if a.remedy == "sgd":
        return torch.optim.SGD(params, 1e-4)
    if a.remedy == "adafactor":
        return torch.optim.Adafactor(params, 1e-4)
    if a.optimizer == "momentum":
        return torch.optim.SGD(params, 1e-4, momentum=0.9, **options)
    return torch.optim.AdamW(params, 1e-4, **options)


class Job:
    """A model in training."""

    def __init__(self, a):
        import torch

        torch.manual_seed(0)
        self.a = a
        self.vision = a.model.startswith(("resnet", "vit"))
        model = build_model(a.model)
        if a.remedy == "checkpoint":
            checkpoint_blocks(model, a.model)
        if a.remedy == "freeze":
            for p in model.parameters():
                p.requires_grad_(False)
            model.fc.requires_grad_(True)
        if a.remedy == "lora":
            add_lora(model)
        self.dtype = torch.bfloat16 if a.remedy == "bf16" else None
        self.model = model.to("cuda", dtype=self.dtype).train()
        self.optimizer = build_optimizer(a, list(self.model.parameters()))
        if a.remedy.startswith("half:"):
            name = a.remedy[5:]
            setattr(a, name, getattr(a, name) // 2)
        self.parts = 2 if a.remedy == "accumulate" else 1
        self.kept = None  # a batch that is used again

    def inputs(self):
        import torch

        a, batch = self.a, self.a.batch // self.parts
        if self.vision:
            return torch.randn(batch, 3, a.image, a.image).to("cuda", dtype=self.dtype), torch.randint(0, 1000, (batch,)).to("cuda")
        return (torch.randint(0, 30000, (batch, a.tokens)).to("cuda"),)

    def loss(self):
        from torch.nn import functional

        if self.vision:
            x, y = self.kept or self.inputs()
            return functional.cross_entropy(self.model(x), y)
        (ids,) = self.kept or self.inputs()
        return self.model(input_ids=ids, labels=ids).loss

    def step(self):
        import torch

        self.optimizer.zero_grad()
        for _ in range(self.parts):
            with torch.autocast("cuda", dtype=torch.bfloat16) if self.a.remedy == "autocast" else contextlib.nullcontext():
                loss = self.loss()
            loss.backward()
        self.optimizer.step()


def job_options(words):
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True)
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--optimizer", choices=["adamw", "momentum"], default="adamw")
    p.add_argument("--image", type=int, default=224)
    p.add_argument("--tokens", type=int, default=512)
    p.add_argument("--steps", type=int, default=3)
    p.add_argument("--remedy", default="")
    return p.parse_args(words)


def words_of(model, remedy=""):
    words = ["--model", model, *BASES[model].split()]
    return words + (["--remedy", remedy] if remedy else [])


def run_job(words):
    """Trains and prints the peaks."""
    import torch

    job = Job(job_options(words))
    for _ in range(job.a.steps):
        job.step()
    torch.cuda.synchronize()
    s = torch.cuda.memory_stats()
    if s:
        print(json.dumps({
            "model": job.a.model, "remedy": job.a.remedy, "batch": job.a.batch,
            "torch": torch.__version__, "gpu": torch.cuda.get_device_name(0),
            "peak_allocated_bytes": s["allocated_bytes.all.peak"], "peak_reserved_bytes": s["reserved_bytes.all.peak"],
        }), flush=True)


# --- measuring


def measure():
    started = time.monotonic()
    cases = [(m, r) for m in BASES for r in ["", *CASES[m].split()]]
    cases.sort(key=lambda c: (c[0] not in ("bert-large", "llama"), c))  # those that take longest come first
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for lines in pool.map(in_process, cases):
            print(lines, flush=True)
    print(json.dumps({"seconds": round(time.monotonic() - started, 1)}), flush=True)


def in_process(case):
    """A job's line, or what it failed with."""
    environ = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, __file__, "job", *words_of(*case)], capture_output=True, text=True, env=environ)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return json.dumps({"model": case[0], "remedy": case[1], "error": done.stderr[-600:]})
    return lines[-1]


def times(models):
    started = time.monotonic()
    for model in models or TIMED:
        for remedy in TIMED_REMEDIES:
            print(json.dumps(timed(model, remedy)), flush=True)
    print(json.dumps({"seconds": round(time.monotonic() - started, 1)}), flush=True)


def timed(model, remedy):
    """Milliseconds of a step: the median of eight, after four; and the peaks with this batch."""
    import gc
    import statistics

    import torch

    try:
        torch.cuda.reset_peak_memory_stats()
        job = Job(job_options([*words_of(model, remedy), "--batch", str(TIMED[model])]))
        job.kept = job.inputs()
        times = []
        for _ in range(12):
            torch.cuda.synchronize()
            start = time.perf_counter()
            job.step()
            torch.cuda.synchronize()
            times.append(1000 * (time.perf_counter() - start))
        row = {"model": model, "remedy": remedy, "batch": TIMED[model], "step_ms": round(statistics.median(times[4:]), 1)}
        row["timed_peak_reserved_bytes"] = torch.cuda.max_memory_reserved()
    except Exception as e:
        row = {"model": model, "remedy": remedy, "error": str(e)[:300]}
    job = None
    gc.collect()
    torch.cuda.empty_cache()
    return row


# --- comparing


def compare(path, models):
    """Predicts every base with its remedies and prints both savings, in per cent of the reserved peak without the remedy."""
    measured = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            row = json.loads(line) if line.startswith("{") else {}
            if "peak_reserved_bytes" in row:
                measured[row["model"], row["remedy"]] = row
    print("| model | remedy | measured, GiB | predicted, GiB | saved, measured | saved, predicted | off by, points |")
    print("|---|---|--:|--:|--:|--:|--:|")
    off = []
    for model in models or BASES:
        if (model, "") in measured:
            off += compare_model(model, measured)
    print(f"\n{len(off)} pairs: {sum(abs(x) <= 3 for x in off)} within 3 points, the worst {max(map(abs, off)):.2f}")


def compare_model(model, measured):
    base = measured[model, ""]["peak_reserved_bytes"]
    job = [sys.executable, os.path.relpath(__file__), "job", *words_of(model), "--steps", "9"]  # stopped after three of the optimizer's
    fit = [os.environ.get("ULLAGE_BINARY", "ullage"), "fit", "--json", "--remedies", CASES[model].replace(" ", ",")]
    done = subprocess.run([*fit, "--", *job], stdout=subprocess.PIPE, text=True, check=True)
    report = json.loads(done.stdout)
    expected, off = report["peak_reserved_bytes"], []
    print(f"| {model} | none | {base / GIB:.2f} | {expected / GIB:.2f} | | | |")
    for remedy in report["remedies"]:
        real = measured.get((model, remedy["name"]))
        if real is None or not remedy["applies"]:
            print(f"| {model} | {remedy['name']} | | not applied: {remedy['why_not']} | | | |")
            continue
        saved = 100 * (1 - real["peak_reserved_bytes"] / base)
        told = 100 * (1 - remedy["peak_reserved_bytes"] / expected)
        off.append(told - saved)
        peaks = f"{real['peak_reserved_bytes'] / GIB:.2f} | {remedy['peak_reserved_bytes'] / GIB:.2f}"
        print(f"| {model} | {remedy['name']} | {peaks} | {saved:.1f} % | {told:.1f} % | {told - saved:+.2f} |", flush=True)
    return off


if __name__ == "__main__":
    what, rest = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if what == "job":
        run_job(rest)
    elif what == "measure":
        measure()
    elif what == "times":
        times(rest)
    elif what == "compare" and rest:
        compare(rest[0], rest[1:])
    else:
        raise SystemExit(__doc__)
