"""Storages that are given another size: FSDP lets go of the memory of gathered parameters in this way, and takes it again.

`UntypedStorage.resize_` asks the allocator by itself, without an operator that a mode could see.
"""
from __future__ import annotations

import sys
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from .mode import TraceMode


class Resizing:
    """Follows storages through their sizes."""

    def __init__(self, mode: "TraceMode") -> None:
        self.mode, self.storages = mode, mode.storages
        self._empty: dict[int, tuple[int, Any]] = {}  # of those of size 0, by address: device, and a weak reference

    def resize(self, storage: Any, size_bytes: int) -> None:
        """Notes what a storage's new size asks of the allocator: the new memory is taken before the old is let go."""
        living = self.storages.find(storage)
        if living is not None and living.size_bytes == size_bytes:
            return
        device = self._device(storage, living)
        if device is None:
            return
        if size_bytes > 0:
            self._take(device, size_bytes, storage)
        else:
            self.storages.forget(storage)
            key = storage._cdata
            self._empty[key] = device, weakref.ref(storage, lambda _: self._empty.pop(key, None))

    def _device(self, storage: Any, living: Any) -> Any:
        """The GPU of a storage, None for one of the CPU."""
        if living is not None:
            return living.device
        known = self._empty.pop(storage._cdata, None)
        return None if known is None or known[1]() is not storage else known[0]

    def _take(self, device: int, size_bytes: int, storage: Any) -> None:
        old = self.storages.live.pop(storage._cdata, None)
        born = self.storages.born(storage, device)
        if born is not None:
            where = self.mode.where(sys._getframe(2))
            on = f',"d":{device}' if device else ""
            self.mode.trace.add(f'{{"e":"alloc","id":{born.id},"n":{born.size_bytes}{where}{on}}}')
        if old is not None:
            self.storages.dead(old)


def install(mode: "TraceMode") -> None:
    """Has every resize_ of a storage pass by. FSDP also compares addresses, which here are all 0 and of no harm."""
    warnings.filterwarnings("ignore", message="Accessing the data pointer of FakeTensor")
    resizing = Resizing(mode)
    native = torch.UntypedStorage.resize_

    def resize_(self: Any, size: int) -> Any:
        result = native(self, size)
        resizing.resize(self, int(size))
        return result

    torch.UntypedStorage.resize_ = resize_  # type: ignore[method-assign]
