"""A training loop that leaks in four ways, and what holds each leak.

usage: python holders.py

It is the same on a CPU, where the memory is the machine's own.
"""
from __future__ import annotations

import gc

import torch
from torch import nn

import ullage

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROWS = 4096 if DEVICE == "cuda" else 512
STEPS = 5


class Monitor:
    """Keeps what a layer computed, as a hook that nobody removes does."""

    def __init__(self, layer: nn.Module) -> None:
        self.seen: list[torch.Tensor] = []
        layer.register_forward_hook(lambda module, args, out: self.seen.append(out.detach()))


class Node:
    """Refers to itself by its peer: only Python's collector can free the two."""

    def __init__(self, features: torch.Tensor, peer: Node | None = None) -> None:
        self.features = features
        self.peer = peer or Node(features, self)


def train(model: nn.Module, optimizer: torch.optim.Optimizer) -> ullage.Holders:
    losses: list[torch.Tensor] = []
    predictions: dict[int, torch.Tensor] = {}
    for step in range(STEPS):
        batch = torch.ones(ROWS, 256, device=DEVICE)
        out = model(batch)
        Node(out.detach().clone())
        predictions[step] = out.detach().clone()
        losses.append(out.square().mean())  # with the graph of the step
        losses[-1].backward(retain_graph=True)
        optimizer.step()
        optimizer.zero_grad()
        del out, batch
    return ullage.holders(min_bytes=100_000)


def main() -> None:
    gc.disable()  # as loops do that want no pauses; otherwise it runs now and then, and frees what is in cycles
    model = nn.Sequential(nn.Linear(256, 256), nn.Sigmoid(), nn.Linear(256, 256)).to(DEVICE)
    monitor = Monitor(model[1])
    print(train(model, torch.optim.Adam(model.parameters())))
    print(f"\nWhat refers to the first weight:\n{ullage.holders(obj=model[0].weight)}")
    del monitor


if __name__ == "__main__":
    main()
