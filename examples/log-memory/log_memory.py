"""The allocator's counters beside the loss, in a log of any kind: here lines of JSON, and as well TensorBoard, W&B, MLflow, an Accelerator.

usage: python log_memory.py

Without a GPU there are no counters, and the log has the losses alone.
"""
from __future__ import annotations

import json

import torch

import ullage
from ullage.integrations import Series

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Log:
    """What trainings write their figures to."""

    def log(self, values: dict[str, float], step: int) -> None:
        print(json.dumps({"step": step, **values}))


def main() -> None:
    log, watch = Log(), ullage.watch()
    series = Series(log, every_seconds=0.0, every_steps=5)  # for a real training, leave every_seconds at its 10
    model = torch.nn.Linear(64, 1).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(10):
        optimizer.zero_grad()
        loss = model(torch.ones(8, 64, device=DEVICE)).square().mean()
        loss.backward()
        optimizer.step()
        watch.step()
        series.step(step)
        log.log({"loss": loss.item()}, step)


if __name__ == "__main__":
    main()
