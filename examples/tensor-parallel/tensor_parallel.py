"""One model over several GPUs with torch.distributed.tensor: each process holds 1/N of it, and that is measured.

usage: python tensor_parallel.py [PROCESSES]

Starts the processes itself: one a GPU, or two on the CPU, where the sizes of parameters, gradients and optimizer states are
measured but no peak, because main memory has no allocator that counts. Needs torch 2.5 or newer.
"""
from __future__ import annotations

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

MIB = 1 << 20
WIDTH, LAYERS, BATCH = (4096, 8, 512) if torch.cuda.is_available() else (256, 4, 32)


def build() -> torch.nn.Module:
    def block() -> torch.nn.Module:
        up, down = torch.nn.Linear(WIDTH, 4 * WIDTH, bias=False), torch.nn.Linear(4 * WIDTH, WIDTH, bias=False)
        return torch.nn.ModuleDict({"up": up, "down": down})

    return torch.nn.Sequential(*[block() for _ in range(LAYERS)])


def forward(model: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    for block in model:
        x = x + block["down"](torch.nn.functional.gelu(block["up"](x)))
    return x


def split(model: torch.nn.Module, mesh: "dist.DeviceMesh") -> None:
    """Each pair of matrices by the hidden dimension between them, so that only its result has to be summed up over the GPUs."""
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    for block in model:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})


def held_bytes(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Parameters, gradients and optimizer states in this process."""
    tensors = [t for p in model.parameters() for t in (p, p.grad, *optimizer.state[p].values()) if isinstance(t, torch.Tensor)]
    return sum(t.numel() * t.element_size() for t in (t.to_local() if hasattr(t, "to_local") else t for t in tensors))


def train(rank: int, size: int, folder: str) -> None:
    device = torch.device(f"cuda:{rank}" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)  # before anything else, or the context is made on GPU 0
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, init_method=f"file://{folder}/store{size}", rank=rank, world_size=size)
    torch.manual_seed(0)
    with torch.device("meta"):
        model = build()  # never whole on a device, not even for a moment
    split(model, dist.device_mesh.init_device_mesh(device.type, (size,)))
    model.to_empty(device=device)
    for p in model.parameters():
        torch.nn.init.normal_(p.detach().to_local(), std=0.02)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        forward(model, torch.ones(BATCH, WIDTH, device=device)).square().mean().backward()
        optimizer.step()
    peak = torch.cuda.max_memory_allocated() if device.type == "cuda" else 0
    torch.save((held_bytes(model, optimizer), peak), f"{folder}/{size}-{rank}.pt")
    dist.destroy_process_group()


def measured(size: int) -> list[tuple[int, int]]:
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, (size, folder), nprocs=size)
        return [torch.load(os.path.join(folder, f"{size}-{rank}.pt"), weights_only=True) for rank in range(size)]


def main() -> None:
    if tuple(int(n) for n in torch.__version__.split(".")[:2]) < (2, 5):
        sys.exit(f"tensor_parallel.py: torch.distributed.tensor came with torch 2.5; this is {torch.__version__}")
    size = int(sys.argv[1]) if len(sys.argv) > 1 else max(2, torch.cuda.device_count())
    if torch.cuda.is_available() and torch.cuda.device_count() < size:
        sys.exit(f"tensor_parallel.py: {size} GPUs are needed, {torch.cuda.device_count()} are here")
    whole, parts = measured(1)[0], measured(size)
    print(f"{'':12} {'held':>12} {'of the whole':>13} {'peak':>12} {'of the whole':>13}")
    for name, (held, peak) in [("1 process", whole), *((f"rank {r} of {size}", p) for r, p in enumerate(parts))]:
        share = f"{peak / whole[1]:13.3f}" if peak else f"{'':>13}"
        print(f"{name:12} {held / MIB:8.1f} MiB {held / whole[0]:13.3f} {f'{peak / MIB:8.1f} MiB' if peak else 'not measured':>12} {share}")


if __name__ == "__main__":
    main()
