"""The largest batch for a training step, in a few trials, with the model, optimizer and random numbers as they were before.

usage: find.py [GIB]

GIB is how much of the GPU to use; 8 by default. Without a GPU there is no memory to measure: then one step runs.
"""
from __future__ import annotations

import sys

import torch
from torch.nn import functional as F

import ullage

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
WIDTH = 2048 if GPU else 32


def main(limit_gib: float) -> None:
    model = torch.nn.Sequential(*[layer for _ in range(6) for layer in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU())]).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())

    def step(size: int) -> None:
        optimizer.zero_grad(set_to_none=True)
        x = torch.randn(size, WIDTH, device=DEVICE)  # a real step would take the longest samples that there are
        F.mse_loss(model(x), x).backward()
        optimizer.step()

    if not GPU:
        step(4)
        print("Without a GPU there is nothing to measure; the step itself runs.")
        return
    found = ullage.find_batch_size(step, state=[model, optimizer], multiple_of=8, limit=int(limit_gib * 2**30))
    print(found)
    for trial in found.trials:
        fits = "fits" if trial.fits else "does not fit"
        print(f"  {trial.size:>9,}  {fits:12}  peak {trial.peak_allocated_bytes / 2**30:6.2f} GiB allocated  {trial.seconds:5.2f} s")
    print(f"The optimizer has {len(optimizer.state)} states, as before the search.")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 8)
