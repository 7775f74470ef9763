"""What a process takes of the card outside of the caching allocator, step by step as it begins to use more: CUDA itself, PyTorch's
kernels, cuBLASLt, cuBLAS in the program's own thread and in autograd's, cuDNN, and a whole training step.
"""
from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable

from .driver import NVML, usage


def main(run: str) -> None:
    """Prints a line for each step, and one for before the first."""
    nvml, identity = NVML.load(), os.environ["ULLAGE_CALIBRATE_UUID"]

    def say(what: str, reserved: int) -> None:
        now = usage(nvml, identity)
        row = {"run": int(run), "what": what, "mine": now.mine, "device": now.device, "others": now.others, "reserved": reserved}
        print(json.dumps({"e": "process", **row}), flush=True)

    say("before", 0)

    import torch

    if not torch.cuda.is_available():
        why = "" if torch.version.cuda else ": it is a build without CUDA"
        raise SystemExit(f"torch {torch.__version__} does not find the GPU that the driver has{why}")
    cudnn: Any = torch.backends.cudnn
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": cudnn.version(), "nccl": nccl_version(torch)}
    print(json.dumps({"e": "torch", **versions}), flush=True)
    for step, begin in STEPS.items():
        begin(torch)
        torch.cuda.synchronize()
        say(step, torch.cuda.memory_reserved())


def nccl_version(torch: Any) -> str:
    try:
        return ".".join(map(str, torch.cuda.nccl.version()))
    except Exception:  # a build without NCCL
        return ""


def init(torch: Any) -> None:
    torch.zeros(1, device="cuda")


def kernels(torch: Any) -> None:
    """Operators of all kinds but products and convolutions, forwards and backwards, and an optimizer's step."""
    nn = torch.nn
    table, norm = nn.Embedding(1000, 64, device="cuda"), nn.LayerNorm(64, device="cuda")
    image = nn.GroupNorm(2, 8, device="cuda")  # a batch norm would load cuDNN
    ids = torch.randint(0, 1000, (8, 512), device="cuda")
    x = nn.functional.dropout(norm(table(ids)), 0.1)
    x = nn.functional.gelu(x).softmax(-1) + image(torch.rand(2, 8, 32, 32, device="cuda")).relu().mean()
    nn.functional.cross_entropy(x.flatten(0, 1), ids.flatten() % 64).backward()
    parameters = [*table.parameters(), *norm.parameters()]
    nn.utils.clip_grad_norm_(parameters, 1.0)
    torch.optim.AdamW(parameters).step()
    ids.flatten().sort()


def biased(torch: Any) -> None:
    """Products with a bias vector, which are cuBLASLt's."""
    for dtype in _types(torch):
        a = torch.ones(256, 256, device="cuda", dtype=dtype)
        torch.nn.functional.linear(a, a, a[0])


def product(torch: Any) -> None:
    for dtype in _types(torch):
        a = torch.ones(256, 256, device="cuda", dtype=dtype)
        a @ a


def thread(torch: Any) -> None:
    """Products in autograd's thread, which gets a handle of its own."""
    for dtype in _types(torch):
        x = torch.ones(256, 256, device="cuda", dtype=dtype, requires_grad=True)
        (x @ x).sum().backward()


def _types(torch: Any) -> tuple[Any, Any]:
    return torch.float32, torch.bfloat16 if torch.cuda.get_device_capability()[0] >= 8 else torch.float16


def convolution(torch: Any) -> None:
    x, w = torch.ones(2, 64, 32, 32, device="cuda", requires_grad=True), torch.ones(64, 64, 3, 3, device="cuda", requires_grad=True)
    torch.nn.functional.conv2d(x, w).sum().backward()


def training(torch: Any) -> None:
    """Two steps of a small network of all common layers, under autocast and without."""
    nn = torch.nn
    body = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        nn.Conv2d(64, 128, 3, 2, 1), nn.Conv2d(128, 128, 1), nn.AdaptiveAvgPool2d(8), nn.Flatten(2),
    ).cuda()
    block, head = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True).cuda(), nn.Linear(64, 1000).cuda()
    parameters = [*body.parameters(), *block.parameters(), *head.parameters()]
    for autocast in (False, True):
        optimizer = torch.optim.AdamW(parameters)
        with torch.autocast("cuda", dtype=_types(torch)[1], enabled=autocast):
            scores = head(block(body(torch.rand(8, 3, 128, 128, device="cuda")))).flatten(0, 1)
            loss = nn.functional.cross_entropy(scores, torch.zeros(8 * 128, dtype=torch.long, device="cuda"))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    loss.item()


STEPS: dict[str, Callable[[Any], None]] = {
    "init": init, "kernels": kernels, "bias": biased, "cublas": product,
    "thread": thread, "cudnn": convolution, "training": training,
}

if __name__ == "__main__":
    main(sys.argv[1])
