import torch.distributed as dist
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors


def sync(params):
    grads = [p.grad.data for p in params if p.grad is not None]
    coalesced = _flatten_dense_tensors(grads)  # want: peak/flat-gradients
    dist.all_reduce(coalesced)
    for buf, synced in zip(grads, _unflatten_dense_tensors(coalesced, grads)):
        buf.copy_(synced)
