"""What DDP does across ranks within a step, done before and after it: when all ranks are known to be there."""
from __future__ import annotations

from typing import Any, Iterator

BUCKET_BYTES = 32 << 20  # of tensors that travel at once: enough to keep a network busy, and little to allocate


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


def share_buffers(model: Any) -> None:
    """Gives every rank the buffers of the first, as DDP's forward pass would, and keeps that from doing it. Every rank calls it.

    A rank that repeats a forward pass would wait in it for ranks that don't.
    """
    if not is_ddp(model):
        return
    import torch
    import torch.distributed as dist

    model.require_forward_param_sync = False  # DDP sets it again after a forward pass outside of no_sync()
    buffers = [buffer.detach() for buffer in model.modules_buffers]
    if not model.broadcast_buffers or not model.require_backward_grad_sync or not buffers:
        return
    source = dist.get_global_rank(model.process_group, 0)
    for bucket in _buckets(buffers):
        flat = torch.cat([buffer.reshape(-1) for buffer in bucket])
        dist.broadcast(flat, source, group=model.process_group)
        _scatter(flat, bucket)


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


def _scatter(flat: Any, tensors: list[Any]) -> None:
    offset = 0
    for tensor in tensors:
        tensor.copy_(flat[offset : offset + tensor.numel()].view_as(tensor))
        offset += tensor.numel()


def _buckets(tensors: list[Any]) -> Iterator[list[Any]]:
    """Tensors of one type and device, in order, up to BUCKET_BYTES together."""
    bucket: list[Any] = []
    size = 0
    for tensor in tensors:
        nbytes = tensor.numel() * tensor.element_size()
        if bucket and (size + nbytes > BUCKET_BYTES or (tensor.dtype, tensor.device) != (bucket[0].dtype, bucket[0].device)):
            yield bucket
            bucket, size = [], 0
        bucket.append(tensor)
        size += nbytes
    if bucket:
        yield bucket
