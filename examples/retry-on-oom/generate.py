"""Answers prompts as many at a time as memory allows: where it runs out, the same prompts again, in smaller groups.

usage: generate.py

On a GPU the process limits itself to 1 GiB, so that it does run out. Without a GPU an error of PyTorch's own kind, raised above 8
prompts, stands in for it.
"""
from __future__ import annotations

import contextlib

import torch

import ullage

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
WIDTH = 8192 if GPU else 16
OutOfMemoryError = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)


def answer(model: torch.nn.Module, prompts: torch.Tensor) -> torch.Tensor:
    if not GPU and len(prompts) > 8:
        raise OutOfMemoryError("CUDA out of memory. (This stands in for a GPU's.)")
    return model(prompts.to(DEVICE)).softmax(-1).argmax(-1).cpu()


def main() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU(), torch.nn.Linear(WIDTH, WIDTH)).to(DEVICE).eval()
    prompts = torch.randn(16384 if GPU else 32, WIDTH)
    sizes = ullage.retry_on_oom(size=len(prompts))  # one object for the whole program: it remembers what worked

    with torch.inference_mode(), ullage.limit(1 << 30) if GPU else contextlib.nullcontext():
        for number in range(3):
            for attempt in sizes:
                with attempt:
                    answers = torch.cat([answer(model, part) for part in prompts.split(attempt.size)])
            print(f"request {number}: {len(answers)} answers, {attempt.size} at a time, in attempt {attempt.number}")
    print(f"sizes that are remembered: {sizes.sizes}; failures that did no harm: {sizes.survived}")
    if not GPU:
        print("Without a GPU, the errors were made by the example itself.")


if __name__ == "__main__":
    main()
