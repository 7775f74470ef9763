"""Makes an operator's result again for a call of a form that was seen before, without asking torch for shapes once more.

A training step repeats the same few hundred forms of calls. Torch's own cache for fakes costs about 60 microseconds a call, most of it
for its key; this one goes by the key that the trace needs anyway.
"""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, in_kernel_invocation_manager

aten = torch.ops.aten
_NEVER = {aten.as_strided.default, aten.view_as_real.default, aten.view_as_complex.default, aten.set_.source_Storage, aten.lift_fresh.default}


class _Output:
    """How to make one tensor: new, a window on an argument's storage, or an argument itself."""

    __slots__ = ("argument", "delta", "device", "dtype", "is_argument", "shape", "strides")

    def __init__(self, t: FakeTensor, argument: Optional[int], source: Optional[torch.Tensor], is_argument: bool) -> None:
        self.shape, self.strides, self.dtype, self.device = t.shape, t.stride(), t.dtype, t.fake_device
        self.argument, self.is_argument = argument, is_argument
        self.delta = 0 if source is None else t.storage_offset() - source.storage_offset()

    def make(self, mode: FakeTensorMode, tensors: list[torch.Tensor]) -> torch.Tensor:
        if self.argument is None:
            with torch._C._DisableTorchDispatch():
                meta = torch.empty_strided(self.shape, self.strides, dtype=self.dtype, device="meta")
            return FakeTensor(mode, meta, self.device)
        source = tensors[self.argument]
        if self.is_argument:
            return source
        with in_kernel_invocation_manager(mode):
            meta = source.as_strided(self.shape, self.strides, source.storage_offset() + self.delta)
        return FakeTensor(mode, meta, self.device)


class Plan:
    """How to make the result of a call from its tensor arguments."""

    __slots__ = ("_outputs", "_type")

    def __init__(self, outputs: list[Optional[_Output]], container: Optional[type]) -> None:
        self._outputs, self._type = outputs, container

    def make(self, mode: FakeTensorMode, tensors: list[torch.Tensor]) -> Any:
        """The result of a call with these tensor arguments."""
        made = [None if o is None else o.make(mode, tensors) for o in self._outputs]
        return made[0] if self._type is None else self._type(made)


def plan_of(func: Any, tensors: list[torch.Tensor], result: Any) -> Optional[Plan]:
    """The plan for calls of the same form, or None where each has to be worked out by itself."""
    if func in _NEVER or torch.Tag.inplace_view in func.tags:
        return None
    container = type(result) if isinstance(result, (list, tuple)) else None
    if container not in (None, list, tuple):
        return None
    outputs: list[Optional[_Output]] = []
    objects = {id(t): i for i, t in reversed(list(enumerate(tensors)))}
    storages = {_storage_of(t): i for i, t in reversed(list(enumerate(tensors)))}
    for t in [result] if container is None else result:
        if t is None:
            outputs.append(None)
            continue
        output = _output(t, tensors, objects, storages)
        if output is None:
            return None
        outputs.append(output)
    return Plan(outputs, container)


def _storage_of(t: torch.Tensor) -> int:
    """What tells a fake's storage from others; 0 for tensors without one."""
    return int(t.untyped_storage()._cdata) if isinstance(t, FakeTensor) and t.layout is torch.strided else 0


def _output(t: Any, tensors: list[torch.Tensor], objects: dict[int, int], storages: dict[int, int]) -> Optional[_Output]:
    if not isinstance(t, FakeTensor) or t.layout is not torch.strided or t.is_conj() or t.is_neg():
        return None
    same = objects.get(id(t))
    if same is not None:
        return _Output(t, same, None, True)
    storage = _storage_of(t)
    index = storages.get(storage)
    if index is not None and index < 0:
        return None  # two new results that share a storage
    if index is not None:
        return _Output(t, index, tensors[index], False) if tensors[index].dtype is t.dtype else None
    storages[storage] = -1
    return _Output(t, None, None, False) if t.storage_offset() == 0 else None
