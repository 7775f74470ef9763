"""Cache: one block of memory that is handed out from front to back and taken back as a whole."""
from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import Any, Iterator, Optional, Sequence, Union

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import dlpack

from .. import _checks as checks
from .. import _units
from . import errors

ALIGN_BYTES = 512  # as the caching allocator does: what kernels were tried with


@dataclass
class _Taken:
    """A piece that was handed out."""

    start: int
    storage: Any  # a weak reference to it
    what: str


class Cache:
    """A block of memory for buffers of the same life: made for a request, gone with it. Pool.cache() makes one.

        with cache.request():
            keys = cache.empty(batch, heads, length, dim, dtype=torch.bfloat16)
            ...

    A tensor of it, and every view of that, is valid until its memory is taken back: after that, whatever reads or writes it raises
    RuntimeError, and says so, rather than meeting the values of another request. What has to last longer is cloned. The memory
    belongs to one stream at a time: where requests run on different streams, one waits for the other first.

    Needs torch 2.3 or newer. A slab is any contiguous tensor, on any device; its memory is the cache's from then on.
    """

    def __init__(self, slab: torch.Tensor, name: str = "cache") -> None:
        _check_slab(slab)
        checks.text("name", name)
        if getattr(torch._C, "_set_storage_data_ptr_access_error_msg", None) is None:
            raise RuntimeError(f"a cache needs torch 2.3 or newer, to make invalid what it took back: this is {torch.__version__}")
        self.name = name
        self._slab: Optional[torch.Tensor] = slab.detach().flatten().view(torch.uint8)
        self.size_bytes = int(self._slab.numel())
        self.high_water_bytes = 0  # the most that was in use
        self._offset, self._taken, self._lock = 0, list[_Taken](), threading.RLock()

    @property
    def used_bytes(self) -> int:
        """What is handed out, with what lies between for alignment."""
        return self._offset

    def empty(self, *shape: Union[int, Sequence[int]], dtype: Optional[torch.dtype] = None) -> torch.Tensor:
        """A tensor of this shape, in numbers or a tuple, with whatever values the memory has. PoolOutOfMemory if the rest is too small."""
        size, kind = _size(shape), _dtype(dtype)
        size_bytes = size.numel() * torch.empty((), dtype=kind).element_size()
        with self._lock:
            slab, start = self._open(), self._offset
            if size_bytes == 0:
                return torch.empty(size, dtype=kind, device=slab.device)
            if start + size_bytes > self.size_bytes:
                raise self._full(size_bytes)
            # By way of DLPack it gets a storage of its own, so that this piece alone can be followed and made invalid.
            piece = dlpack.from_dlpack(dlpack.to_dlpack(slab[start:start + size_bytes]))  # type: ignore[attr-defined]
            storage: Any = StorageWeakRef(piece.untyped_storage())  # type: ignore[no-untyped-call]
            self._taken.append(_Taken(start, storage, f"{tuple(size)} {kind}"))
            self._offset = min(start + -(-size_bytes // ALIGN_BYTES) * ALIGN_BYTES, self.size_bytes)
            self.high_water_bytes = max(self.high_water_bytes, self._offset)
            return piece.view(kind).view(size)

    def zeros(self, *shape: Union[int, Sequence[int]], dtype: Optional[torch.dtype] = None) -> torch.Tensor:
        """As empty(), filled with zeros."""
        return self.empty(*shape, dtype=dtype).zero_()

    def kv(
        self, layers: int, batch: int, heads: int, length: int, dim: int, dtype: Optional[torch.dtype] = None
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Keys and values of a transformer's layers, each (batch, heads, length, dim) and not filled."""
        names = {"layers": layers, "batch": batch, "heads": heads, "length": length, "dim": dim}
        layers, *shape = (checks.whole(name, value) for name, value in names.items())
        return [(self.empty(*shape, dtype=dtype), self.empty(*shape, dtype=dtype)) for _ in range(layers)]

    def reset(self) -> int:
        """Takes everything back. Returns how many of its tensors are still referred to, and are invalid from now on."""
        with self._lock:
            return self._back_to(0)

    @contextlib.contextmanager
    def request(self) -> Iterator["Cache"]:
        """Takes back at the end what was handed out since the beginning, also after an exception. Requests can be nested."""
        start = self._offset
        try:
            yield self
        finally:
            with self._lock:
                self._back_to(start)

    def close(self) -> None:
        """Takes everything back and lets go of the block, which its pool has back when nothing refers to its tensors any more."""
        with self._lock:
            self._back_to(0)
            self._slab = None

    def _open(self) -> torch.Tensor:
        if self._slab is None:
            raise RuntimeError(f"{self.name} is closed")
        return self._slab

    def _back_to(self, start: int) -> int:
        gone = [t for t in self._taken if t.start >= start]
        self._taken = [t for t in self._taken if t.start < start]
        self._offset = min(self._offset, start)
        return sum(self._invalidate(t) for t in gone)

    def _invalidate(self, taken: _Taken) -> bool:
        """Whether something referred to it."""
        storage: Any = torch.UntypedStorage._new_with_weak_ptr(taken.storage.cdata)
        if storage is None:
            return False
        torch._C._set_storage_data_ptr_access_error_msg(storage._cdata, (
            f"this tensor, or what it is a view of, {taken.what}, was in memory that {self.name} has taken back"
            " and may have given to another\nhint: what has to last longer than a request is kept as a .clone()"))
        return True

    def _full(self, asked_bytes: int) -> errors.PoolOutOfMemory:
        return errors.PoolOutOfMemory(
            f"{self.name} is full: {_units.size(asked_bytes)} more asked, {_units.size(self._offset)} of its "
            f"{_units.size(self.size_bytes)} handed out\nhint: high_water_bytes of a cache that is large enough says what a request takes",
            self.name, asked_bytes, self._offset, self.size_bytes)


def _check_slab(slab: Any) -> None:
    if not isinstance(slab, torch.Tensor):
        raise checks.wrong("slab", slab, "a tensor, whose memory becomes the cache's", "pool.cache(size) makes one of a pool's memory")
    if slab.layout != torch.strided or slab.device.type == "meta" or not slab.is_contiguous():
        raise checks.wrong("slab", slab, "contiguous, with memory of its own", kind=ValueError)


def _size(shape: Sequence[Any]) -> torch.Size:
    """A shape given as torch.empty() takes it: numbers, or one tuple or list of them."""
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return torch.Size([checks.whole("shape", part, hint="the shape is whole numbers, as empty(2, 3)") for part in given])


def _dtype(given: Any) -> torch.dtype:
    if given is None:
        return torch.get_default_dtype()
    if isinstance(given, torch.dtype):
        return given
    raise checks.wrong("dtype", given, "a torch.dtype, as torch.float16")
