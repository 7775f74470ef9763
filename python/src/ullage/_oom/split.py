"""A batch cut into pieces: tensors and arrays in nested dicts, lists, tuples and dataclasses, along their first dimension.

Lists of text are cut too, where they are as long as the batch: that is what a DataLoader makes of texts, beside its tensors.
"""
from __future__ import annotations

import copy
import dataclasses
import sys
from typing import Any, Callable, Iterator, Mapping, Optional


def samples(batch: Any) -> int:
    """How many samples a batch has: the length of its tensors, which has to be the same for all. Tensors of one number don't count.

    Raises ValueError where the tensors differ, or where there are none.
    """
    lengths = _lengths(batch)
    if not lengths:
        raise ValueError(f"the batch ({type(batch).__name__}) has no tensor that could be cut. hint: give samples= and take=")
    if len(lengths) > 1:
        shown = ", ".join(str(n) for n in sorted(lengths))
        raise ValueError(f"the batch has tensors of different length along their first dimension ({shown}). hint: give samples= and take=")
    return lengths.pop()


def take(batch: Any, start: int, stop: int) -> Any:
    """The samples from start to stop, in the batch's own form. Tensors are views; what is no part of a sample is passed on as it is."""
    lengths = _lengths(batch)
    return _each(batch, lengths.pop() if len(lengths) == 1 else None, lambda part: _cut(part, start, stop))


def resize(batch: Any, size: int) -> Any:
    """The first samples, or all of them over and over until there are so many. What is longer than the batch is a copy."""
    count = samples(batch)
    return _each(batch, count, lambda part: _cut(part, 0, size) if size <= count else _repeat(part, count, size))


def even(count: int, largest: int) -> list[tuple[int, int]]:
    """count samples in as few pieces of at most largest as there can be, which differ by one sample at most."""
    pieces = -(-count // largest)
    edges = [count * i // pieces for i in range(pieces + 1)]
    return list(zip(edges, edges[1:]))


def _lengths(batch: Any) -> set[int]:
    """The lengths of a batch's tensors along their first dimension. One of torch's nested tensors has a size of that alone."""
    return {int(tensor.size(0)) if callable(tensor.size) else len(tensor) for tensor in _tensors(batch) if tensor.ndim > 0}


def _each(value: Any, count: Optional[int], change: Callable[[Any], Any]) -> Any:
    """A batch with each part changed that has one entry for each of its count samples: tensors, and lists of text so long."""
    if _is_tensor(value):
        return change(value) if value.ndim > 0 else value
    if isinstance(value, (list, tuple)) and count == len(value) and all(isinstance(part, (str, bytes)) for part in value):
        return change(value)
    return _map(value, lambda part: _each(part, count, change))


def _repeat(part: Any, count: int, size: int) -> Any:
    import torch

    times = -(-size // max(count, 1))
    if isinstance(part, torch.Tensor):
        return torch.cat([part] * times)[:size]
    if isinstance(part, (list, tuple)):
        return (part * times)[:size]
    import numpy

    return numpy.concatenate([part] * times)[:size]


def _cut(tensor: Any, start: int, stop: int) -> Any:
    import torch

    if not getattr(tensor, "is_nested", False):
        return tensor[start:stop]
    parts = list(tensor.unbind()[start:stop])
    layout = {} if tensor.layout == torch.strided else {"layout": tensor.layout}  # a keyword that torch 2.1 doesn't know
    return torch.nested.as_nested_tensor(parts, **layout)


def _is_tensor(value: Any) -> bool:
    """Whether a value is a tensor, or an array of NumPy's."""
    import torch

    numpy: Any = sys.modules.get("numpy")  # whoever has an array has imported it
    return isinstance(value, torch.Tensor) or numpy is not None and isinstance(value, numpy.ndarray)


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass; nothing for other values."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return {}
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if hasattr(value, field.name)}


def _tensors(value: Any) -> Iterator[Any]:
    if _is_tensor(value):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _tensors(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)
    else:
        for part in _fields(value).values():
            yield from _tensors(part)


def _map(value: Any, change: Callable[[Any], Any]) -> Any:
    """A container like value with each part changed: dicts of every kind (transformers' BatchEncoding too), lists, named tuples."""
    if isinstance(value, dict):
        return _like(value, {key: change(part) for key, part in value.items()})
    if isinstance(value, Mapping):
        return type(value)({key: change(part) for key, part in value.items()})  # type: ignore[call-arg]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(change(part) for part in value))
    if isinstance(value, (list, tuple)):
        return type(value)(change(part) for part in value)
    fields = _fields(value)
    if not fields:
        return value
    result = copy.copy(value)  # not dataclasses.replace(), which would run the class's own code
    for name, part in fields.items():
        object.__setattr__(result, name, change(part))  # a frozen one too: nobody else has the copy yet
    return result


def _like(original: dict[Any, Any], parts: dict[Any, Any]) -> dict[Any, Any]:
    if type(original) is dict:
        return parts
    result = copy.copy(original)  # a defaultdict, an OrderedDict, or a class with more to it
    for key, part in parts.items():  # not update(), which transformers' ModelOutput refuses
        result[key] = part
    return result
