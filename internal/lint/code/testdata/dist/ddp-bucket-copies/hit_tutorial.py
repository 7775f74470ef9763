# after: pytorch#131653
import os

import torch
import torch.distributed as dist
import torch.nn as nn


def setup(model):
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    model = model.cuda()
    return nn.parallel.DistributedDataParallel(model, device_ids=[local_rank])  # want (all): dist/ddp-bucket-copies
