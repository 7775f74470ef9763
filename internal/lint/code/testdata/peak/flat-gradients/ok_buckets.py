# after: kfac-pytorch#35
import torch.distributed as dist
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors


def sync(buckets):
    for bucket in buckets:
        grads = [p.grad for p in bucket]
        flat = _flatten_dense_tensors(grads)
        dist.all_reduce(flat)
        for buf, synced in zip(grads, _unflatten_dense_tensors(flat, grads)):
            buf.copy_(synced)
