"""A training loop with a leak in it, and the watch that finds it: how fast memory grows, and what holds it.

usage: python watch.py

Needs a CUDA GPU for what it is about. Without one the loop runs, and says that nothing is watched.
"""
from __future__ import annotations

import torch

import ullage

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STEPS = 300


class Trainer:
    def __init__(self) -> None:
        self.model = torch.nn.Linear(512, 512).to(DEVICE)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.history: list[torch.Tensor] = []

    def step(self, batch: torch.Tensor) -> None:
        self.optimizer.zero_grad()
        outputs = self.model(batch)
        outputs.square().mean().backward()
        self.optimizer.step()
        self.history.append(outputs)  # meant for a plot of a few numbers; outputs.mean().item() would have been enough


def main() -> None:
    trainer, watch = Trainer(), ullage.watch(on_growth=print)
    for _ in range(STEPS):
        trainer.step(torch.randn(64, 512, device=DEVICE))
        watch.step()
        if watch.found:
            return
    print(f"{STEPS} steps, and no memory of a GPU grew" + ("" if DEVICE == "cuda" else ": there is no GPU, so that nothing was watched"))


if __name__ == "__main__":
    main()
