"""Training in several processes, started so that each has memory on its own GPU and on no other.

usage: python spawn.py [PROCESSES]

  - spawn, not fork: a forked process can't use CUDA if its parent has, and inherits what the parent holds.
  - The device first, before any other call that needs one: else each process makes a context of some 0.5 GiB on GPU 0.
  - Tensors are put on the GPU in this process, never in a DataLoader's workers, which would make a context each.
  - Checkpoints are read to the CPU (map_location), as they remember the GPU they were written from.

One process a GPU; two on the CPU, where the same is run and no GPU's memory is there to look at.
"""
from __future__ import annotations

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

MIB = 1 << 20


def begin(rank: int, size: int, folder: str) -> torch.device:
    if not torch.cuda.is_available():
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size)
        return torch.device("cpu")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{folder}/store", rank=rank, world_size=size)
    return torch.device("cuda", rank)


def train(rank: int, size: int, folder: str) -> None:
    device = begin(rank, size, folder)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).to(device)
    if rank == 0:
        torch.save(model.state_dict(), os.path.join(folder, "model.pt"))
    dist.barrier()
    model.load_state_dict(torch.load(os.path.join(folder, "model.pt"), map_location="cpu", weights_only=True))
    # Gradients are views of the buckets in which they are sent, or they would be held twice.
    replica = DistributedDataParallel(model, device_ids=[rank] if device.type == "cuda" else None, gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(replica.parameters())
    data = TensorDataset(torch.randn(512, 256), torch.randint(10, (512,)))  # on the CPU
    loader = DataLoader(data, batch_size=64, sampler=DistributedSampler(data, size, rank), pin_memory=device.type == "cuda")
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(replica(x.to(device, non_blocking=True)), y.to(device, non_blocking=True)).backward()
        optimizer.step()
    for r in range(size):  # one after the other, so that the lines don't mix
        if r == rank:
            print(f"rank {rank} in process {os.getpid()}: {where(device)}", flush=True)
        dist.barrier()
    dist.destroy_process_group()


def where(device: torch.device) -> str:
    """On which GPUs this process's allocator has memory."""
    if device.type == "cpu":
        return "trained on the CPU: no GPU's memory to look at"
    held = {d: torch.cuda.memory_stats(d).get("reserved_bytes.all.peak", 0) for d in range(torch.cuda.device_count())}
    elsewhere = [d for d, amount in held.items() if amount and d != device.index]
    assert not elsewhere, f"memory on {elsewhere}"
    return f"at most {held[device.index] / MIB:.1f} MiB reserved on cuda:{device.index}, none on others"


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else max(2, torch.cuda.device_count())
    if torch.cuda.is_available() and torch.cuda.device_count() < size:
        sys.exit(f"spawn.py: {size} GPUs are needed, {torch.cuda.device_count()} are here; give a smaller number of processes")
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(train, (size, folder), nprocs=size, start_method="spawn")


if __name__ == "__main__":
    main()
