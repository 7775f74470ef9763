import torch
import torch.distributed as dist


def gather_metrics(values):
    flat = torch.cat([v.view(-1) for v in values])
    dist.all_reduce(flat)
    return flat
