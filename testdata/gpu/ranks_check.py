"""Jobs of several ranks, measured on GPUs and predicted without any.

    python3 ranks_check.py all OUT.jsonl [RANKS [JOB...]]     # on a machine with GPUs: runs every job with torchrun, a line a rank
    ullage fit --ranks 2 --rank all --json -- python3 ranks_check.py JOB     # anywhere: the same job, predicted

`communicators`, `collectives` and `first_scatter` tell what NCCL takes outside of PyTorch's allocator: the driver's figure for the process after each call.
"""
import json
import os
import subprocess
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

STEPS = 3
WIDTH, BLOCKS, BATCH = 2048, 8, 64
JOBS = {}


def job(run):
    """Adds a job by its function's name."""
    JOBS[run.__name__] = run
    return run


class Block(nn.Module):
    """A residual block of two products."""

    def __init__(self, width=WIDTH):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def model():
    return nn.Sequential(*[Block() for _ in range(BLOCKS)])


def train(module, optimizer, shape=(BATCH, 128, WIDTH)):
    for _ in range(STEPS):
        module(torch.randn(shape, device="cuda")).float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


@job
def ddp():
    m = nn.parallel.DistributedDataParallel(model().cuda(), device_ids=[torch.cuda.current_device()])
    train(m, torch.optim.AdamW(m.parameters()))


@job
def ddp_views():
    m = nn.parallel.DistributedDataParallel(model().cuda(), device_ids=[torch.cuda.current_device()], gradient_as_bucket_view=True)
    train(m, torch.optim.AdamW(m.parameters()))


@job
def ddp_unused():
    m = nn.parallel.DistributedDataParallel(model().cuda(), device_ids=[torch.cuda.current_device()], find_unused_parameters=True)
    train(m, torch.optim.SGD(m.parameters(), 0.1))


@job
def zero():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    m = nn.parallel.DistributedDataParallel(model().cuda(), device_ids=[torch.cuda.current_device()])
    train(m, ZeroRedundancyOptimizer(m.parameters(), torch.optim.AdamW))


@job
def fsdp1():
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    m = FullyShardedDataParallel(
        model(), auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=torch.cuda.current_device(), mixed_precision=MixedPrecision(torch.bfloat16, torch.float32)
    )
    train(m, torch.optim.AdamW(m.parameters()))


def shard(m, **settings):
    from torch.distributed.fsdp import fully_shard

    for block in m:
        fully_shard(block, **settings)
    fully_shard(m, **settings)
    m.to_empty(device="cuda")
    return m


@job
def fsdp2_meta():
    from torch.distributed.fsdp import MixedPrecisionPolicy

    with torch.device("meta"):
        m = model()
    shard(m, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
    train(m, torch.optim.AdamW(m.parameters()))


@job
def fsdp2_kept():
    with torch.device("meta"):
        m = model()
    shard(m, reshard_after_forward=False)
    train(m, torch.optim.AdamW(m.parameters()))


@job
def hsdp():
    with torch.device("meta"):
        m = model()
    shard(m, mesh=init_device_mesh("cuda", (2, dist.get_world_size() // 2), mesh_dim_names=("replicate", "shard")))
    train(m, torch.optim.AdamW(m.parameters()))


@job
def tensor_parallel():
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    m = model().cuda()
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    for block in m:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    train(m, torch.optim.AdamW(m.parameters(), foreach=False))


@job
def sequence_parallel():
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module

    m = model().cuda()
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    plan = {"norm": SequenceParallel(), "up": ColwiseParallel(input_layouts=Shard(1)), "down": RowwiseParallel(output_layouts=Shard(1))}
    for block in m:
        parallelize_module(block, mesh, plan)
    train(m, torch.optim.AdamW(m.parameters(), foreach=False), (BATCH, 128 // dist.get_world_size(), WIDTH))


@job
def experts():
    """Tokens go to the rank of their expert and back."""
    n = dist.get_world_size()
    gate, expert = nn.Linear(WIDTH, n).cuda(), Block().cuda()
    optimizer = torch.optim.AdamW([*gate.parameters(), *expert.parameters()])
    for _ in range(STEPS):
        x = torch.randn(n * 2048, WIDTH, device="cuda")
        there, back = torch.empty_like(x), torch.empty_like(x)
        dist.all_to_all_single(there, x)
        y = expert(there)
        dist.all_to_all_single(back, y.detach(), async_op=True).wait()
        (y.mean() + gate(back).mean()).backward()
        optimizer.step()
        optimizer.zero_grad()


@job
def communicators():
    """A further group at a time, each with one small all_reduce."""
    after("start")
    for n in range(4):
        group = None if n == 0 else dist.new_group(list(range(dist.get_world_size())))
        dist.all_reduce(torch.ones(1 << 20, device="cuda"), group=group)
        after(f"communicator {n + 1}")


@job
def collectives():
    """One group, a kind of collective at a time, small and then large."""
    n, rank = dist.get_world_size(), dist.get_rank()
    after("start")
    for size in (1 << 10, 1 << 26):  # floats: 4 KiB and 256 MiB
        x, parts = torch.ones(size, device="cuda"), torch.ones(size // n, device="cuda")
        calls = {
            "all_reduce": lambda: dist.all_reduce(x),
            "broadcast": lambda: dist.broadcast(x, 0),
            "all_gather": lambda: dist.all_gather_into_tensor(x, parts),
            "reduce_scatter": lambda: dist.reduce_scatter_tensor(parts, x),
            "scatter": lambda: dist.scatter(parts, list(x.chunk(n)) if rank == 0 else None, 0),
            "all_to_all": lambda: dist.all_to_all_single(torch.empty_like(x), x),
            "barrier": dist.barrier,
        }
        for name, call in calls.items():
            call()
            after(f"{name} of {4 * size}")


@job
def first_scatter():
    """Messages from rank to rank alone, as distribute_tensor sends them."""
    after("start")
    parts = torch.ones(1 << 20, device="cuda")
    dist.scatter(parts, [parts] * dist.get_world_size() if dist.get_rank() == 0 else None, 0)
    after("scatter")
    dist.all_reduce(parts)
    after("all_reduce")


def after(what):
    torch.cuda.synchronize()
    say(after=what, process_bytes=process_bytes(), reserved=torch.cuda.memory_reserved())


def process_bytes():
    """The driver's figure for the whole card, in bytes: nobody else may use it."""
    free, total = torch.cuda.mem_get_info()
    return total - free


def say(**what):
    print(json.dumps({"job": sys.argv[1], "rank": dist.get_rank(), "world": dist.get_world_size(), **what}), flush=True)


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    JOBS[sys.argv[1]]()
    stats = torch.cuda.memory_stats()
    say(
        requested=stats["requested_bytes.all.peak"], allocated=stats["allocated_bytes.all.peak"], reserved=stats["reserved_bytes.all.peak"],
        process_bytes=process_bytes(), torch=torch.__version__, device=torch.cuda.get_device_name(),
    )  # fmt: skip
    dist.destroy_process_group()


def run_all(out, ranks, names):
    with open(out, "w", encoding="utf-8") as f:
        for name in names or JOBS:
            command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), __file__, name]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
            f.write("\n".join(lines or [json.dumps({"job": name, "failed": done.stderr[-500:]})]) + "\n")
            f.flush()


if __name__ == "__main__":
    if sys.argv[1] == "all":
        run_all(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 2, sys.argv[4:])
    else:
        main()
