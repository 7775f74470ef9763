"""What each collective of torch.distributed leaves in small tensors, and which temporary it takes.

All ranks are taken to be alike: a sum is as many times as large as what this rank has, a gathered list has it once for each rank. What a
rank gets from one other is not known.
"""
from __future__ import annotations

from typing import Any, Callable, Optional, Protocol

import torch
from torch._subclasses.fake_tensor import FakeTensor

Tensors = list[torch.Tensor]


class Values(Protocol):
    """Who knows what small tensors hold."""

    def of(self, t: torch.Tensor) -> Optional[torch.Tensor]: ...

    def give(self, to: torch.Tensor, value: Optional[torch.Tensor]) -> None: ...

    def operation(self) -> str: ...


class Rule:
    """What one operator does: its inputs' place among the arguments (None where they are its outputs too), its temporary, and values."""

    def __init__(self, values: Callable[..., None], inputs: Optional[int] = None, temporary: Optional[Callable[..., Any]] = None) -> None:
        self.values, self.inputs = values, inputs
        self.temporary = temporary or (lambda outputs, inputs, group: None)


def _reduce_all(c: Values, outputs: Tensors, inputs: Tensors, args: Any, group: Any) -> None:
    operation = c.operation()
    for t in outputs:
        known = c.of(t)
        c.give(t, None if known is None else reduced(known, operation, group.size()))


def _unchanged(c: Values, outputs: Tensors, inputs: Tensors, args: Any, group: Any) -> None:
    return None


def _unknown(c: Values, outputs: Tensors, inputs: Tensors, args: Any, group: Any) -> None:
    for t in outputs:
        c.give(t, None)


def _gather(c: Values, outputs: Tensors, inputs: Tensors, args: Any, group: Any) -> None:
    """Lists of tensors: each rank's is as this one's."""
    lists = args[0] if args[0] and isinstance(args[0][0], (list, tuple)) else [args[0]]
    for into, t in zip(lists, inputs):
        known = c.of(t)
        for out in into:
            c.give(out, known if known is not None and known.numel() == out.numel() else None)


def _gather_into_one(c: Values, outputs: Tensors, inputs: Tensors, args: Any, group: Any) -> None:
    for out, t in zip(outputs, inputs):
        known = c.of(t)
        fits = known is not None and known.numel() * group.size() == out.numel()
        c.give(out, torch.cat([known.reshape(-1)] * group.size()) if known is not None and fits else None)


def _reduce_scatter(c: Values, outputs: Tensors, inputs: Tensors, args: Any, group: Any) -> None:
    for out, t in zip(outputs, inputs):
        known = c.of(t)
        if known is None or known.numel() != out.numel() * group.size():
            c.give(out, None)
        else:
            c.give(out, reduced(known.reshape(group.size(), -1)[group.rank()], c.operation(), group.size()))


def _exchange(c: Values, outputs: Tensors, inputs: Tensors, args: Any, group: Any) -> None:
    """all_to_all_single in equal parts: what every rank has for this one is what this one has for itself."""
    known = c.of(inputs[0])
    if known is None or args[3] or args[4] or known.numel() != outputs[0].numel() or known.numel() % group.size():
        c.give(outputs[0], None)
        return
    c.give(outputs[0], torch.cat([known.reshape(group.size(), -1)[group.rank()]] * group.size()))


def _scatter(c: Values, outputs: Tensors, inputs: Tensors, args: Any, group: Any) -> None:
    for t in outputs:
        c.give(t, c.of(inputs[group.rank()]) if len(inputs) == group.size() else None)


def _flat(outputs: Tensors, inputs: Tensors, group: Any, whole: Tensors) -> Any:
    """The buffer that stands for a list of tensors."""
    if not whole or not is_on_gpu(whole[0]) or any(t.shape != whole[0].shape for t in whole):
        return None
    return torch.empty((len(whole), *whole[0].shape), dtype=whole[0].dtype, device=whole[0].device)


def _flat_outputs(outputs: Tensors, inputs: Tensors, group: Any) -> Any:
    return _flat(outputs, inputs, group, outputs)


def _flat_inputs(outputs: Tensors, inputs: Tensors, group: Any) -> Any:
    return _flat(outputs, inputs, group, inputs)


def _barrier(outputs: Tensors, inputs: Tensors, group: Any) -> Any:
    return torch.zeros(1, device=outputs[0].device) if outputs and is_on_gpu(outputs[0]) else None


RULES = {
    "allreduce_": Rule(_reduce_all),
    "allreduce_coalesced_": Rule(_reduce_all),
    "reduce_": Rule(_reduce_all),
    "broadcast_": Rule(_unchanged),
    "allgather_": Rule(_gather, 1, _flat_outputs),
    "allgather_coalesced_": Rule(_gather, 1),
    "gather_": Rule(_gather, 1),
    "_allgather_base_": Rule(_gather_into_one, 1),
    "allgather_into_tensor_coalesced_": Rule(_gather_into_one, 1),
    "reduce_scatter_": Rule(_unknown, 1, _flat_inputs),
    "_reduce_scatter_base_": Rule(_reduce_scatter, 1),
    "reduce_scatter_tensor_coalesced_": Rule(_reduce_scatter, 1),
    "alltoall_": Rule(_unknown, 1),
    "alltoall_base_": Rule(_exchange, 1),
    "scatter_": Rule(_scatter, 1),
    "send": Rule(_unchanged, 0),
    "recv_": Rule(_unknown),
    "recv_any_source_": Rule(_unknown),
    "barrier": Rule(_unchanged, None, _barrier),
    "monitored_barrier_": Rule(_unchanged),
}


def is_on_gpu(t: torch.Tensor) -> bool:
    """Whether a tensor is a fake of the GPU."""
    return isinstance(t, FakeTensor) and t.fake_device.type == "cuda"


def reduced(value: torch.Tensor, operation: str, ranks: int) -> torch.Tensor:
    """What a reduction over ranks that are alike makes of a value."""
    if operation == "SUM":
        return value * ranks
    if operation == "PRODUCT":
        return value**ranks
    if operation == "BXOR":
        return value * (ranks % 2)
    return value.clone()  # mean, least, greatest, all bits and any bit
