"""Cache: one block of memory that is handed out from front to back and taken back as a whole."""
from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import Any, Iterator, Optional

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import dlpack

from .. import _units
from . import errors

ALIGN_BYTES = 512  # as the caching allocator does: what kernels were tried with


@dataclass
class _Taken:
    """A piece that was handed out, until its storage dies."""

    start: int
    storage: Any  # a weak reference to it
    what: str


class Cache:
    """A block of memory for buffers of the same life: made for a request, dropped with it. Pool.cache() makes one.

        with cache.request():
            keys = cache.empty(batch, heads, length, dim, dtype=torch.bfloat16)
            ...

    Each tensor is a view of the block, with a storage object of its own, so that it is known whether it or a view of it is still
    referred to. Taking memory back under such a tensor raises PoolInUse: it would change its values silently. The memory is that
    of one stream at a time: where requests run on different streams, they wait for one another first.
    """

    def __init__(self, slab: torch.Tensor, name: str = "cache") -> None:
        self.name = name
        self._slab: Optional[torch.Tensor] = slab.detach().view(torch.uint8).flatten()
        self.size_bytes = int(self._slab.numel())
        self.high_water_bytes = 0  # the most that was in use
        self.generation = 0  # counts how often memory was taken back
        self._offset, self._taken, self._lock = 0, list[_Taken](), threading.RLock()
        self._unfinished: Optional[int] = None  # where requests that failed began

    @property
    def used_bytes(self) -> int:
        """What is handed out, with what lies between for alignment."""
        return self._offset

    def empty(self, *shape: int, dtype: Optional[torch.dtype] = None) -> torch.Tensor:
        """A tensor of this shape with whatever values the memory has. PoolOutOfMemory if the rest is too small."""
        size, kind = torch.Size(shape), dtype or torch.get_default_dtype()
        size_bytes = size.numel() * torch.empty((), dtype=kind).element_size()
        with self._lock:
            slab, start = self._open(), self._offset
            if size_bytes == 0:
                return torch.empty(size, dtype=kind, device=slab.device)
            end = start + -(-size_bytes // ALIGN_BYTES) * ALIGN_BYTES
            if start + size_bytes > self.size_bytes:
                raise self._full(size_bytes)
            view = dlpack.from_dlpack(dlpack.to_dlpack(slab[start:start + size_bytes])).view(kind).view(size)  # type: ignore[attr-defined]
            storage: Any = StorageWeakRef(view.untyped_storage())  # type: ignore[no-untyped-call]
            self._taken.append(_Taken(start, storage, f"{tuple(size)} {kind}"))
            self._offset = min(end, self.size_bytes)
            self.high_water_bytes = max(self.high_water_bytes, self._offset)
            return view

    def zeros(self, *shape: int, dtype: Optional[torch.dtype] = None) -> torch.Tensor:
        """As empty(), filled with zeros."""
        return self.empty(*shape, dtype=dtype).zero_()

    def kv(self, layers: int, batch: int, heads: int, length: int, dim: int, dtype: Optional[torch.dtype] = None) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Keys and values of a transformer's layers, each (batch, heads, length, dim) and not filled."""
        return [(self.empty(batch, heads, length, dim, dtype=dtype), self.empty(batch, heads, length, dim, dtype=dtype)) for _ in range(layers)]

    def reset(self) -> None:
        """Takes everything back. Raises PoolInUse if a tensor of it is still referred to, and changes nothing then."""
        with self._lock:
            self._back_to(0)
            self._unfinished = None

    @contextlib.contextmanager
    def request(self) -> Iterator["Cache"]:
        """Takes back at the end what was handed out since the beginning; as reset(), if a tensor of it is still referred to.

        After an exception, whose traceback still refers to the tensors, that is done when the next request begins.
        """
        with self._lock:
            if self._unfinished is not None:
                self._back_to(self._unfinished)
                self._unfinished = None
            start = self._offset
        try:
            yield self
        except BaseException:
            with self._lock:
                self._unfinished = start if self._unfinished is None else min(start, self._unfinished)
            raise
        with self._lock:
            self._back_to(start)

    def close(self) -> None:
        """Gives the block back to the pool. Raises PoolInUse as reset() does."""
        with self._lock:
            if self._slab is not None:
                self._back_to(0)
                self._slab = None

    def _open(self) -> torch.Tensor:
        if self._slab is None:
            raise RuntimeError(f"{self.name} is closed")
        return self._slab

    def _back_to(self, start: int) -> None:
        live = [t for t in self._taken if t.start >= start and not t.storage.expired()]
        if live:
            bytes_live = self._offset - min(t.start for t in live)
            raise errors.PoolInUse(
                f"{self.name} can't take its memory back: {_units.count(len(live), 'tensor')} of it "
                f"{'is' if len(live) == 1 else 'are'} still referred to: {', '.join(t.what for t in live[:4])}{', ...' if len(live) > 4 else ''}\n"
                "hint: drop them, or keep a .clone(), which has memory of its own", bytes_live)
        self._taken = [t for t in self._taken if t.start < start]
        self._offset = start
        self.generation += 1

    def _full(self, asked_bytes: int) -> errors.PoolOutOfMemory:
        return errors.PoolOutOfMemory(
            f"{self.name} is full: {_units.size(asked_bytes)} more asked, {_units.size(self._offset)} of its {_units.size(self.size_bytes)} handed out\n"
            "hint: high_water_bytes of a cache that is large enough says what a request takes", self.name, asked_bytes, self._offset, self.size_bytes)
