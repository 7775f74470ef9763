# after: pytorch#85889
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main(local_rank, model, loader):
    dist.init_process_group("nccl")  # want (all): dist/no-set-device
    device = torch.device(f"cuda:{local_rank}")
    model = DistributedDataParallel(model.to(device), device_ids=[local_rank], gradient_as_bucket_view=True)
    with torch.no_grad():
        for x in loader:
            model(x.to(device))
    dist.barrier()
