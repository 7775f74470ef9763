import os

import torch
import torch.distributed as dist


def main(model):
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    dist.init_process_group("nccl", device_id=device)
    model.to(device)
