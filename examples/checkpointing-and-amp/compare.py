"""What activation checkpointing and mixed precision save, and what they cost, on one model: measured, not claimed.

usage: python compare.py

On a GPU: the peak of a training step, how far it is above what stays (parameters, gradients, optimizer states), and the time. On
the CPU, which counts no peak: what the forward pass keeps for backward, and the time, which says nothing about a GPU's.
"""
from __future__ import annotations

import contextlib
import functools
import gc
import time
from typing import Iterator

import torch
from torch.utils.checkpoint import checkpoint

import ullage

MIB = 1 << 20
GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
WIDTH, LAYERS, BATCH, LENGTH, STEPS = (1024, 12, 16, 512, 10) if GPU else (128, 4, 4, 64, 2)


class Model(torch.nn.Module):
    def __init__(self, checkpointed: bool) -> None:
        super().__init__()
        layer = functools.partial(torch.nn.TransformerEncoderLayer, WIDTH, WIDTH // 64, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = torch.nn.ModuleList(layer() for _ in range(LAYERS))
        self.checkpointed = checkpointed

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.checkpointed else layer(x)
        return x


@contextlib.contextmanager
def kept_for_backward() -> Iterator[dict[int, int]]:
    """Bytes of each storage that the forward pass saves, by its address; weights are saved too, but are there anyway."""
    saved: dict[int, int] = {}
    alive = []

    def pack(t: torch.Tensor) -> torch.Tensor:
        if not isinstance(t, torch.nn.Parameter):
            alive.append(t)  # or its address could be another's later
            saved[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        yield saved
    alive.clear()


def run(checkpointed: bool, mixed: bool) -> tuple[float, float, float, float]:
    """MiB kept for backward; MiB of the peak, and above what stays; milliseconds a step."""
    gc.collect()  # what an earlier model left in cycles would count as staying here
    torch.manual_seed(0)
    model = Model(checkpointed).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(BATCH, LENGTH, WIDTH, device=DEVICE)

    def forward() -> torch.Tensor:
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=mixed):
            return model(x).float().square().mean()

    def step() -> None:
        optimizer.zero_grad()
        forward().backward()
        optimizer.step()

    with kept_for_backward() as saved:
        forward()
    kept = sum(saved.values())
    step()
    step()  # optimizer states exist from here on
    with ullage.measure(sites=False) as m:
        step()
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    if GPU:
        torch.cuda.synchronize()
    took = (time.perf_counter() - start) / STEPS * 1e3
    use = m.devices[0] if m.devices else None
    return kept / MIB, use.peak_bytes / MIB if use else 0.0, use.rise_bytes / MIB if use else 0.0, took


def change(now: float, first: float) -> str:
    return f"{100 * (now / first - 1):+4.0f} %"


WAYS = (("as it is", False, False), ("checkpointed", True, False), ("bfloat16 autocast", False, True), ("both", True, True))


def main() -> None:
    print(f"{'':18} {'kept for backward':>21} {'peak':>20} {'above what stays':>19} {'a step':>11}")
    first = None
    for name, checkpointed, mixed in WAYS:
        kept, peak, rise, took = run(checkpointed, mixed)
        first = first or (kept, peak, rise, took)
        peaks = f"{peak:8.1f} MiB {change(peak, first[1])} {rise:8.1f} MiB" if peak else f"{'not counted':>13} {'on the CPU':>17}"
        print(f"{name:18} {kept:10.1f} MiB {change(kept, first[0])} {peaks:>34} {took:8.1f} ms {change(took, first[3])}")


if __name__ == "__main__":
    main()
