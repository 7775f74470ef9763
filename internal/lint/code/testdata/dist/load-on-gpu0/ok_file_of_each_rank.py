import os

import torch
import torch.distributed as dist


def restore(model, folder):
    rank = dist.get_rank()
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    name = f"model_rank{rank}.bin"
    path = os.path.join(folder, name)
    model.load_state_dict(torch.load(path, weights_only=True))
