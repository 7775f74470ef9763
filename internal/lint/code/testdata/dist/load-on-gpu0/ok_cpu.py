# after: imagen-pytorch PR#132
import os

import torch
import torch.distributed as dist


def restore(model, path):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    loaded = torch.load(str(path), map_location="cpu")
    model.load_state_dict(loaded["model"])
    model.cuda()
