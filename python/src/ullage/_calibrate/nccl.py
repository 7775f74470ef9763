"""What NCCL takes of a card for a first communicator and for a second, in one rank of a small job."""
from __future__ import annotations

import json
import os
import sys
from typing import Any

from .driver import NVML, usage


def main(rank: int, ranks: int, meet: str) -> None:
    """Prints what the process takes before, with one communicator, and with two."""
    import torch
    import torch.distributed as dist

    nvml, identity = NVML.load(), os.environ["ULLAGE_CALIBRATE_UUID"]
    x = torch.ones(1 << 20, device="cuda")
    taken: list[Any] = []

    def note() -> None:
        torch.cuda.synchronize()
        now = usage(nvml, identity)
        taken.append([now.mine, now.device, torch.cuda.memory_reserved()])

    note()
    dist.init_process_group("nccl", init_method=f"file://{meet}", rank=rank, world_size=ranks)
    dist.all_reduce(x)
    note()
    dist.all_reduce(x, group=dist.new_group(list(range(ranks))))
    note()
    print(json.dumps({"e": "nccl", "ranks": ranks, "taken": taken}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
