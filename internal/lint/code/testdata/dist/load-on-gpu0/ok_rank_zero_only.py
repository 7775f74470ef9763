import os

import torch
import torch.distributed as dist


def restore(model, path):
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    if rank == 0:
        # the others get the weights by broadcast
        model.load_state_dict(torch.load(path))
    for p in model.parameters():
        dist.broadcast(p.data, 0)
