# after: pytorch#86849
import os
import time

import torch
import torch.distributed as dist
from torch import multiprocessing as mp


def reduce_once(index, port, world_size):
    store = dist.TCPStore("127.0.0.1", port, world_size, is_master=index == 0)
    dist.init_process_group(backend="nccl", store=store, rank=index, world_size=world_size)  # want (all): dist/no-set-device
    device = torch.device(f"cuda:{index}")
    value = torch.ones(4, device=device)
    dist.all_reduce(value)
    dist.barrier()
    time.sleep(30)
    dist.destroy_process_group()


if __name__ == "__main__":
    ctx = mp.get_context("spawn")
    workers = [ctx.Process(target=reduce_once, args=(i, 29511, 2)) for i in range(2)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
