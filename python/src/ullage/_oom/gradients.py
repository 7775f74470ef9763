"""The gradients of a model across ranks, averaged when all ranks are known to have them."""
from __future__ import annotations

from typing import Any, Iterator

BUCKET_BYTES = 32 << 20  # of gradients that are averaged at once: enough to keep a network busy, and little to allocate


def check(model: Any) -> None:
    """Raises ValueError for a model whose forward pass waits for other ranks: one that runs out of memory leaves them waiting."""
    kinds = {cls.__name__ for cls in type(model).__mro__}
    if kinds & {"FullyShardedDataParallel", "FSDPModule"}:
        raise ValueError(f"{type(model).__name__} gathers parameters from other ranks in its forward pass, so no rank can repeat it alone."
                         " hint: find the size beforehand, with find_batch_size")


def is_ddp(model: Any) -> bool:
    """Whether a model is DistributedDataParallel, or one made from it."""
    return any(cls.__name__ == "DistributedDataParallel" for cls in type(model).__mro__)


def batch_norms(model: Any) -> Iterator[Any]:
    """The batch norms that normalise by the batch and count it in their running statistics."""
    from torch.nn.modules.batchnorm import _BatchNorm

    for module in model.modules():
        if isinstance(module, _BatchNorm) and module.training:
            yield module


def average(model: Any) -> None:
    """Averages the gradients of a DDP model over its ranks, unless its no_sync() is active. Every rank calls it.

    What a parameter that only other ranks used gets is theirs alone; one that no rank used keeps what it had. Communication hooks
    of DDP take no part.
    """
    if not is_ddp(model) or not model.require_backward_grad_sync:
        return
    import torch
    import torch.distributed as dist

    group, parameters = model.process_group, [p for p in model.parameters() if p.requires_grad]
    count = dist.get_world_size(group)
    if count == 1 or not parameters:
        return
    used = torch.tensor([p.grad is not None for p in parameters], dtype=torch.int32, device=parameters[0].device)
    dist.all_reduce(used, op=dist.ReduceOp.MAX, group=group)
    for parameter, anywhere in zip(parameters, used.tolist()):
        if anywhere and parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    for bucket in _buckets([p.grad.detach() for p in parameters if p.grad is not None]):
        flat = torch.cat([grad.reshape(-1) for grad in bucket]).div_(count)
        dist.all_reduce(flat, group=group)
        _scatter(flat, bucket)


def _scatter(flat: Any, grads: list[Any]) -> None:
    offset = 0
    for grad in grads:
        grad.copy_(flat[offset : offset + grad.numel()].view_as(grad))
        offset += grad.numel()


def _buckets(grads: list[Any]) -> Iterator[list[Any]]:
    """Gradients of one type and device, in order, up to BUCKET_BYTES together."""
    bucket: list[Any] = []
    size = 0
    for grad in grads:
        nbytes = grad.numel() * grad.element_size()
        if bucket and (size + nbytes > BUCKET_BYTES or (grad.dtype, grad.device) != (bucket[0].dtype, bucket[0].device)):
            yield bucket
            bucket, size = [], 0
        bucket.append(grad)
        size += nbytes
    if bucket:
        yield bucket
