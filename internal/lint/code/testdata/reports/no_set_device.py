# after: pytorch#49481
import argparse
import torch
import torch.distributed as dist

def worker(rank, world):
    dist.init_process_group("nccl", rank=rank, world_size=world)  # want: dist/no-set-device
    model = torch.nn.Linear(10, 10).cuda()
    t = torch.ones(1).cuda()
    dist.all_reduce(t)

if __name__ == "__main__":
    torch.multiprocessing.spawn(worker, nprocs=8, args=(8,))
