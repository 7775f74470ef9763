"""The form of a call of an operator: what of its arguments decides how much memory it takes."""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch._subclasses.fake_tensor import FakeTensor

MAX_LIST = 256  # tensors of one list that are described one by one

_names: dict[Any, str] = {}


def _name(value: Any) -> str:
    """A dtype, layout or memory format without "torch."."""
    found = _names.get(value)
    if found is None:
        found = _names[value] = str(value).split(".")[-1]
    return found


def _tensor_key(t: torch.Tensor) -> tuple[Any, ...]:
    device = t.fake_device if isinstance(t, FakeTensor) else t.device
    if t.layout is not torch.strided or t.is_nested:
        return t.dtype, tuple(int(n) for n in t.shape) if not t.is_nested else (), "nested" if t.is_nested else "sparse", device
    return t.dtype, tuple(t.shape), t.stride(), device


def key_of(func: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
    """What tells this call's form from others of func. Equal forms have equal keys."""
    return (func, torch.get_default_dtype(), *[_key(a) for a in args], *[(k, _key(v)) for k, v in kwargs.items()])


def _key(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return _tensor_key(value)
    if isinstance(value, (list, tuple)):
        return tuple([_key(v) for v in value])
    if isinstance(value, (bool, float, complex)):
        return type(value), value  # as keys, True and 1.0 are equal to 1
    if value is None or isinstance(value, (int, str, torch.dtype, torch.device, torch.layout, torch.memory_format)):
        return value
    return type(value).__name__


def describe(func: Any, args: Any, kwargs: Any, outs: list[torch.Tensor]) -> dict[str, Any]:
    """The row of a signature: docs/formats/trace.md."""
    tensors: list[Any] = []
    values: dict[str, Any] = {}
    schema = getattr(func, "_schema", None)
    if schema is None:
        return {"op": str(func), "in": [], "args": {}, "out": [_row(t) for t in outs]}
    for i, argument in enumerate(schema.arguments):
        if i < len(args):
            value = args[i]
        elif argument.name in kwargs:
            value = kwargs[argument.name]
        elif argument.has_default_value():
            value = argument.default_value
        else:
            continue
        values[argument.name] = _value(value, tensors)
    return {"op": str(func), "in": tensors, "args": values, "out": [_row(t) for t in outs]}


def _value(value: Any, tensors: list[Any]) -> Any:
    """A value as JSON has it; tensors are put into the list, and their index stands for them."""
    if isinstance(value, torch.Tensor):
        tensors.append(_row(value))
        return len(tensors) - 1
    if isinstance(value, (list, tuple)):
        if len(value) > MAX_LIST and any(isinstance(v, torch.Tensor) for v in value[:2]):
            return len(value)
        return [_value(v, tensors) for v in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return _name(value)
    return str(value)


def _row(t: torch.Tensor) -> list[Any]:
    dtype, shape, strides, device = _tensor_key(t)
    row: list[Any] = [_name(dtype), list(shape), _strides(shape, strides)]
    if device.type != "cuda":
        row.append(device.type)
    elif device.index:
        row.append(str(device))
    return row


def _strides(shape: Any, strides: Any) -> Optional[Any]:
    if isinstance(strides, str):
        return strides
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != expected:
            return list(strides)
        expected *= max(size, 1)
    return None


def tensors_in(value: Any, into: list[torch.Tensor]) -> None:
    """Collects the tensors of an operator's arguments or result in order."""
    if isinstance(value, torch.Tensor):
        into.append(value)
    elif isinstance(value, (list, tuple)):
        for v in value:
            tensors_in(v, into)
