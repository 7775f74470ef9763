# after: apex#222
import os

import torch
import torch.distributed as dist

from models import build


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    model = build().cuda()  # want: dist/no-set-device
    torch.cuda.set_device(local_rank)
    dist.init_process_group(backend="nccl")
    return model
