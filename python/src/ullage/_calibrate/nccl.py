"""What NCCL takes of a card for its library, a communicator, its rings and its messages, in one rank of a small job."""
from __future__ import annotations

import json
import os
import sys
from typing import Any

from .driver import NVML, usage


def main(rank: int, ranks: int, meet: str) -> None:
    """Prints what the process takes before, and after each step that adds something: `[mine, device, reserved]`.

    Steps are `first` (the library, a communicator, and its rings), `made` (another communicator, where PyTorch makes it at once),
    `second` (a collective on it), and with two ranks `scatter` (the first rank's messages to the second) and `exchange` (both ways).
    """
    import torch
    import torch.distributed as dist

    nvml, identity = NVML.load(), os.environ["ULLAGE_CALIBRATE_UUID"]
    device = torch.device("cuda", 0)
    x, part = torch.ones(1 << 20, device=device), torch.ones((1 << 20) // ranks, device=device)
    taken: dict[str, Any] = {}

    def note(step: str) -> None:
        torch.cuda.synchronize()
        now = usage(nvml, identity)
        taken[step] = [now.mine, now.device, torch.cuda.memory_reserved()]

    note("before")
    begin(dist, device, init_method=f"file://{meet}", rank=rank, world_size=ranks)
    dist.all_reduce(x)
    note("first")
    another = dist.new_group(list(range(ranks)))
    note("made")
    dist.all_reduce(x, group=another)
    note("second")
    if ranks > 1:
        dist.scatter(part, list(x.chunk(ranks)) if rank == 0 else None, 0)
        note("scatter")
        dist.all_to_all_single(torch.empty_like(x), x)
        note("exchange")
    print(json.dumps({"e": "nccl", "rank": rank, "ranks": ranks, "taken": taken}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def begin(dist: Any, device: Any, **where: Any) -> None:
    """Joins the job with a communicator made at once, as most programs do by now; torch before 2.3 makes it at its first use."""
    try:
        dist.init_process_group("nccl", device_id=device, **where)
    except TypeError:
        dist.init_process_group("nccl", **where)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
