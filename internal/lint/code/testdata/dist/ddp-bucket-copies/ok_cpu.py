import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(model, rank, world_size):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    return DDP(model)
