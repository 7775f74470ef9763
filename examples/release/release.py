"""One model after another in one process: letting go of the first for certain before the second comes.

usage: python release.py

It is the same on a CPU, where the memory is the machine's own.
"""
from __future__ import annotations

import torch

import ullage

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WIDTH = 4096 if DEVICE == "cuda" else 256


class Probe:
    """Looks at a layer from outside, as monitors and exporters do, and so keeps it alive."""

    def __init__(self, layer: torch.nn.Linear) -> None:
        self.weight = layer.weight.detach()


def main() -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(4))).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(8, WIDTH, device=DEVICE)).sum().backward()
    optimizer.step()
    probe = Probe(model[2])

    released = ullage.release(model, optimizer)
    print(released)
    if not released.complete:
        probe.weight = None
        print("and without the probe:", "all of it is free" if released.check().complete else released)

    logits = torch.ones(WIDTH, WIDTH, device=DEVICE)
    with ullage.release(logits) as released:  # a tensor goes with the last name of it, which only its owner can delete
        del logits
    print(f"logits: freed {released.freed_bytes >> 10} KiB")


if __name__ == "__main__":
    main()
