"""Where a step's memory goes: the whole step, and its parts within it, with the lines that allocate what is live at the peak.

usage: python measure.py

Without a GPU the step runs all the same, and the result says that no memory of one was used.
"""
from __future__ import annotations

import torch
from torch.nn import functional as F

import ullage

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WIDTH, CLASSES, BATCH = (4096, 50_000, 1024) if DEVICE == "cuda" else (64, 100, 8)


def main() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU(), torch.nn.Linear(WIDTH, CLASSES)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    x, y = torch.randn(BATCH, WIDTH, device=DEVICE), torch.randint(CLASSES, (BATCH,), device=DEVICE)

    with ullage.measure("the first step") as step:
        with ullage.measure("forward", sites=False) as forward:
            loss = F.cross_entropy(model(x), y)
        with ullage.measure("backward", sites=False) as backward:
            loss.backward()
        with ullage.measure("optimizer", sites=False) as update:
            optimizer.step()
            optimizer.zero_grad()
    print(step)
    for part in (forward, backward, update):
        print(part)


if __name__ == "__main__":
    main()
