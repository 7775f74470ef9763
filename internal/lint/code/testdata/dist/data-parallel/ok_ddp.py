# after: mmf#190
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def setup(model):
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    return DistributedDataParallel(model.cuda(), device_ids=[local_rank], gradient_as_bucket_view=True)
