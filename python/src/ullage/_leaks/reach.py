"""The storages that an object holds: a module's parameters, an optimizer's states, tensors in containers.

What is looked for is what a person would call the object's own, so that the way leads through containers and tensors, and through
attributes of plain objects a few levels deep; from a module to its submodules, but not to a trainer that it knows.
"""
from __future__ import annotations

import types
from collections import deque
from dataclasses import dataclass
from typing import Any, Collection, Iterator, Mapping, Optional

MAX_DEPTH = 8  # of objects and containers within one another
PLAIN = (str, bytes, int, float, complex, type(None))
CODE = (type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType, *PLAIN)


@dataclass(frozen=True)
class Held:
    """A storage, referred to weakly."""

    name: str  # the way to it from the object: "Net.fc.weight", "AdamW.state[3]['exp_avg']"
    device: str
    address: int
    size_bytes: int
    _ref: Any  # a StorageWeakRef

    def alive(self) -> bool:
        return not self._ref.expired()


def storages(obj: Any) -> dict[int, Held]:
    """The storages that obj holds, each once, by the number that PyTorch knows them by."""
    found: dict[int, Held] = {}
    for name, tensor in _tensors(obj):
        _add(found, name, tensor)
    return found


def holds_any(obj: Any) -> bool:
    """Whether obj holds a tensor, a module or an optimizer at all."""
    import torch

    return isinstance(obj, (torch.nn.Module, torch.optim.Optimizer)) or next(_tensors(obj), None) is not None


def _tensors(obj: Any) -> Iterator[tuple[str, Any]]:
    import torch

    seen: dict[int, Any] = {}  # by id, and kept: the id of what is gone may come again
    todo = deque([(type(obj).__name__, obj, 0)])
    while todo:
        name, value, depth = todo.popleft()
        if id(value) in seen or depth > MAX_DEPTH:
            continue
        seen[id(value)] = value
        if isinstance(value, torch.Tensor):
            yield name, value
        todo.extend((name + step, part, depth + 1) for step, part in _parts(value, torch) if not isinstance(part, CODE))


def _parts(value: Any, torch: Any) -> Iterator[tuple[str, Any]]:
    """What a value consists of, each with what is written after the value's name to say it."""
    if isinstance(value, torch.Tensor):
        yield from _of_tensor(value)
    elif isinstance(value, torch.nn.Module):
        yield from _of_module(value, torch)
    elif isinstance(value, torch.optim.Optimizer):
        yield ".state", list(value.state.values())
        yield ".param_groups", value.param_groups
    elif isinstance(value, Mapping):
        for key, part in list(value.items()):
            yield f"[{key!r}]" if isinstance(key, (str, int)) else f"[{type(key).__name__}]", part
    elif isinstance(value, (list, tuple, set, frozenset, deque)):
        for index, part in enumerate(list(value)):
            yield f"[{index}]", part
    elif not isinstance(value, CODE):
        for key, part in list(getattr(value, "__dict__", {}).items()):
            yield f".{key}", part


def _of_tensor(tensor: Any) -> Iterator[tuple[str, Any]]:
    if tensor.is_leaf and tensor.grad is not None:
        yield ".grad", tensor.grad
    flatten = getattr(tensor, "__tensor_flatten__", None)  # a tensor made of others: DTensor, quantized weights
    if flatten is not None:
        for name in flatten()[0]:
            yield f".{name}", getattr(tensor, name)


def _of_module(module: Any, torch: Any) -> Iterator[tuple[str, Any]]:
    for table in (module._parameters, module._buffers, module._modules):
        for name, part in list(table.items()):
            yield f".{name}", part
    for name, part in list(vars(module).items()):
        if isinstance(part, (torch.Tensor, torch.nn.Module, Mapping, list, tuple, set, deque)) and not name.startswith("_"):
            yield f".{name}", part
        elif name.startswith("_") and isinstance(part, torch.Tensor):
            yield f".{name}", part


def _add(found: dict[int, Held], name: str, tensor: Any) -> None:
    from torch.multiprocessing.reductions import StorageWeakRef

    storage = _storage_of(tensor)
    if storage is None:
        return
    ref: Any = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
    if ref.cdata not in found:
        found[ref.cdata] = Held(name, str(storage.device), int(storage.data_ptr()), int(storage.nbytes()), ref)


def _storage_of(tensor: Any) -> Optional[Any]:
    """The memory under a tensor; None for one without any: on the meta device, fake, sparse, not initialised yet."""
    try:
        storage = tensor.untyped_storage()
        return None if storage.device.type == "meta" or storage.nbytes() == 0 or storage.data_ptr() == 0 else storage
    except (RuntimeError, NotImplementedError, ValueError):
        return None


def total_bytes(held: Collection[Held]) -> int:
    """The sum of the sizes."""
    return sum(h.size_bytes for h in held)
