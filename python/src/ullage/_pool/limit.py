"""limit: what the whole process's allocator may take of a device."""
from __future__ import annotations

import math
from typing import Any, Union

import torch

from .. import _checks as checks
from .. import _units
from .._torch import memory

SEGMENT_BYTES = 2 << 20  # the least that the caching allocator takes of a device
_set: dict[int, float] = {}  # by device, for releases that don't tell the fraction in force


class Limit:
    """A limit in force. restore(), or the end of a with block, puts back what was there before."""

    def __init__(self, device_index: int, limit_bytes: int, before: float) -> None:
        self.device_index, self.limit_bytes, self._before = device_index, limit_bytes, before
        self._done = False

    def restore(self) -> None:
        """Puts back the limit that was there before; once."""
        if not self._done:
            self._done = True
            _set_fraction(self.device_index, self._before)

    def __enter__(self) -> "Limit":
        return self

    def __exit__(self, *exc: Any) -> None:
        self.restore()

    def __repr__(self) -> str:
        return f"limit of {_units.size(self.limit_bytes)} on cuda:{self.device_index}"


def limit(limit_bytes: Union[int, str], device: memory.Device = None) -> Limit:
    """Limits what this process's caching allocator may take of a device, tensors and cache, from now on or for a with block.

    limit_bytes is a number of bytes, or text as "40GiB". Beyond it, allocations raise torch.OutOfMemoryError although the device has
    memory left. Not counted, and so not limited: CUDA's context and libraries (0.2-0.7 GiB and more), NCCL's buffers, other allocators
    and other processes. If more than that is already taken, the cache is given back first; ValueError if it still is, or for an amount that the device hasn't; RuntimeError
    where there is no device.
    """
    amount = checks.size_bytes("limit_bytes", limit_bytes, least=SEGMENT_BYTES, why="the allocator's smallest segment")
    cuda = checks.cuda_device("device", device)
    checks.need_cuda("limit")
    index = memory.index_of(cuda)
    total = memory.total_bytes(index)
    if amount > total:
        raise ValueError(f"limit_bytes is {amount}, but has to be at most what cuda:{index} has, {total} ({_units.size(total)})")
    if memory.read(index).reserved_bytes > amount:
        memory.flush()
    held = memory.read(index).reserved_bytes
    if held > amount:
        raise ValueError(
            f"limit_bytes is {amount} ({_units.size(amount)}), but this process already holds {_units.size(held)} of cuda:{index}")
    before = _fraction(index)
    _set_fraction(index, _fraction_for(amount, total))
    return Limit(index, amount, before)


def _fraction(index: int) -> float:
    getter = getattr(torch.cuda, "get_per_process_memory_fraction", None)  # torch 2.8
    return float(getter(index)) if getter is not None else _set.get(index, 1.0)


def _set_fraction(index: int, fraction: float) -> None:
    with torch.cuda.device(index):  # releases before 2.10 make the device current and leave it so
        torch.cuda.set_per_process_memory_fraction(fraction, index)
    _set[index] = fraction


def _fraction_for(limit_bytes: int, total_bytes: int) -> float:
    """The fraction that comes out as limit_bytes when PyTorch multiplies and cuts it off."""
    fraction = limit_bytes / total_bytes
    while int(fraction * total_bytes) < limit_bytes:
        fraction = math.nextafter(fraction, 1.0)
    return fraction
