# after: pytorch#135279
import os

import torch
import torch.distributed as dist


def worker(rank, world_size):
    device = torch.device("cuda:%d" % rank)
    dist.init_process_group(backend="nccl", rank=rank, world_size=world_size)  # want (all): dist/no-set-device
    x = torch.ones(10, device=device)
    dist.all_reduce(x)
    dist.destroy_process_group()


if __name__ == "__main__":
    worker(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
