"""What optimizers keep from their first step on: as it is, and as it will be."""
from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, Optional

from .._torch import memory

_GRAIN_BYTES = 512  # the allocator rounds every tensor up to a multiple of it


def held_bytes(optimizers: Iterable[Any], device: int) -> int:
    """The states that optimizers hold on a CUDA device now."""
    seen: dict[int, int] = {}
    for optimizer in optimizers:
        for tensor in _tensors(list(optimizer.state.values())):
            storage = _local(tensor).untyped_storage()
            if memory.lies_on(storage.device, device):
                seen[storage.data_ptr()] = _rounded(storage.nbytes())
    return sum(seen.values())


def expected_bytes(optimizer: Any) -> Optional[int]:
    """The states that an optimizer will hold once it has stepped, by its class and options; None for a class not known here.

    By the code of torch.optim: a state is zeros_like() its parameter. Those of LBFGS grow for `history_size` steps; this is the end.
    """
    bases = (cls.__name__ for cls in type(optimizer).__mro__ if cls.__module__.startswith("torch.optim"))
    rule = next((_COPIES[name] for name in bases if name in _COPIES), None)
    if rule is None:
        return None
    return sum(
        rule(group, _local(parameter))
        for group in optimizer.param_groups for parameter in group["params"] if parameter.requires_grad
    )


def _copies(count: Callable[[Mapping[str, Any]], int]) -> Callable[[Mapping[str, Any], Any], int]:
    """A rule by which each parameter has so many states of its own size."""
    return lambda group, p: count(group) * _rounded(p.numel() * p.element_size()) + _step_bytes(group)


def _step_bytes(group: Mapping[str, Any]) -> int:
    """The number of steps is a tensor of its own, on the device for fused and capturable optimizers."""
    return _GRAIN_BYTES if group.get("fused") or group.get("capturable") else 0


def _adafactor(group: Mapping[str, Any], p: Any) -> int:
    if p.dim() < 2:
        return _rounded(p.numel() * p.element_size())
    return sum(_rounded(p.numel() // p.size(dim) * p.element_size()) for dim in (-1, -2))


_COPIES: Mapping[str, Callable[[Mapping[str, Any], Any], int]] = {
    "SGD": _copies(lambda g: 1 if g["momentum"] else 0),
    "Adam": _copies(lambda g: 3 if g["amsgrad"] else 2),
    "AdamW": _copies(lambda g: 3 if g["amsgrad"] else 2),
    "NAdam": _copies(lambda g: 2),
    "RAdam": _copies(lambda g: 2),
    "Adamax": _copies(lambda g: 2),
    "SparseAdam": _copies(lambda g: 2),
    "Adagrad": _copies(lambda g: 1),
    "Adadelta": _copies(lambda g: 2),
    "RMSprop": _copies(lambda g: 1 + (1 if g["momentum"] else 0) + (1 if g["centered"] else 0)),
    "Rprop": _copies(lambda g: 2),
    "ASGD": _copies(lambda g: 1),
    "LBFGS": _copies(lambda g: 2 * int(g["history_size"]) + 2),
    "Muon": _copies(lambda g: 1),
    "Adafactor": _adafactor,
}


def _rounded(size: int) -> int:
    return -(-size // _GRAIN_BYTES) * _GRAIN_BYTES


def _local(tensor: Any) -> Any:
    """What of a tensor lies on this rank: the local part of a DTensor."""
    held = tensor.detach()
    return held.to_local() if hasattr(held, "to_local") else held


def _tensors(value: Any) -> Iterable[Any]:
    """The tensors in nested states; of those in main memory the numbers of steps are left out."""
    import torch

    if isinstance(value, torch.Tensor):
        if value.numel() > 1 or value.device.type == "cuda":
            yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _tensors(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)
