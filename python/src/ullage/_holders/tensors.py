"""Which memory a tensor stands on, and what autograd keeps for it, asked without running code of the program.

Classes of the program may override what a tensor answers (__torch_function__, __torch_dispatch__), so only functions of the
base class are called, with both switched off, and only such as look at what is there: nothing is computed or allocated, nothing
unpacked by a hook, and no storage that is copied on write is materialised.
"""
from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Optional

from . import kinds


class Memory(NamedTuple):
    """Memory that a storage stands on."""

    address: int
    size_bytes: int
    device: str  # "cuda:0", "cpu"


class Tensors:
    """Asks tensors and storages."""

    def __init__(self, torch: Any) -> None:
        c = torch._C
        base = c.TensorBase if hasattr(c, "TensorBase") else c._TensorBase
        self._torch = torch
        self._functions_off, self._dispatch_off = c.DisableTorchFunctionSubclass, c._DisableTorchDispatch
        self._base = base
        self._storage_id = c._storage_id
        self._data_address = getattr(c, "_data_address", None)  # since 2.2
        self._cdata, self._nbytes, self._device = (kinds.attribute(torch.UntypedStorage, n) for n in ("_cdata", "nbytes", "device"))
        self._typed = torch.storage.TypedStorage
        self._known: dict[int, Optional[Memory]] = {}  # by the C++ object of the storage

    def memory_of(self, tensor: Any) -> Optional[Memory]:
        """The memory that a tensor is a view of; None if it has none of its own (meta, fake, sparse, a wrapper of others)."""
        try:
            with self._functions_off(), self._dispatch_off():
                key = int(self._storage_id(tensor))
                if key not in self._known:
                    self._known[key] = self._read(tensor, self._base.untyped_storage(tensor))
                return self._known[key]
        except Exception:  # there is no storage, or none that may be looked at
            return None

    def memory_of_storage(self, storage: Any) -> Optional[Memory]:
        """The same for a storage that the program holds without a tensor."""
        try:
            with self._functions_off(), self._dispatch_off():
                if isinstance(storage, self._typed):
                    storage = storage.__dict__["_untyped_storage"]
                key = int(self._cdata.__get__(storage))
                if key not in self._known:
                    device = self._device.__get__(storage)
                    # Asking the storage itself for its address would materialise one that is copied on write.
                    view = self._torch.empty(0, dtype=self._torch.uint8, device=device).set_(storage)
                    self._known[key] = self._read(view, storage)
                return self._known[key]
        except Exception:
            return None

    def all_memory(self) -> list[Memory]:
        """All memory that was asked for so far."""
        return [memory for memory in self._known.values() if memory is not None]

    def _read(self, tensor: Any, storage: Any) -> Optional[Memory]:
        device = self._device.__get__(storage)
        if device.type == "meta":
            return None
        address = self._data_address(tensor) if self._data_address is not None else storage.data_ptr()
        size = int(self._nbytes(storage))
        return Memory(int(address), size, str(device)) if address and size > 0 else None

    def grad_fn(self, tensor: Any) -> Any:
        """The node of autograd that made a tensor, or None."""
        try:
            with self._functions_off():
                base = self._base
                if base.is_leaf.__get__(tensor) or not base.requires_grad.__get__(tensor):
                    return None
                return base.grad_fn.__get__(tensor)
        except Exception:  # a view that was changed in a way that autograd refuses
            return None

    def grad(self, tensor: Any) -> Any:
        """The gradient that a tensor keeps, or None. Others than leaves keep one only when asked to, and warn when looked at."""
        try:
            with self._functions_off():
                base = self._base
                if base.is_leaf.__get__(tensor) or base.retains_grad.__get__(tensor):
                    return base.grad.__get__(tensor)
        except Exception:
            pass
        return None


class Graph:
    """Walks the graphs of autograd. A node is gone over once, for the first tensor that it is reached from.

    Nodes of C++ get a Python object when they are first asked for and lose it when that is dropped, so nodes holds them all.
    """

    def __init__(self, torch: Any) -> None:
        self.tells = hasattr(torch._C._autograd.SavedTensor, "data")  # what a node saved; since 2.4
        self.nodes: list[Any] = []
        self._seen: set[int] = set()
        self._readers: dict[type, tuple[tuple[str, Any], ...]] = {}

    def nodes_from(self, node: Any) -> Iterator[Any]:
        """The nodes of a graph that no other graph has led to."""
        waiting = [node]
        while waiting:
            node = waiting.pop()
            if node is None or id(node) in self._seen:
                continue
            self._seen.add(id(node))
            self.nodes.append(node)
            yield node
            waiting += self.before(node)

    def before(self, node: Any) -> list[Any]:
        """The nodes whose results a node was computed from."""
        try:
            return [other for other, _ in node.next_functions if other is not None]
        except Exception:
            return []  # a node written in Python, of a class with attributes of its own

    def has(self, node: Any) -> bool:
        """Whether a node has been gone over."""
        return id(node) in self._seen

    def saved_by(self, node: Any) -> Iterator[Any]:
        """What a node saved for the backward pass, as it is kept: tensors, or what a hook has packed them into.

        Nothing is unpacked. Empty where this release of torch does not tell, and after the graph was freed.
        """
        for name, reader in self._of(type(node)):
            if name != "variable" and not self.tells:
                continue
            try:
                found = reader.__get__(node)
                for one in found if isinstance(found, (tuple, list)) else (found,):
                    yield one if name == "variable" else one.data
            except Exception:
                continue  # freed

    def _of(self, cls: type) -> tuple[tuple[str, Any], ...]:
        readers = self._readers.get(cls)
        if readers is None:
            readers = self._readers[cls] = tuple(
                (name, value) for base in kinds.mro(cls) for name, value in kinds.own_attributes(base)
                if (name.startswith("_raw_saved_") or name == "variable") and hasattr(type(value), "__get__")
                and type(value).__name__ == "getset_descriptor")
        return readers


def name_of(node: Any) -> str:
    """What autograd calls a node: "ConvolutionBackward0"."""
    return kinds.name_of(type(node))
