"""The program that `ullage.fit` has traced: it calls a function again and again, until the tracer stops it."""
from __future__ import annotations

import sys
from typing import Any

import torch

from . import payload


def main(path: str) -> None:
    """Reads what `ullage.fit` was called with, has it on the GPU, and calls the function for each step."""
    with open(path, "rb") as f:
        model, step, args, count = payload.read(f)
    if isinstance(model, torch.nn.Module) and any(p.device.type == "cpu" for p in model.parameters()):
        model.to("cuda")
    args = _on_gpu(args)
    for _ in range(count):
        step(model, *args)


def _on_gpu(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to("cuda")
    if isinstance(value, dict):
        return {k: _on_gpu(v) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_on_gpu(v) for v in value)
    return value


if __name__ == "__main__":
    main(sys.argv[1])
