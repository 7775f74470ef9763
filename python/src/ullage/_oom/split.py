"""A batch cut into pieces: tensors in nested dicts, lists and tuples, along their first dimension."""
from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping


def samples(batch: Any) -> int:
    """How many samples a batch has: the length of its tensors, which has to be the same for all. Tensors of one number don't count.

    Raises ValueError where the tensors differ, or where there are none.
    """
    lengths = {int(tensor.size(0)) for tensor in _tensors(batch) if tensor.dim() > 0}
    if not lengths:
        raise ValueError(f"the batch ({type(batch).__name__}) has no tensor that could be cut. hint: give samples= and take=")
    if len(lengths) > 1:
        shown = ", ".join(str(n) for n in sorted(lengths))
        raise ValueError(f"the batch has tensors of different length along their first dimension ({shown}). hint: give samples= and take=")
    return lengths.pop()


def take(batch: Any, start: int, stop: int) -> Any:
    """The samples from start to stop, in the batch's own form. Tensors are views; what holds no tensor is passed on as it is."""
    import torch

    if isinstance(batch, torch.Tensor):
        return _cut(batch, start, stop) if batch.dim() > 0 else batch
    return _map(batch, lambda part: take(part, start, stop))


def resize(batch: Any, size: int) -> Any:
    """The first samples, or all of them over and over until there are so many. What is longer than the batch is a copy."""
    import torch

    if isinstance(batch, torch.Tensor):
        if batch.dim() == 0 or size <= batch.size(0):
            return take(batch, 0, size)
        return torch.cat([batch] * -(-size // max(batch.size(0), 1)))[:size]
    return _map(batch, lambda part: resize(part, size))


def even(count: int, largest: int) -> list[tuple[int, int]]:
    """count samples in as few pieces of at most largest as there can be, which differ by one sample at most."""
    pieces = -(-count // largest)
    edges = [count * i // pieces for i in range(pieces + 1)]
    return list(zip(edges, edges[1:]))


def _cut(tensor: Any, start: int, stop: int) -> Any:
    import torch

    if not tensor.is_nested:
        return tensor[start:stop]
    parts = list(tensor.unbind()[start:stop])
    layout = {} if tensor.layout == torch.strided else {"layout": tensor.layout}  # a keyword that torch 2.1 doesn't know
    return torch.nested.as_nested_tensor(parts, **layout)


def _tensors(value: Any) -> Iterator[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _tensors(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
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
    return value


def _like(original: dict[Any, Any], parts: dict[Any, Any]) -> dict[Any, Any]:
    if type(original) is dict:
        return parts
    import copy

    result = copy.copy(original)  # a defaultdict, an OrderedDict, or a class with more to it
    result.update(parts)
    return result
