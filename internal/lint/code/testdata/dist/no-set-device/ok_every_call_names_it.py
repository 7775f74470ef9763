import torch
import torch.distributed as dist


def main(rank, world_size, model, loader):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    model = model.cuda(rank)
    for x in loader:
        with torch.no_grad():
            model(x.to(f"cuda:{rank}"))
